//! Answers that depend on what is asked and not on when: the same asks in any order, over any
//! wire, get the same answers.

use serde::Deserialize;
use serde_json::Value;

use super::{
    default_reply::{MockFinishReason, MockReply},
    prompt_text,
};

/// What the model says to an ask in which certain words occur. Over HTTP:
/// `{"words": ["moons", "Mars"], "text": "Two."}`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedAnswer {
    /// They must all occur, as they are written; none occurs in every ask.
    pub words: Vec<String>,
    /// What is said: a text as it is, or any other value as JSON.
    pub text: Value,
}

impl ScriptedAnswer {
    /// A rule for asks with these words.
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

/// What the first rule that applies to an ask says.
pub(super) fn scripted_reply(rules: &[ScriptedAnswer], body: &Value) -> Option<MockReply> {
    if rules.is_empty() {
        return None;
    }
    let told = prompt_text::prompt_text(body);
    let applies =
        |rule: &&ScriptedAnswer| rule.words.iter().all(|word| told.contains(word.as_str()));
    rules.iter().find(applies).map(ScriptedAnswer::reply)
}
