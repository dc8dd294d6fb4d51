//! Options of a single request: time limits, cancellation, progress, and the handler for the
//! server's own requests.

use std::{fmt, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::ClientHandler;

/// Options of a request. The defaults come from the server's configuration.
#[derive(Clone, Default)]
pub struct CallOptions {
    /// The time to wait for an answer, in place of the server's limit. A progress notification
    /// restarts it.
    pub response_timeout: Option<Duration>,
    /// The total time to wait, in place of the server's limit.
    pub total_timeout: Option<Duration>,
    /// The token to cancel when the answer is no longer needed. Dropping the future has the same
    /// effect.
    pub cancellation: CancellationToken,
    /// The listener for progress notifications. It must not block.
    pub progress: Option<ProgressListener>,
    /// Fields that are added to `_meta` beside those of the protocol.
    pub meta: Map<String, Value>,
    /// The least severe level of log messages that are wanted, such as `warning`. A server of revision
    /// 2026-07-28 sends none without it; others send what they choose.
    pub log_level: Option<String>,
    /// The handler for the server's requests during this request, in place of the client's handler.
    pub handler: Option<Arc<dyn ClientHandler>>,
    /// Decides who provides the input that the server needs before it answers.
    pub input_mode: InputMode,
    /// Whether integers beyond 64 bits in the result are marked
    /// ([`deliberate_json_schema::mark_large_integers`]) instead of rounded.
    pub exact_integers: bool,
    /// The input that the server asked for, when this request is sent again with it.
    pub resumed_input: Option<ResumedInput>,
    /// Runs the checks of a call that may take long, in place of a blocking thread of the runtime.
    pub check_runner: Option<CheckRunner>,
}

/// Runs a check whose duration a server's schema decides, and returns when it has ended or takes too
/// long.
pub type CheckRunner = fn(Box<dyn FnOnce() + Send>) -> BoxFuture<'static, ()>;

/// A callback that receives progress notifications.
pub type ProgressListener = Arc<dyn Fn(McpProgress) + Send + Sync>;

impl fmt::Debug for CallOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallOptions")
            .field("response_timeout", &self.response_timeout)
            .field("total_timeout", &self.total_timeout)
            .field("input_mode", &self.input_mode)
            .finish_non_exhaustive()
    }
}

/// A progress notification of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct McpProgress {
    /// The progress so far.
    pub done: f64,
    /// The amount of work in total, if known.
    pub total: Option<f64>,
    /// A description of the progress for people.
    pub message: Option<String>,
}

/// Decides what happens when a server of revision 2026-07-28 needs input before it answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InputMode {
    /// The client asks its handler and sends the request again.
    #[default]
    AskHandler,
    /// The caller gets the server's `input_required` result.
    ReturnToCaller,
}

/// The input that is sent with a repeated request.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumedInput {
    /// The state that the server wants back.
    pub state: Option<String>,
    /// The responses, by the keys that the server assigned.
    pub responses: Value,
}
