//! Fields and parsing rules that the model answers of all modes share.

use deliberate_core::{ModelScore, Percent, Score};
pub(crate) use deliberate_llm::is_blank;
use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer,
    de::{self, DeserializeOwned},
};
use serde_json::{Map, Value};

// The model's confidence. Pipes written for the original server answer `confidence`; it is accepted
// but not requested. (Not a doc comment, because the schema of an answer would carry it.)
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[expect(
    clippy::struct_field_names,
    reason = "models write the fields by these names"
)]
pub(crate) struct Confidence {
    /// How sure you are, 0 to 100
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    confidence_percent: Option<Percent>,
    #[serde(default, deserialize_with = "ModelScore::lenient_option")]
    #[schemars(skip)]
    confidence: Option<ModelScore>,
    // Whether the model wrote that there is no result yet. A reply without the field, such as a
    // plain text, does not say so.
    #[serde(skip)]
    concludes_nothing: bool,
}

impl Confidence {
    /// The confidence as a score; the documented default if the model gave none.
    pub(crate) fn score(self) -> Score {
        let percent = self.confidence_percent.map(|percent| percent.0);
        percent
            .or(self.confidence.map(|score| score.0))
            .unwrap_or(Score::DEFAULT_CONFIDENCE)
    }
}

impl From<Score> for Confidence {
    fn from(score: Score) -> Self {
        Self {
            confidence_percent: Some(Percent(score)),
            confidence: None,
            concludes_nothing: false,
        }
    }
}

// The short fields that a model writes after the free text of a step. The doubt comes before the
// confidence, because a model that has named a weakness judges more honestly.
#[derive(Debug, Clone, Default, JsonSchema)]
pub(crate) struct StepFields {
    /// The result so far, in the form that was asked for; null if there is none yet
    pub(crate) answer: Option<String>,
    /// What is most likely to be wrong, in a few words
    #[schemars(with = "String")]
    pub(crate) weakest_point: Option<String>,
    #[serde(flatten)]
    pub(crate) sure: Confidence,
}

impl<'de> Deserialize<'de> for StepFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        let written = fields.remove("answer");
        let answer = written.as_ref().and_then(answer_text);
        let weakest_point = fields.remove("weakest_point");
        let weakest_point = weakest_point.as_ref().and_then(Value::as_str);
        let sure = Confidence::deserialize(Value::Object(fields)).map_err(de::Error::custom)?;
        Ok(Self {
            sure: Confidence {
                concludes_nothing: written.is_some() && answer.is_none(),
                ..sure
            },
            answer,
            weakest_point: weakest_point.and_then(meaningful_text),
        })
    }
}

impl StepFields {
    /// The confidence in the step. A step that has concluded nothing yet is at most half sure.
    pub(crate) fn confidence(&self) -> Score {
        if self.concludes_nothing() {
            return at_most_half(self.sure.score());
        }
        self.sure.score()
    }

    /// Whether the model wrote that there is no result yet.
    pub(crate) fn concludes_nothing(&self) -> bool {
        self.sure.concludes_nothing
    }
}

/// The rating of something that reaches no result or a wrong one: at most half good.
pub(crate) fn at_most_half(score: Score) -> Score {
    Score::clamped(score.get().min(0.5))
}

/// Tells whether `confidence` is below the caller's threshold; `None` if it is not.
pub(crate) fn below_threshold(threshold: Option<Score>, confidence: Score) -> Option<bool> {
    threshold
        .is_some_and(|wanted| confidence < wanted)
        .then_some(true)
}

/// The result of a step. A model may write a number or a list. Only what can be no result counts as
/// missing: "none" and "unknown" are answers to some questions.
fn answer_text(written: &Value) -> Option<String> {
    let text = match written {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let texts = items.iter().map(|item| match item {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            texts.collect::<Vec<String>>().join(", ")
        }
        other => other.to_string(),
    };
    text_unless(&text, &NO_VALUE)
}

/// What models write instead of a value.
const NO_VALUE: [&str; 3] = ["null", "n/a", "-"];

/// Returns the trimmed text, unless it is blank or one of the words that models write for nothing.
fn meaningful_text(text: &str) -> Option<String> {
    const NOTHING: [&str; 3] = ["none", "unknown", "nothing"];
    text_unless(text, &NO_VALUE).and_then(|text| text_unless(&text, &NOTHING))
}

/// Returns the trimmed text, unless it is blank or one of these words.
fn text_unless(text: &str, words: &[&str]) -> Option<String> {
    let text = text.trim();
    let word = text.trim_end_matches('.').to_lowercase();
    let is_missing = is_blank(text) || words.contains(&word.as_str());
    (!is_missing).then(|| text.to_owned())
}

/// Deserializes a text that is not blank. A schema cannot express this; a blank text makes the
/// answer invalid, and the model is asked again.
pub(crate) fn non_blank<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if is_blank(&text) {
        return Err(de::Error::custom("a text must not be blank"));
    }
    Ok(text.trim().to_owned())
}

/// Deserializes a list of texts without the blank ones. A missing list is an empty one.
pub(crate) fn non_blank_list<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<String>, D::Error> {
    let texts: Vec<String> = lenient_vec(deserializer)?;
    let said = texts.into_iter().filter(|text| !is_blank(text));
    Ok(said.map(|text| text.trim().to_owned()).collect())
}

/// Normalizes a text for comparison: case, whitespace and the final punctuation mark do not count.
/// Every other sign may be the difference, as in `x < 3` and `x > 3`.
pub(crate) fn normalized(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let ends = ['.', '!', '?', '…', '。', '！', '？'];
    words.join(" ").trim_end_matches(ends).to_lowercase()
}

/// Deserializes an optional text. A word for "nothing" and a value of another type count as missing,
/// so that they do not invalidate the rest of the answer.
pub(crate) fn optional_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let written = Value::deserialize(deserializer)?;
    Ok(written.as_str().and_then(meaningful_text))
}

/// Deserializes an optional value. One that cannot be parsed counts as missing, so that it does not
/// invalidate the rest of the answer.
pub(crate) fn lenient_option<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let written = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(written).ok())
}

/// Deserializes the items of a list that can be parsed. A value that is not a list has none.
pub(crate) fn lenient_vec<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let items = match Value::deserialize(deserializer)? {
        Value::Array(items) => items,
        _ => Vec::new(),
    };
    let understood = items.into_iter().map(serde_json::from_value);
    Ok(understood.filter_map(Result::ok).collect())
}

/// The items of a list that could be read.
#[derive(Debug, Clone)]
pub(crate) struct ReadableItems<T> {
    pub(crate) items: Vec<T>,
    /// How many items could not be read.
    pub(crate) unreadable: usize,
}

impl<T> ReadableItems<T> {
    /// Deserializes the items of a list that `read` can read; it also gets the number of the item,
    /// from 1. A value that is not a list has no items.
    pub(crate) fn deserialize_each<'de, D: Deserializer<'de>>(
        deserializer: D,
        read: impl Fn(&Value, usize) -> Option<T>,
    ) -> Result<Self, D::Error> {
        let values: Vec<Value> = lenient_vec(deserializer)?;
        let numbered = values.iter().zip(1..);
        let items: Vec<T> = numbered
            .filter_map(|(value, number)| read(value, number))
            .collect();
        Ok(Self {
            unreadable: values.len() - items.len(),
            items,
        })
    }

    /// Says how many of the items, which `name` names, could not be read; `None` if all could.
    pub(crate) fn unreadable_note(&self, name: &str) -> Option<String> {
        let unreadable = self.unreadable;
        let total = self.items.len() + unreadable;
        (unreadable > 0).then(|| {
            format!("could not read {unreadable} of {total} {name}: each needs a `thought`")
        })
    }
}

impl<T> From<Vec<T>> for ReadableItems<T> {
    fn from(items: Vec<T>) -> Self {
        Self {
            items,
            unreadable: 0,
        }
    }
}

/// Rounds a number from 0 to 1, to remove the noise of binary fractions.
pub(crate) fn round_fraction(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}
