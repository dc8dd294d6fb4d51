//! A model that says what a test has written down, and functions for it to call.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use deliberate_adapter::{
    chain::{Arguments, ChainTool, ToolText},
    schema::Parameters,
};
use deliberate_thinker::{Ask, FunctionCall, Listening, Piece, Reply, ThinkError, Thinker, Usage};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;

/// What the model does in a turn.
#[derive(Debug, Clone)]
pub(crate) enum Says {
    Text(&'static str),
    Calls(Vec<(&'static str, Value)>),
    Fails,
}

/// Says what was written down, turn by turn, and keeps what it was asked.
pub(crate) struct Scripted {
    turns: Mutex<VecDeque<Says>>,
    /// Said when nothing is left.
    otherwise: Says,
    pub(crate) asks: Mutex<Vec<Ask>>,
    pub(crate) thinks: Duration,
    pub(crate) tokens: u64,
}

pub(crate) fn scripted(turns: impl IntoIterator<Item = Says>, otherwise: Says) -> Scripted {
    Scripted {
        turns: Mutex::new(turns.into_iter().collect()),
        otherwise,
        asks: Mutex::default(),
        thinks: Duration::ZERO,
        tokens: 10,
    }
}

pub(crate) fn calls(names: &[&'static str]) -> Says {
    Says::Calls(names.iter().map(|name| (*name, json!({}))).collect())
}

impl Scripted {
    pub(crate) fn asked(&self) -> usize {
        self.asks.lock().unwrap().len()
    }

    fn reply(&self, ask: &Ask) -> Result<Reply, ThinkError> {
        let next = self.turns.lock().unwrap().pop_front();
        let number = self.asked();
        let usage = Usage {
            prompt_tokens: self.tokens,
            completion_tokens: self.tokens,
            cost_usd: Some(0.5),
        };
        let says = match next {
            // Who must answer answers.
            Some(Says::Calls(_)) | None if ask.answer_now => Says::Text("made to answer"),
            Some(says) => says,
            None => self.otherwise.clone(),
        };
        match says {
            Says::Text(text) => Ok(Reply {
                text: text.to_owned(),
                usage,
                ..Reply::default()
            }),
            Says::Calls(calls) => Ok(Reply {
                calls: calls
                    .into_iter()
                    .enumerate()
                    .map(|(at, (name, arguments))| FunctionCall {
                        id: format!("c{number}-{at}"),
                        name: name.to_owned(),
                        arguments,
                        extra: None,
                    })
                    .collect(),
                usage,
                ..Reply::default()
            }),
            Says::Fails => Err(ThinkError::Unavailable {
                provider: "scripted".to_owned(),
                reason: "as it was told".to_owned(),
                attempts: 1,
            }),
        }
    }
}

impl Thinker for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn calls_functions(&self) -> bool {
        true
    }

    fn think<'a>(
        &'a self,
        ask: &'a Ask,
        deadline: Instant,
    ) -> BoxFuture<'a, Result<Reply, ThinkError>> {
        Box::pin(async move {
            self.asks.lock().unwrap().push(ask.clone());
            let thought = tokio::time::timeout_at(deadline, tokio::time::sleep(self.thinks));
            if thought.await.is_err() {
                return Err(ThinkError::Timeout {
                    provider: "scripted".to_owned(),
                    after: self.thinks,
                });
            }
            self.reply(ask)
        })
    }

    fn think_streaming<'a>(
        &'a self,
        ask: &'a Ask,
        deadline: Instant,
        on: Listening<'a>,
    ) -> BoxFuture<'a, Result<Reply, ThinkError>> {
        Box::pin(async move {
            let reply = self.think(ask, deadline).await?;
            for word in reply.text.split_inclusive(' ') {
                on(Piece::Text(word.to_owned()));
                tokio::task::yield_now().await;
            }
            Ok(reply)
        })
    }
}

/// A function that does what its name says.
pub(crate) struct Does {
    pub(crate) name: &'static str,
    pub(crate) running: Arc<AtomicUsize>,
    pub(crate) most: Arc<AtomicUsize>,
    pub(crate) runs: Arc<AtomicUsize>,
}

pub(crate) fn does(name: &'static str) -> Does {
    Does {
        name,
        running: Arc::default(),
        most: Arc::default(),
        runs: Arc::default(),
    }
}

/// Counts down when it is dropped, whatever the reason.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl ChainTool for Does {
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

    fn call(&self, arguments: Arguments) -> BoxFuture<'_, ToolText> {
        Box::pin(async move {
            let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
            let _running = Running(self.running.clone());
            self.most.fetch_max(now, Ordering::SeqCst);
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
