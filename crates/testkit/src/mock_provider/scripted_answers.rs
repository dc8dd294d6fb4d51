//! Scripted answers that depend on the content of a request and not on its order: the same requests
//! in any order and provider format get the same answers.

use serde::Deserialize;
use serde_json::Value;

use super::{
    default_reply::{MockFinishReason, MockReply},
    prompt_text,
};
use crate::without_fence_parts;

/// The answer to a model request that contains certain words. Over HTTP: `{"words": ["moons",
/// "Mars"], "text": "Two."}`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedAnswer {
    /// The words that must all occur, exactly as written but for the random parts of prompt fences;
    /// an empty list matches every request.
    pub words: Vec<String>,
    /// The answer: a text as it is, or any other value as JSON.
    pub text: Value,
}

impl ScriptedAnswer {
    /// Creates an answer for requests with these words.
    pub fn new(words: &[&str], text: impl Into<Value>) -> Self {
        Self {
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            text: text.into(),
        }
    }

    fn reply(&self) -> MockReply {
        let text = match &self.text {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        MockReply {
            text,
            finish: MockFinishReason::Stop,
        }
    }
}

/// Returns the first scripted answer that applies to a model request.
pub(super) fn scripted_reply(rules: &[ScriptedAnswer], body: &Value) -> Option<MockReply> {
    if rules.is_empty() {
        return None;
    }
    let told = prompt_text::prompt_text(body);
    let told = without_fence_parts(&told);
    let applies =
        |rule: &&ScriptedAnswer| rule.words.iter().all(|word| told.contains(word.as_str()));
    rules.iter().find(applies).map(ScriptedAnswer::reply)
}
