//! A model that replies from a script and records its requests.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use deliberate_llm::{ChatModel, ModelError, ModelReply, ModelRequest, TokenUsage};
use futures::future::BoxFuture;
use tokio::time::Instant;

pub(crate) struct ScriptedModel {
    replies: Mutex<VecDeque<Result<ModelReply, ModelError>>>,
    requests: Mutex<Vec<(ModelRequest, Instant)>>,
}

impl ScriptedModel {
    /// Creates a model that gives these replies in order.
    pub(crate) fn new(replies: impl IntoIterator<Item = ModelReply>) -> Arc<Self> {
        Self::with_results(replies.into_iter().map(Ok))
    }

    /// Creates a model that gives these replies or errors in order.
    pub(crate) fn with_results(
        reactions: impl IntoIterator<Item = Result<ModelReply, ModelError>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            replies: Mutex::new(reactions.into_iter().collect()),
            requests: Mutex::default(),
        })
    }

    /// Returns the requests in order.
    pub(crate) fn requests(&self) -> Vec<ModelRequest> {
        let asked = self.requests.lock().unwrap();
        asked.iter().map(|(ask, _)| ask.clone()).collect()
    }

    /// Returns the deadlines of the requests in order.
    pub(crate) fn deadlines(&self) -> Vec<Instant> {
        let asked = self.requests.lock().unwrap();
        asked.iter().map(|(_, deadline)| *deadline).collect()
    }
}

impl ChatModel for ScriptedModel {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn complete<'a>(
        &'a self,
        ask: &'a ModelRequest,
        deadline: Instant,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            self.requests.lock().unwrap().push((ask.clone(), deadline));
            let next = self.replies.lock().unwrap().pop_front();
            next.expect("it is asked no more often than it was told to answer")
        })
    }
}

/// Creates a reply of which only the text matters.
pub(crate) fn reply(text: &str) -> ModelReply {
    ModelReply {
        text: text.to_owned(),
        ..ModelReply::default()
    }
}

/// Creates a reply of model `m` with a cost.
pub(crate) fn reply_with_cost(text: &str, tokens: u64, cost_usd: Option<f64>) -> ModelReply {
    ModelReply {
        model: Some("m".to_owned()),
        pipe: Some("pipe-v1".to_owned()),
        usage: TokenUsage {
            prompt_tokens: tokens,
            completion_tokens: tokens * 2,
            cost_usd,
        },
        ..reply(text)
    }
}
