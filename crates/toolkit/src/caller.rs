//! Who calls, and who can think for them.

use std::sync::Arc;

use deliberate_thinker::Thinker;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::{Principal, TraceContext};

/// The side of a call that the transport brings: how to stop it, where its progress goes, and
/// whether the client offers its own model.
#[derive(Clone, Default)]
pub struct Caller {
    /// Cancelled when the client no longer wants the answer.
    pub cancelled: CancellationToken,
    /// Hears of progress, if the client asked for it. Must not block.
    pub progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    /// The client's own model, where it can be asked during a call.
    pub mind: Option<Arc<dyn Thinker>>,
    /// Whose call it is.
    pub principal: Principal,
    /// The client's place in its trace, if it said one.
    pub trace: Option<TraceContext>,
    /// The revision of the protocol it speaks, for traces.
    pub protocol: Option<&'static str>,
}

/// How far a call has come. Numbers only grow.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// How far.
    pub done: f64,
    /// Of how much, if that is known.
    pub total: Option<f64>,
    /// In words.
    pub message: String,
}

/// Chooses who thinks. Asked once a call, and only by calls that think.
pub trait Minds: Send + Sync {
    /// The one to ask; `offered` is the client's own model. `None` means that no model can be
    /// asked during the call, so that the client has to reply between calls.
    fn choose(&self, offered: Option<Arc<dyn Thinker>>) -> BoxFuture<'_, Option<Arc<dyn Thinker>>>;
}

/// The same mind for everyone, or none.
pub struct OneMind(pub Option<Arc<dyn Thinker>>);

impl Minds for OneMind {
    fn choose(&self, offered: Option<Arc<dyn Thinker>>) -> BoxFuture<'_, Option<Arc<dyn Thinker>>> {
        let mind = self.0.clone().or(offered);
        Box::pin(async move { mind })
    }
}
