//! What is between a call and its caller: where the call stands, and what is kept of it if its
//! caller stops waiting. Writes nothing itself.

use std::sync::Arc;

use deliberate_core::{SuspendedCall, SuspensionId, Timestamp};
use serde_json::Value;
use tokio::sync::Mutex as AsyncMutex;
use tokio_util::sync::CancellationToken;

use super::running::{RunningGuard, StatusText};

/// What is between a call and its caller.
#[derive(Default)]
pub(crate) struct CallHandle {
    /// Whether its caller may stop waiting.
    pub(crate) may_move_to_background: bool,
    /// Ends the call.
    pub(super) stop: CancellationToken,
    pub(crate) stage: Arc<AsyncMutex<CallStage>>,
    pub(crate) status: StatusText,
}

/// Where a call is kept.
#[derive(Debug, Clone)]
pub(crate) struct StoredCall {
    pub(crate) id: SuspensionId,
    pub(crate) started_at: Timestamp,
    /// The replies it had and the asks it waited for, if it waited.
    pub(crate) pending: Option<(Value, Value)>,
}

impl StoredCall {
    pub(crate) fn from_suspended(suspension: &SuspendedCall) -> Self {
        Self {
            id: suspension.id.clone(),
            started_at: suspension.created_at,
            pending: Some((suspension.journal.clone(), suspension.asks.clone())),
        }
    }
}

/// What is kept of a running call if its caller stops waiting: enough to run it again.
pub(crate) struct ResumeState {
    pub(crate) suspended_id: Option<SuspensionId>,
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    pub(crate) journal: Value,
    pub(crate) started_at: Timestamp,
    pub(crate) owner: Option<String>,
}

#[derive(Default)]
pub(crate) enum CallStage {
    /// Not known yet what is to be run.
    #[default]
    Preparing,
    /// It waits for another call that runs on.
    WaitingFor(SuspensionId),
    /// It runs, and can be handed over.
    Running(Box<ResumeState>),
    /// It is kept in the store, and runs on.
    Background {
        stored: StoredCall,
        lease_expiry: Timestamp,
        guard: Option<RunningGuard>,
    },
    /// It is being finished.
    Finishing {
        #[expect(dead_code, reason = "there until the call is over")]
        guard: Option<RunningGuard>,
    },
}

impl CallStage {
    /// Where the call is kept and until when it is believed to run, if it was handed over.
    pub(crate) fn stored_call(&self) -> Option<(StoredCall, Option<Timestamp>)> {
        match self {
            Self::Background {
                stored: kept,
                lease_expiry: until,
                ..
            } => Some((kept.clone(), Some(*until))),
            _ => None,
        }
    }
}

impl CallHandle {
    /// For a call that ends when `stop` is cancelled.
    pub(crate) fn new(stop: CancellationToken) -> Self {
        Self {
            stop,
            ..Self::default()
        }
    }

    pub(crate) async fn set_waiting_for(&self, id: &SuspensionId) {
        *self.stage.lock().await = CallStage::WaitingFor(id.clone());
    }

    /// The call runs.
    pub(crate) async fn set_running(&self, work: ResumeState) {
        let mut stage = self.stage.lock().await;
        if !matches!(*stage, CallStage::Background { .. }) {
            *stage = CallStage::Running(Box::new(work));
        }
    }

    /// The call is about to be finished and can no longer be handed over. Where it is kept, if it
    /// was.
    pub(crate) async fn set_finishing(&self) -> Option<StoredCall> {
        let mut stage = self.stage.lock().await;
        let ending = CallStage::Finishing { guard: None };
        match std::mem::replace(&mut *stage, ending) {
            CallStage::Background {
                stored: kept,
                guard: here,
                ..
            } => {
                *stage = CallStage::Finishing { guard: here };
                Some(kept)
            }
            _ => None,
        }
    }
}
