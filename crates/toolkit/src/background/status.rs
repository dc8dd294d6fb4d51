//! Lets owners look at their suspended and background calls, and cancel them.

use deliberate_core::{Change, SuspendedCall, SuspensionId, Timestamp};
use deliberate_store::StoreError;
use serde_json::Value;

use crate::{ErrorCode, Principal, Registry, ToolError};

/// The state of a suspended or background call.
#[derive(Debug, Clone, PartialEq)]
pub enum BackgroundStatus {
    /// A worker runs it; with the latest progress message if it runs in this process.
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
        let left = match (suspended.outcome, suspended.failed) {
            (Some(outcome), false) => BackgroundStatus::Ended(Ok(outcome)),
            (Some(outcome), true) => BackgroundStatus::Ended(Err(super::decode_failure(&outcome))),
            (None, _) if runs => BackgroundStatus::Running(self.background_calls.status(&id)),
            (None, _) if asks_nothing => BackgroundStatus::Abandoned,
            (None, _) => BackgroundStatus::Waiting,
        };
        let called_with = suspended.journal.get("called_with").cloned();
        Ok(BackgroundCall {
            status: left,
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

    /// Cancels a suspended or background call unless it has ended.
    pub async fn cancel_background_call(
        &self,
        id: &str,
        principal: &Principal,
    ) -> Result<(), ToolError> {
        let id = SuspensionId::from(id);
        let suspended = self.find_suspended(&id, principal).await?;
        if suspended.outcome.is_some() || self.background_calls.stop(&id) {
            return Ok(());
        }
        let end = Change::EndSuspension {
            id,
            outcome: super::encode_failure(&ToolError::Cancelled),
            failed: true,
        };
        match self.deps.store.commit(vec![end]).await {
            // The call ended by itself meanwhile.
            Ok(()) | Err(StoreError::AlreadyEnded) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends an abandoned call that may not run again.
    pub(crate) async fn mark_lost(&self, abandoned: &SuspendedCall) -> Result<(), ToolError> {
        let lost = Change::EndSuspension {
            id: abandoned.id.clone(),
            outcome: super::encode_failure(&lost_error()),
            failed: true,
        };
        match self.deps.store.commit(vec![lost]).await {
            // Another worker was first.
            Ok(()) | Err(StoreError::AlreadyEnded) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the error of an abandoned call that may not run again.
pub(crate) fn lost_error() -> ToolError {
    ToolError::Custom {
        code: ErrorCode::CutOff,
        message: "the call was interrupted; it may or may not have taken effect".to_owned(),
        hint: Some("The operation may have completed. Check before retrying.".to_owned()),
    }
}
