//! A thinker that says what it is told, and remembers what it was asked.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use deliberate_thinker::{Ask, Reply, ThinkError, Thinker, Usage};
use futures::future::BoxFuture;
use tokio::time::Instant;

pub(crate) struct Scripted {
    replies: Mutex<VecDeque<Result<Reply, ThinkError>>>,
    asked: Mutex<Vec<(Ask, Instant)>>,
}

impl Scripted {
    /// One that replies with these, in order.
    pub(crate) fn new(replies: impl IntoIterator<Item = Reply>) -> Arc<Self> {
        Self::reacting(replies.into_iter().map(Ok))
    }

    /// One that replies with these or fails with these, in order.
    pub(crate) fn reacting(
        reactions: impl IntoIterator<Item = Result<Reply, ThinkError>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            replies: Mutex::new(reactions.into_iter().collect()),
            asked: Mutex::default(),
        })
    }

    /// What it was asked, in order.
    pub(crate) fn asked(&self) -> Vec<Ask> {
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|(ask, _)| ask.clone()).collect()
    }

    /// By when it had to answer, in order.
    pub(crate) fn deadlines(&self) -> Vec<Instant> {
        let asked = self.asked.lock().unwrap();
        asked.iter().map(|(_, deadline)| *deadline).collect()
    }
}

impl Thinker for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn think<'a>(
        &'a self,
        ask: &'a Ask,
        deadline: Instant,
    ) -> BoxFuture<'a, Result<Reply, ThinkError>> {
        Box::pin(async move {
            self.asked.lock().unwrap().push((ask.clone(), deadline));
            let next = self.replies.lock().unwrap().pop_front();
            next.expect("it is asked no more often than it was told to answer")
        })
    }
}

/// A reply of which only the text matters.
pub(crate) fn says(text: &str) -> Reply {
    Reply {
        text: text.to_owned(),
        ..Reply::default()
    }
}

/// A reply of model `m` that cost something.
pub(crate) fn costs(text: &str, tokens: u64, cost_usd: Option<f64>) -> Reply {
    Reply {
        model: Some("m".to_owned()),
        pipe: Some("pipe-v1".to_owned()),
        usage: Usage {
            prompt_tokens: tokens,
            completion_tokens: tokens * 2,
            cost_usd,
        },
        ..says(text)
    }
}
