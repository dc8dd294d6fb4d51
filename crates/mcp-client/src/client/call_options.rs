//! How a single request is made: its time, its progress, who answers what the server asks.

use std::{fmt, sync::Arc, time::Duration};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::ClientHandler;

/// How a request is made. The default is what the server's configuration says.
#[derive(Clone, Default)]
pub struct CallOptions {
    /// How long to wait for an answer, in place of the server's limit; news of progress begins it
    /// anew.
    pub response_timeout: Option<Duration>,
    /// How long to wait in all, in place of the server's limit.
    pub total_timeout: Option<Duration>,
    /// Cancelled when the answer is no longer wanted. Dropping the future does the same.
    pub cancellation: CancellationToken,
    /// Hears of progress. Must not block.
    pub progress: Option<ProgressListener>,
    /// What goes into `_meta` beside what the protocol puts there.
    pub meta: Map<String, Value>,
    /// Who answers what the server asks during this request, in place of the client's own.
    pub handler: Option<Arc<dyn ClientHandler>>,
    /// What is done when the server wants input before it answers.
    pub input_mode: InputMode,
    /// The request is sent again, with the input that was wanted.
    pub resumed_input: Option<ResumedInput>,
}

/// Hears of progress.
pub type ProgressListener = Arc<dyn Fn(McpProgress) + Send + Sync>;

impl fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOptions")
            .field("answer", &self.response_timeout)
            .field("longest", &self.total_timeout)
            .field("input", &self.input_mode)
            .finish_non_exhaustive()
    }
}

/// How far a request has come.
#[derive(Debug, Clone, PartialEq)]
pub struct McpProgress {
    /// How far.
    pub done: f64,
    /// Of how much, if that is known.
    pub total: Option<f64>,
    /// In words.
    pub message: Option<String>,
}

/// What is done when a server of 2026-07-28 wants input before it answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InputMode {
    /// The handler is asked, and the request is sent again.
    #[default]
    AskHandler,
    /// The caller gets the result that says so.
    ReturnToCaller,
}

/// What is sent along with a request that is sent again.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumedInput {
    /// What the server wants to have back.
    pub state: Option<String>,
    /// The input, by the names the server gave.
    pub responses: Value,
}
