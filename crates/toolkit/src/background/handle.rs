//! The state that a call shares with its caller: its stage, and the data to store if it becomes a
//! background call. The module writes nothing to the store.

use std::sync::Arc;

use deliberate_core::{SuspendedCall, SuspensionId, Timestamp};
use serde_json::Value;
use tokio::sync::Mutex as AsyncMutex;
use tokio_util::sync::CancellationToken;

use super::running::{RunningGuard, StatusText};

/// The state that a call shares with its caller.
#[derive(Default)]
pub(crate) struct CallHandle {
    /// Whether the call may become a background call.
    pub(crate) may_move_to_background: bool,
    /// Stops the call.
    pub(super) stop: CancellationToken,
    pub(crate) stage: Arc<AsyncMutex<CallStage>>,
    pub(crate) status: StatusText,
}

/// The stored record of a call.
#[derive(Debug, Clone)]
pub(crate) struct StoredCall {
    pub(crate) id: SuspensionId,
    pub(crate) started_at: Timestamp,
    /// The replies and open model requests, if the call was suspended.
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

/// The data that is stored if a running call becomes a background call: enough to run it again.
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
    /// The tool and arguments are not resolved yet.
    #[default]
    Preparing,
    /// The call waits for a background call.
    WaitingFor(SuspensionId),
    /// The call runs and can be moved to the background.
    Running(Box<ResumeState>),
    /// The call is stored and runs in the background.
    Background {
        stored: StoredCall,
        lease_expiry: Timestamp,
        guard: Option<RunningGuard>,
    },
    /// The call is being committed.
    Finishing {
        #[expect(dead_code, reason = "exists until the call ends")]
        guard: Option<RunningGuard>,
    },
}

impl CallStage {
    /// Returns the stored record and the lease expiry if the call was moved to the background.
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
    /// Creates the handle of a call that ends when `stop` is cancelled.
    pub(crate) fn new(stop: CancellationToken) -> Self {
        Self {
            stop,
            ..Self::default()
        }
    }

    pub(crate) async fn set_waiting_for(&self, id: &SuspensionId) {
        *self.stage.lock().await = CallStage::WaitingFor(id.clone());
    }

    /// Marks the call as running.
    pub(crate) async fn set_running(&self, work: ResumeState) {
        let mut stage = self.stage.lock().await;
        if !matches!(*stage, CallStage::Background { .. }) {
            *stage = CallStage::Running(Box::new(work));
        }
    }

    /// Marks the call as finishing, so that it can't be moved to the background any more. Returns
    /// its stored record if it was moved before.
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
