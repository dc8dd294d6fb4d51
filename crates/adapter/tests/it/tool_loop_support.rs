//! A scripted model, and tools for it to call.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use deliberate_adapter::{
    schema::Parameters,
    tool_loop::{CallableTool, ToolArguments, ToolText},
};
use deliberate_llm::{
    ChatModel, ModelError, ModelReply, ModelRequest, OnStreamEvent, StreamEvent, TokenUsage,
    ToolCall,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;

/// A turn of the model.
#[derive(Debug, Clone)]
pub(crate) enum ScriptedTurn {
    Text(&'static str),
    Calls(Vec<(&'static str, Value)>),
    Fails,
    /// A text, if the request has no pictures; else the refusal of a model that sees none.
    RefusesImages(&'static str),
}

/// Plays the scripted turns and records the requests.
pub(crate) struct ScriptedChatModel {
    turns: Mutex<VecDeque<ScriptedTurn>>,
    /// The turn to play when none is left.
    otherwise: ScriptedTurn,
    pub(crate) requests: Mutex<Vec<ModelRequest>>,
    pub(crate) latency: Duration,
    pub(crate) tokens: u64,
    pub(crate) accepts_images: bool,
}

pub(crate) fn scripted_chat_model(
    turns: impl IntoIterator<Item = ScriptedTurn>,
    otherwise: ScriptedTurn,
) -> ScriptedChatModel {
    ScriptedChatModel {
        turns: Mutex::new(turns.into_iter().collect()),
        otherwise,
        requests: Mutex::default(),
        latency: Duration::ZERO,
        tokens: 10,
        accepts_images: true,
    }
}

pub(crate) fn call_turn(names: &[&'static str]) -> ScriptedTurn {
    ScriptedTurn::Calls(names.iter().map(|name| (*name, json!({}))).collect())
}

fn has_images(ask: &ModelRequest) -> bool {
    let mut results = ask.messages.iter().flat_map(|it| &it.results);
    results.any(|it| !it.images.is_empty())
}

impl ScriptedChatModel {
    pub(crate) fn request_count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    fn reply(&self, ask: &ModelRequest) -> Result<ModelReply, ModelError> {
        let next = self.turns.lock().unwrap().pop_front();
        let number = self.request_count();
        let usage = TokenUsage {
            prompt_tokens: self.tokens,
            completion_tokens: self.tokens,
            cost_usd: Some(0.5),
        };
        let says = match next {
            // A model that must answer does so.
            Some(ScriptedTurn::Calls(_)) | None if ask.answer_now => {
                ScriptedTurn::Text("made to answer")
            }
            Some(says) => says,
            None => self.otherwise.clone(),
        };
        match says {
            ScriptedTurn::RefusesImages(_) if has_images(ask) => Err(ModelError::Api {
                provider: "scripted".to_owned(),
                status: 400,
                message: "this model does not support image input".to_owned(),
            }),
            ScriptedTurn::Text(text) | ScriptedTurn::RefusesImages(text) => Ok(ModelReply {
                text: text.to_owned(),
                usage,
                ..ModelReply::default()
            }),
            ScriptedTurn::Calls(calls) => Ok(ModelReply {
                calls: calls
                    .into_iter()
                    .enumerate()
                    .map(|(at, (name, arguments))| ToolCall {
                        id: format!("c{number}-{at}"),
                        name: name.to_owned(),
                        arguments,
                        extra: None,
                    })
                    .collect(),
                usage,
                ..ModelReply::default()
            }),
            ScriptedTurn::Fails => Err(ModelError::Unavailable {
                provider: "scripted".to_owned(),
                reason: "as it was told".to_owned(),
                attempts: 1,
            }),
        }
    }
}

impl ChatModel for ScriptedChatModel {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn supports_tools(&self) -> bool {
        true
    }

    fn accepts_images(&self) -> bool {
        self.accepts_images
    }

    fn complete<'a>(
        &'a self,
        ask: &'a ModelRequest,
        deadline: Instant,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            self.requests.lock().unwrap().push(ask.clone());
            let thought = tokio::time::timeout_at(deadline, tokio::time::sleep(self.latency));
            if thought.await.is_err() {
                return Err(ModelError::Timeout {
                    provider: "scripted".to_owned(),
                    after: self.latency,
                });
            }
            self.reply(ask)
        })
    }

    fn complete_streaming<'a>(
        &'a self,
        ask: &'a ModelRequest,
        deadline: Instant,
        on: OnStreamEvent<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let reply = self.complete(ask, deadline).await?;
            for word in reply.text.split_inclusive(' ') {
                on(StreamEvent::Text(word.to_owned()));
                tokio::task::yield_now().await;
            }
            Ok(reply)
        })
    }
}

/// A tool that does what its name says.
pub(crate) struct BehaviorTool {
    pub(crate) name: &'static str,
    pub(crate) running: Arc<AtomicUsize>,
    pub(crate) max_running: Arc<AtomicUsize>,
    pub(crate) runs: Arc<AtomicUsize>,
}

pub(crate) fn behavior_tool(name: &'static str) -> BehaviorTool {
    BehaviorTool {
        name,
        running: Arc::default(),
        max_running: Arc::default(),
        runs: Arc::default(),
    }
}

/// Counts down when it is dropped, for any reason.
struct RunningCounter(Arc<AtomicUsize>);

impl Drop for RunningCounter {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl CallableTool for BehaviorTool {
    fn name(&self) -> &str {
        self.name
    }

    fn description(&self) -> &'static str {
        "does it"
    }

    fn parameters(&self) -> Arc<Parameters> {
        Arc::new(Parameters::from_schema(&json!({
            "type": "object",
            "properties": { "n": { "type": "integer" } },
        })))
    }

    fn call(&self, arguments: ToolArguments) -> BoxFuture<'_, ToolText> {
        Box::pin(async move {
            let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            let _running = RunningCounter(self.running.clone());
            self.max_running.fetch_max(now, Ordering::SeqCst);
            self.runs.fetch_add(1, Ordering::SeqCst);
            match self.name {
                "waits" => tokio::time::sleep(Duration::from_secs(10)).await,
                "hangs" => std::future::pending().await,
                "fails" => return Err("it is broken".to_owned()),
                "shouts" => return Ok("ü".repeat(100_000)),
                _ => {}
            }
            Ok(format!("{} {}", self.name, arguments["n"]))
        })
    }
}
