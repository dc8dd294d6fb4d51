//! Answers that a call knows from its earlier runs.
//!
//! A call that waits for its client's model is run again from the start of its step with each round of
//! replies. An answer is read from its reply once: what was read is stored with the call, so that the
//! work of a round does not grow with the number of rounds before it.

use deliberate_llm::ModelReply;
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned, de::Error as _};
use serde_json::Value;

use super::budget::BudgetMeter;

/// An answer that an earlier run has read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KnownAnswer {
    content: AnswerContent,
    /// The number of replies that it was read from, and the tokens of their exchange.
    replies: u32,
    tokens: u64,
    /// Whether the token limit ended it before the model had finished.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_cut: bool,
}

/// What was read: the JSON value that the type is made of, or a plain text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AnswerContent {
    Json(Value),
    Plain(String),
}

impl KnownAnswer {
    pub(super) const fn new(
        content: AnswerContent,
        is_cut: bool,
        replies: u32,
        tokens: u64,
    ) -> Self {
        Self {
            content,
            replies,
            tokens,
            is_cut,
        }
    }

    /// Returns the answer as its type; `from_plain` converts one that is plain text.
    pub(super) fn read<T: DeserializeOwned>(
        &self,
        from_plain: Option<fn(String) -> T>,
    ) -> Option<T> {
        match &self.content {
            AnswerContent::Json(value) => T::deserialize(value).ok(),
            AnswerContent::Plain(text) => from_plain.map(|it| it(text.clone())),
        }
    }

    /// Returns as many replies as the answer was read from. The client's replies have no cost.
    pub(super) fn replies(&self) -> Vec<ModelReply> {
        let count = usize::try_from(self.replies).unwrap_or_default();
        vec![ModelReply::default(); count]
    }

    /// Counts the requests against a budget.
    pub(super) fn count(&self, meter: &BudgetMeter) {
        meter.count(self.replies, self.tokens);
    }
}

/// An answer as it was read, with what it was read from.
pub(super) struct ReadAnswer<T> {
    /// `None` if it is plain text.
    value: Option<T>,
    pub(super) content: AnswerContent,
}

impl<T> ReadAnswer<T> {
    /// Creates an answer that is plain text.
    pub(super) fn plain(text: String) -> Self {
        Self {
            value: None,
            content: AnswerContent::Plain(text),
        }
    }

    /// Returns the answer; `from_plain` converts one that is plain text.
    pub(super) fn into_value(self, from_plain: Option<fn(String) -> T>) -> Option<T> {
        match (self.value, self.content, from_plain) {
            (Some(value), ..) => Some(value),
            (None, AnswerContent::Plain(text), Some(from_plain)) => Some(from_plain(text)),
            _ => None,
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for ReadAnswer<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let content = Value::deserialize(deserializer)?;
        let value = T::deserialize(&content).map_err(D::Error::custom)?;
        Ok(Self {
            value: Some(value),
            content: AnswerContent::Json(content),
        })
    }
}
