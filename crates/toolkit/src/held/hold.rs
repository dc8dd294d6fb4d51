//! What is between a call and its caller: where the call stands, and what is kept of it if its
//! caller stops waiting. Writes nothing itself.

use std::sync::Arc;

use deliberate_core::{Suspension, SuspensionId, Timestamp};
use serde_json::Value;
use tokio::sync::Mutex as AsyncMutex;
use tokio_util::sync::CancellationToken;

use super::calls::{Doing, Presence};

/// What is between a call and its caller.
#[derive(Default)]
pub(crate) struct Hold {
    /// Whether its caller may stop waiting.
    pub(crate) may_be_handed_over: bool,
    /// Ends the call.
    pub(super) stop: CancellationToken,
    pub(crate) stage: Arc<AsyncMutex<Stage>>,
    pub(crate) doing: Doing,
}

/// Where a call is kept.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) id: SuspensionId,
    pub(crate) begun: Timestamp,
    /// The replies it had and the asks it waited for, if it waited.
    pub(crate) waited_for: Option<(Value, Value)>,
}

impl Kept {
    pub(crate) fn of(suspension: &Suspension) -> Self {
        Self {
            id: suspension.id.clone(),
            begun: suspension.created_at,
            waited_for: Some((suspension.journal.clone(), suspension.asks.clone())),
        }
    }
}

/// What is kept of a running call if its caller stops waiting: enough to run it again.
pub(crate) struct Work {
    pub(crate) suspended: Option<SuspensionId>,
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    pub(crate) journal: Value,
    pub(crate) begun: Timestamp,
    pub(crate) owner: Option<String>,
}

#[derive(Default)]
pub(crate) enum Stage {
    /// Not known yet what is to be run.
    #[default]
    Preparing,
    /// It waits for another call that runs on.
    WaitsFor(SuspensionId),
    /// It runs, and can be handed over.
    Runs(Box<Work>),
    /// It is kept in the store, and runs on.
    RunsOn {
        kept: Kept,
        until: Timestamp,
        here: Option<Presence>,
    },
    /// It is being finished.
    Ending {
        #[expect(dead_code, reason = "there until the call is over")]
        here: Option<Presence>,
    },
}

impl Stage {
    /// Where the call is kept and until when it is believed to run, if it was handed over.
    pub(crate) fn kept(&self) -> Option<(Kept, Option<Timestamp>)> {
        match self {
            Self::RunsOn { kept, until, .. } => Some((kept.clone(), Some(*until))),
            _ => None,
        }
    }
}

impl Hold {
    /// For a call that ends when `stop` is cancelled.
    pub(crate) fn new(stop: CancellationToken) -> Self {
        Self {
            stop,
            ..Self::default()
        }
    }

    pub(crate) async fn waits_for(&self, id: &SuspensionId) {
        *self.stage.lock().await = Stage::WaitsFor(id.clone());
    }

    /// The call runs.
    pub(crate) async fn runs(&self, work: Work) {
        let mut stage = self.stage.lock().await;
        if !matches!(*stage, Stage::RunsOn { .. }) {
            *stage = Stage::Runs(Box::new(work));
        }
    }

    /// The call is about to be finished and can no longer be handed over. Where it is kept, if it
    /// was.
    pub(crate) async fn ending(&self) -> Option<Kept> {
        let mut stage = self.stage.lock().await;
        let ending = Stage::Ending { here: None };
        match std::mem::replace(&mut *stage, ending) {
            Stage::RunsOn { kept, here, .. } => {
                *stage = Stage::Ending { here };
                Some(kept)
            }
            _ => None,
        }
    }
}
