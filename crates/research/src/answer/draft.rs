//! What a model is asked to answer with, and how it is read: sentence by sentence, each with what
//! it cites.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{
    asks::{Kind, tagged},
    verify::{self, Claim},
};
use deliberate_thinker::Ask;

/// An answer that nobody has checked.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct Draft {
    #[schemars(length(max = 24))]
    pub(super) sentences: Vec<Sentence>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(super) struct Sentence {
    #[serde(rename = "sentence")]
    #[schemars(length(max = 700))]
    pub(super) text: String,
    /// Ids of passages
    #[serde(default, deserialize_with = "ids")]
    #[schemars(with = "Vec<String>", length(max = 8), inner(length(max = 8)))]
    pub(super) passages: Vec<String>,
    /// Words of one of them, letter by letter
    #[serde(default)]
    #[schemars(length(max = 400))]
    pub(super) quote: Option<String>,
}

/// The most sentences that are checked.
const MOST: usize = 40;

/// Ids as models write them: `p3`, `[p3]`, `3`.
fn ids<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let written = Value::deserialize(deserializer)?;
    let items = match written {
        Value::Array(items) => items,
        Value::Null => Vec::new(),
        one => vec![one],
    };
    let digits = |it: &Value| -> Option<String> {
        let text = match it {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let digits: String = text.chars().filter(char::is_ascii_digit).take(4).collect();
        (!digits.is_empty()).then(|| format!("p{digits}"))
    };
    let mut all: Vec<String> = items.iter().filter_map(digits).take(8).collect();
    all.dedup();
    Ok(all)
}

impl Draft {
    /// The claims it makes: a sentence that is several is several.
    pub(super) fn claims(&self) -> Vec<Claim> {
        let mut all = Vec::new();
        for sentence in &self.sentences {
            let quote = sentence.quote.as_deref().map(str::trim);
            let mut quote = quote.filter(|it| !it.is_empty()).map(str::to_owned);
            for text in verify::split(&sentence.text) {
                all.push(Claim {
                    text,
                    cited: sentence.passages.clone(),
                    quote: quote.take(),
                });
            }
        }
        all.truncate(MOST);
        all
    }
}

const ANSWER: Kind = Kind {
    purpose: "answer",
    text: include_str!("asks/answer.md"),
    max_tokens: 2_500,
    temperature: 0.2,
};

/// Sentences of an answer.
const SENTENCES: usize = 12;

/// The ask for an answer from these passages; what was wrong with an earlier one is told.
pub(super) fn ask(key: String, question: &str, passages: &str, problems: &[String]) -> Ask {
    let told = if problems.is_empty() {
        String::new()
    } else {
        let list = format!("- {}", problems.join("\n- "));
        format!(
            "\nAn earlier answer had these faults. Leave out what the passages do not say; keep \
             what they do:\n{}\n",
            tagged("problem", &list)
        )
    };
    ANSWER.ask::<Draft>(
        key,
        &[
            ("passages", passages),
            ("question", &tagged("question", question)),
            ("problems", &told),
            ("most", &SENTENCES.to_string()),
        ],
    )
}
