//! Lets owners look at their suspended and background calls, and cancel them.

use deliberate_core::{Change, StoredProgress, SuspendedCall, SuspensionId, Timestamp};
use deliberate_store::StoreError;
use serde_json::Value;

use super::background::{decode_failure, encode_failure};
use crate::{ErrorCode, Principal, Registry, ToolError};

/// The state of a suspended or background call.
#[derive(Debug, Clone, PartialEq)]
pub enum BackgroundStatus {
    /// A worker runs it; with the latest progress message that this process knows.
    Running(String),
    /// The call waits for replies.
    Waiting,
    /// The lease expired. Resuming the call runs it again, or reports it as lost.
    Abandoned,
    /// The call has ended with this result.
    Ended(Result<Value, ToolError>),
}

/// A suspended or background call, as its owner sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct BackgroundCall {
    /// The state of the call.
    pub status: BackgroundStatus,
    /// How much of the work is done, 0 to 1, if the tool knows how much there is.
    pub progress: Option<f64>,
    /// The tool's name.
    pub tool: String,
    /// The arguments of the current step.
    pub arguments: Value,
    /// The arguments that the client sent, as the dispatcher validated them.
    pub called_with: Value,
    /// The keys of the open model requests, in the order that replies are expected in.
    pub asks: Vec<String>,
    /// When the call started.
    pub started_at: Timestamp,
    /// When the record is deleted.
    pub expires_at: Timestamp,
}

impl Registry {
    /// Returns the state of a suspended or background call without waiting for it.
    pub async fn background_call(
        &self,
        id: &str,
        principal: &Principal,
    ) -> Result<BackgroundCall, ToolError> {
        let id = SuspensionId::from(id);
        let suspended = self.find_suspended(&id, principal).await?;
        let runs = self.is_running(&suspended);
        let asks_nothing = suspended.asks.as_array().is_some_and(Vec::is_empty);
        let here = self.background_calls.progress(&id);
        let progress = here.map_or(suspended.progress, |it| it.stored());
        let status = match (suspended.outcome, suspended.failed) {
            (Some(outcome), false) => BackgroundStatus::Ended(Ok(outcome)),
            (Some(outcome), true) => BackgroundStatus::Ended(Err(decode_failure(&outcome))),
            (None, _) if runs => BackgroundStatus::Running(progress.message),
            (None, _) if asks_nothing => BackgroundStatus::Abandoned,
            (None, _) => BackgroundStatus::Waiting,
        };
        let called_with = suspended.journal.get("called_with").cloned();
        Ok(BackgroundCall {
            status,
            progress: progress.fraction,
            tool: suspended.tool_name,
            called_with: called_with.unwrap_or_else(|| suspended.arguments.clone()),
            arguments: suspended.arguments,
            asks: serde_json::from_value(suspended.asks).unwrap_or_default(),
            started_at: suspended.created_at,
            expires_at: suspended.expires_at,
        })
    }

    /// Tells whether a stored call is a call of this tool with these arguments.
    pub fn matches_call(&self, left: &BackgroundCall, tool: &str, arguments: &Value) -> bool {
        let Ok(called) = self.tools.resolve(tool, arguments.clone(), None) else {
            return false;
        };
        left.tool == called.entry.meta.name
            && called.entry.check(called.arguments).as_ref() == Ok(&left.called_with)
    }

    /// Cancels a suspended or background call unless it has ended. The call ends in the store, so that
    /// its worker, here or elsewhere, can commit nothing more and stops at its next heartbeat.
    pub async fn cancel_background_call(
        &self,
        id: &str,
        principal: &Principal,
    ) -> Result<(), ToolError> {
        let id = SuspensionId::from(id);
        loop {
            let row = self.find_suspended(&id, principal).await?;
            if row.outcome.is_some() {
                return Ok(());
            }
            // A call that went on meanwhile is looked at again.
            if self.end_stored(&row, &ToolError::Cancelled).await? {
                self.background_calls.stop(&id);
                return Ok(());
            }
        }
    }

    /// Ends a stored call. Returns false if it has ended or gone on meanwhile.
    pub(super) async fn end_stored(
        &self,
        row: &SuspendedCall,
        error: &ToolError,
    ) -> Result<bool, ToolError> {
        let end = Change::EndSuspension {
            id: row.id.clone(),
            fence: row.fence,
            outcome: encode_failure(error),
            failed: true,
        };
        match self.deps.store.commit(vec![end]).await {
            Ok(()) => Ok(true),
            Err(StoreError::AlreadyEnded) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the progress of a background call of this process or another.
    pub(super) async fn progress_of(&self, id: &SuspensionId) -> StoredProgress {
        if let Some(progress) = self.background_calls.progress(id) {
            return progress.stored();
        }
        let row = self.deps.store.suspended_call(id).await;
        row.ok()
            .flatten()
            .map(|row| row.progress)
            .unwrap_or_default()
    }
}

/// Returns the error of an abandoned call that may not run again.
pub(super) fn lost_error() -> ToolError {
    ToolError::Custom {
        code: ErrorCode::CutOff,
        message: "the call was interrupted; it may or may not have taken effect".to_owned(),
        hint: Some("The operation may have completed. Check before retrying.".to_owned()),
    }
}
