//! Asks, and a thinker that says what it is told.

use std::{collections::VecDeque, sync::Mutex, time::Duration};

use deliberate_thinker::{
    Ask, Function, FunctionCall, FunctionResult, Message, PlainText, Purpose, Reply, ThinkError,
    Thinker,
};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

/// What most tests ask for.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Step {
    pub(crate) thought: String,
    pub(crate) confidence: u8,
    #[serde(default)]
    pub(crate) tags: Vec<String>,
}

pub(crate) fn step(thought: &str, confidence: u8) -> Step {
    Step {
        thought: thought.to_owned(),
        confidence,
        tags: Vec::new(),
    }
}

pub(crate) fn from_plain(text: String) -> Step {
    Step {
        thought: text,
        confidence: 80,
        tags: vec!["plain".to_owned()],
    }
}

pub(crate) fn ask() -> Ask {
    Ask {
        key: "step".to_owned(),
        purpose: Purpose::new("linear"),
        system: "Think one step.".to_owned(),
        messages: vec![Message::user("What is 6 × 7?")],
        schema: json!({
            "type": "object",
            "properties": {
                "thought": {"type": "string", "minLength": 1, "maxLength": 400},
                "confidence": {"type": "integer", "minimum": 0, "maximum": 100},
                "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
            },
            "required": ["thought", "confidence"],
            "additionalProperties": false,
        }),
        plain_text: PlainText::IsRefused,
        max_tokens: 400,
        temperature: 0.5,
        ..Ask::default()
    }
}

pub(crate) fn plain_ask() -> Ask {
    Ask {
        plain_text: PlainText::IsTheAnswer,
        ..ask()
    }
}

/// An ask for free text, in which two functions may be called.
pub(crate) fn acting() -> Ask {
    let function = |name: &str, description: &str| Function {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({
            "type": "object",
            "properties": { "text": { "type": "string" } },
        }),
    };
    Ask {
        key: "act".to_owned(),
        purpose: Purpose::new("linear"),
        system: "Act.".to_owned(),
        messages: vec![Message::user("What is the weather?")],
        functions: vec![
            function("look_up", "Looks something up."),
            function("weather__today", "Tells the weather."),
        ],
        max_tokens: 400,
        temperature: 0.5,
        ..Ask::default()
    }
}

/// A call.
pub(crate) fn call(id: &str, name: &str, arguments: Value) -> FunctionCall {
    FunctionCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments,
        extra: None,
    }
}

/// The ask with a turn of two calls, and what came of them.
pub(crate) fn acted() -> Ask {
    let calls = vec![
        call("a1", "look_up", json!({ "text": "x" })),
        call("a2", "weather__today", json!({})),
    ];
    let results = vec![
        FunctionResult::of(&calls[0], "found x"),
        FunctionResult::error_of(&calls[1], "no such place"),
    ];
    let mut ask = acting();
    ask.messages.push(Message::calling("Let me see.", calls));
    ask.messages.push(Message::results(results));
    ask
}

/// A deadline that a test does not mean to reach.
pub(crate) fn later() -> Instant {
    Instant::now() + Duration::from_mins(1)
}

/// Replies in order, and remembers the asks.
pub(crate) struct Script {
    replies: Mutex<VecDeque<Result<Reply, ThinkError>>>,
    pub(crate) asks: Mutex<Vec<Ask>>,
}

impl Script {
    pub(crate) fn new(replies: impl IntoIterator<Item = Result<Reply, ThinkError>>) -> Self {
        Self {
            replies: Mutex::new(replies.into_iter().collect()),
            asks: Mutex::default(),
        }
    }

    pub(crate) fn saying(texts: &[&str]) -> Self {
        Self::new(texts.iter().map(|text| Ok(reply(text))))
    }

    pub(crate) fn asked(&self) -> Vec<Ask> {
        self.asks.lock().unwrap().clone()
    }
}

pub(crate) fn reply(text: &str) -> Reply {
    Reply {
        text: text.to_owned(),
        ..Reply::default()
    }
}

impl Thinker for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn think<'a>(
        &'a self,
        ask: &'a Ask,
        _deadline: Instant,
    ) -> BoxFuture<'a, Result<Reply, ThinkError>> {
        self.asks.lock().unwrap().push(ask.clone());
        let reply = self.replies.lock().unwrap().pop_front();
        Box::pin(async move { reply.expect("an ask too many") })
    }
}
