//! The client's own model, asked through the client: a call stops at the first ask without a
//! reply, the client brings replies, and the call is run again from its start.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use futures::future::BoxFuture;
use tokio::time::Instant;

use super::plain;
use crate::{Ask, Reply, ThinkError, Thinker};

/// Answers from the replies brought so far, and notes what is still to be asked.
#[derive(Debug, Default)]
pub struct ClientDriven {
    replies: BTreeMap<String, String>,
    pending: Mutex<Vec<Ask>>,
}

impl ClientDriven {
    /// Thinks with these replies, each under the key of its ask.
    pub fn new(replies: BTreeMap<String, String>) -> Self {
        Self {
            replies,
            pending: Mutex::default(),
        }
    }

    /// The replies it thinks with.
    pub fn replies(&self) -> &BTreeMap<String, String> {
        &self.replies
    }

    /// The asks that found no reply, in the order in which they were asked, each key once.
    pub fn pending(&self) -> Vec<Ask> {
        self.pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Thinker for ClientDriven {
    fn name(&self) -> &'static str {
        "client"
    }

    fn think<'a>(
        &'a self,
        ask: &'a Ask,
        _deadline: Instant,
    ) -> BoxFuture<'a, Result<Reply, ThinkError>> {
        Box::pin(async move {
            if let Some(text) = self.replies.get(&ask.key) {
                return Ok(Reply {
                    text: text.clone(),
                    ..Reply::default()
                });
            }
            let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
            if !pending.iter().any(|known| known.key == ask.key) {
                pending.push(plain(ask).into_owned());
            }
            Err(ThinkError::Pending)
        })
    }
}
