//! What all modes understand alike in a model's answers, and say alike in their own.

use deliberate_core::{ModelScore, Percent, Score};
use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, DeserializeOwned},
};
use serde_json::Value;

// How sure a model is. `confidence` is what pipes written for the original server answer; it is
// understood but not asked for. (Not a doc comment: the schema of an answer would carry it.)
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
pub(crate) struct Confidence {
    /// How sure you are, 0 to 100
    #[serde(default, deserialize_with = "Percent::lenient_option")]
    #[schemars(with = "Percent")]
    confidence_percent: Option<Percent>,
    #[serde(default, deserialize_with = "ModelScore::lenient_option")]
    #[schemars(skip)]
    confidence: Option<ModelScore>,
}

impl Confidence {
    /// The confidence it comes to; the documented default where the model named none.
    pub(crate) fn score(self) -> Score {
        let percent = self.confidence_percent.map(|percent| percent.0);
        percent
            .or(self.confidence.map(|score| score.0))
            .unwrap_or(Score::DEFAULT_CONFIDENCE)
    }
}

// What an answer says when the model was less sure than the caller wants.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ThresholdNote {
    /// true if `confidence` is below the threshold asked for, else left out
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) below_threshold: Option<bool>,
    /// What is most likely to be wrong; only below the threshold
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) weakest_point: Option<String>,
}

impl ThresholdNote {
    /// Compares `confidence` with what the caller wants.
    pub(crate) fn for_threshold(
        wanted: Option<Score>,
        confidence: Score,
        weakest: Option<&str>,
    ) -> Self {
        if wanted.is_none_or(|wanted| confidence >= wanted) {
            return Self::default();
        }
        Self {
            below_threshold: Some(true),
            weakest_point: Some(weakest.unwrap_or("the model named none").to_owned()),
        }
    }
}

/// Text that says something. The schema can't see that blanks say nothing; refused here, they are
/// asked for again.
pub(crate) fn non_blank<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if is_blank(&text) {
        return Err(de::Error::custom("a text must not be blank"));
    }
    Ok(text.trim().to_owned())
}

/// Texts of a list, without those that say nothing. No list is an empty one.
pub(crate) fn non_blank_list<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<String>, D::Error> {
    let texts: Vec<String> = lenient_vec(deserializer)?;
    let said = texts.into_iter().filter(|text| !is_blank(text));
    Ok(said.map(|text| text.trim().to_owned()).collect())
}

/// Whether nobody can see anything in it: blanks, and characters of no width.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(|letter| {
        letter.is_whitespace()
            || letter.is_control()
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
    })
}

/// A text as it is compared with others for sameness: without regard to case, blanks and the sign
/// it ends with. Every other sign may be what makes the difference, as in `x < 3` and `x > 3`.
pub(crate) fn normalized(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let ends = ['.', '!', '?', '…', '。', '！', '？'];
    words.join(" ").trim_end_matches(ends).to_lowercase()
}

/// Text that need not be there. What is no text says nothing; it must not cost the rest.
pub(crate) fn optional_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let written = Value::deserialize(deserializer)?;
    let text = written.as_str().filter(|text| !is_blank(text));
    Ok(text.map(|text| text.trim().to_owned()))
}

/// A value that helps but is not needed: one that can't be understood is none, rather than the
/// loss of all the rest that a model said.
pub(crate) fn lenient_option<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let written = Value::deserialize(deserializer)?;
    Ok(serde_json::from_value(written).ok())
}

/// Those items of a list that can be understood; of what is no list, none.
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

/// A number from 0 to 1 without the dust of binary fractions.
pub(crate) fn round_fraction(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}
