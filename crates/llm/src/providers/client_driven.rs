//! The client's own model, asked through suspended calls: a call stops at the first request without
//! a reply, the client sends replies, and the call is run again from its start.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use futures::future::BoxFuture;
use tokio::time::Instant;

use super::without_native_tools;
use crate::{ChatModel, ModelError, ModelReply, ModelRequest};

/// Answers from the replies received so far and collects the requests that still need one.
#[derive(Debug, Default)]
pub struct ClientDriven {
    replies: BTreeMap<String, String>,
    pending: Mutex<Vec<ModelRequest>>,
}

impl ClientDriven {
    /// Uses these replies, each under the key of its request.
    pub fn new(replies: BTreeMap<String, String>) -> Self {
        Self {
            replies,
            pending: Mutex::default(),
        }
    }

    /// Returns the replies that it answers from.
    pub fn replies(&self) -> &BTreeMap<String, String> {
        &self.replies
    }

    /// Returns the requests without a reply, in the order in which they were made, each key once.
    pub fn pending(&self) -> Vec<ModelRequest> {
        self.pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Forgets the request of that key, because the call goes on without its reply.
    pub fn withdraw(&self, key: &str) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.retain(|ask| ask.key != key);
    }
}

impl ChatModel for ClientDriven {
    fn name(&self) -> &'static str {
        "client"
    }

    fn replies_between_calls(&self) -> bool {
        true
    }

    fn complete<'a>(
        &'a self,
        ask: &'a ModelRequest,
        _deadline: Instant,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            if let Some(text) = self.replies.get(&ask.key) {
                return Ok(ModelReply {
                    text: text.clone(),
                    ..ModelReply::default()
                });
            }
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            if !pending.iter().any(|known| known.key == ask.key) {
                pending.push(without_native_tools(ask).into_owned());
            }
            Err(ModelError::Pending)
        })
    }
}
