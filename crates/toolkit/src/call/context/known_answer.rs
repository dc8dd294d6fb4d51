//! Answers that a call knows from its earlier runs.
//!
//! A call that waits for its client's model is run again from the start of its step with each round of
//! replies. An answer is read from its reply once: what was read is stored with the call, so that the
//! work of a round does not grow with the number of rounds before it.

use std::{
    collections::BTreeMap,
    sync::{MutexGuard, PoisonError},
};

use deliberate_llm::{ChatModel as _, ModelReply};
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned, de::Error as _};
use serde_json::Value;

use super::{
    budget::{BudgetMeter, MeteredModel},
    model::CallModel,
    usage::total_usage,
};
use crate::{ModelAnswer, ToolContext};

/// An answer that an earlier run has read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KnownAnswer {
    content: AnswerContent,
    /// The number of replies that it was read from, and the tokens of their exchange.
    replies: u32,
    tokens: u64,
    /// Whether the token limit ended it before the model had finished.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_cut: bool,
}

/// What was read: the JSON value that the type is made of, or a plain text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AnswerContent {
    Json(Value),
    Plain(String),
}

impl KnownAnswer {
    const fn new(content: AnswerContent, is_cut: bool, replies: u32, tokens: u64) -> Self {
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
    fn replies(&self) -> Vec<ModelReply> {
        let count = usize::try_from(self.replies).unwrap_or_default();
        vec![ModelReply::default(); count]
    }

    /// Counts the requests against a budget.
    fn count(&self, meter: &BudgetMeter) {
        meter.count(self.replies, self.tokens);
    }
}

/// An answer as it was read, with what it was read from.
pub(super) struct SourcedAnswer<T> {
    /// `None` if it is plain text.
    value: Option<T>,
    pub(super) content: AnswerContent,
}

impl<T> SourcedAnswer<T> {
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

impl<'de, T: DeserializeOwned> Deserialize<'de> for SourcedAnswer<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let content = Value::deserialize(deserializer)?;
        let value = T::deserialize(&content).map_err(D::Error::custom)?;
        Ok(Self {
            value: Some(value),
            content: AnswerContent::Json(content),
        })
    }
}

impl ToolContext {
    pub(super) fn known_answers(&self) -> MutexGuard<'_, BTreeMap<String, KnownAnswer>> {
        let known = self.shared.known_answers.lock();
        known.unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has_known_answers(&self) -> bool {
        !self.known_answers().is_empty()
    }

    /// Returns the answer that an earlier run of this step has read, and counts its requests.
    pub(super) async fn known_answer<T>(
        &self,
        key: &str,
        read: impl FnOnce(&KnownAnswer) -> Option<T>,
    ) -> Option<ModelAnswer<T>> {
        let known = self.known_answers().get(key).cloned()?;
        let value = read(&known)?;
        let replies = known.replies();
        let provider = match self.call_model().await {
            CallModel::Model(model) => model.name(),
            CallModel::Client(client) => client.name(),
        };
        self.record_usage(|tally| {
            tally.add(provider, &replies);
            tally.has_cut_answer |= known.is_cut;
        });
        for meter in self.meters() {
            known.count(meter);
        }
        Some(ModelAnswer {
            value,
            thread: None,
            usage: total_usage(&replies),
        })
    }

    /// Remembers an answer that was read from replies of the client, in place of these.
    pub(super) fn remember_answer(
        &self,
        key: String,
        content: AnswerContent,
        is_cut: bool,
        model: &MeteredModel<'_>,
    ) {
        let Some(client) = self.client() else { return };
        let answered = model.answered.lock();
        let answered = answered.unwrap_or_else(PoisonError::into_inner);
        if answered
            .iter()
            .all(|(key, _)| client.replies().contains_key(key))
        {
            let replies = u32::try_from(answered.len()).unwrap_or(u32::MAX);
            let tokens = answered.iter().map(|(_, tokens)| tokens).sum();
            let answer = KnownAnswer::new(content, is_cut, replies, tokens);
            self.known_answers().insert(key, answer);
            let used = self.shared.used_replies.lock();
            let mut used = used.unwrap_or_else(PoisonError::into_inner);
            used.extend(answered.iter().map(|(key, _)| key.clone()));
        }
    }
}
