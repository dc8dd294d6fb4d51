//! Calls that were left, as their owners see them: how they stand, and stopping them.

use deliberate_core::{Change, SuspendedCall, SuspensionId, Timestamp};
use deliberate_store::StoreError;
use serde_json::Value;

use crate::{Principal, Registry, ToolError};

/// How a call that was left stands.
#[derive(Debug, Clone, PartialEq)]
pub enum BackgroundStatus {
    /// Someone runs it; what it was doing last, if that is known here.
    Running(String),
    /// It waits for replies.
    Waiting,
    /// Whoever ran it died. Resuming it runs it again, or tells that it is lost.
    Abandoned,
    /// It is over.
    Ended(Result<Value, ToolError>),
}

/// A call that was left, as its owner sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct BackgroundCall {
    /// How it stands.
    pub status: BackgroundStatus,
    /// The tool.
    pub tool: String,
    /// What it runs with: of a call that goes on in legs, what its last leg is called with.
    pub arguments: Value,
    /// What its client called it with, as the gate understood it.
    pub called_with: Value,
    /// The keys of the asks it waits for, in the order their replies are expected.
    pub asks: Vec<String>,
    /// When it began.
    pub started_at: Timestamp,
    /// When it will be forgotten.
    pub expires_at: Timestamp,
}

impl Registry {
    /// How a call that was left stands, without waiting for it.
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

    /// Whether a call that was left is this one.
    pub fn matches_call(&self, left: &BackgroundCall, tool: &str, arguments: &Value) -> bool {
        let Ok(called) = self.tools.resolve(tool, arguments.clone(), None) else {
            return false;
        };
        left.tool == called.entry.meta.name
            && called.entry.check(called.arguments).as_ref() == Ok(&left.called_with)
    }

    /// Stops a call that was left, if it is not over.
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
            // It ended by itself meanwhile.
            Ok(()) | Err(StoreError::AlreadyEnded) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends a call that nobody runs any more and that may not run again.
    pub(crate) async fn mark_lost(&self, abandoned: &SuspendedCall) -> Result<(), ToolError> {
        let lost = Change::EndSuspension {
            id: abandoned.id.clone(),
            outcome: super::encode_failure(&lost_error()),
            failed: true,
        };
        match self.deps.store.commit(vec![lost]).await {
            // Someone else was first.
            Ok(()) | Err(StoreError::AlreadyEnded) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// What is told of a call that may not run again.
pub(crate) fn lost_error() -> ToolError {
    ToolError::Custom {
        code: "CutOff".to_owned(),
        message: "the call was cut off while it ran; it may or may not have happened".to_owned(),
        hint: Some("Look at what it was to do before you call again.".to_owned()),
    }
}
