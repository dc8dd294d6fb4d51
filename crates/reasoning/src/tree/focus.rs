//! `reasoning_tree_focus`: makes a branch the active one, and reopens it if it was closed.

use deliberate_core::{BranchId, BranchState, Change, Score, SessionId};
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::session::require_session;

/// The `reasoning_tree_focus` tool.
pub(crate) struct TreeFocus;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    session_id: SessionId,
    branch_id: BranchId,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The session it belongs to
    session_id: SessionId,
    /// The branch that is active now
    branch_id: BranchId,
    /// Its approach in a few words
    name: Option<String>,
    /// Always active
    state: BranchState,
    /// How sure the model was when it opened the branch
    confidence: Score,
    /// The branch's latest thought
    content: Option<String>,
    /// The branch that was active before; null if none was
    previous_branch: Option<BranchId>,
    /// true if it had been completed or abandoned
    reopened: bool,
}

impl Tool for TreeFocus {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_tree_focus",
            title: "Follow a branch",
            description: "Focus on a specific branch, making it the active branch for the session. \
                          Reopens a completed or abandoned one.",
            hints: ToolHints::IDEMPOTENT,
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let session = require_session(&input.session_id, call).await?;
        let branch = crate::lookup::branch(call, &input.branch_id, &session.id).await?;
        let latest = call.store().latest_branch_thoughts(&branch.id, 1).await?;
        let reopened = branch.state != BranchState::Active;
        let mut changes = Vec::new();
        if reopened {
            changes.push(Change::SetBranchState {
                id: branch.id.clone(),
                state: BranchState::Active,
                at: call.now(),
            });
        }
        if session.active_branch_id.as_ref() != Some(&branch.id) {
            changes.push(Change::SetActiveBranch {
                session_id: session.id.clone(),
                branch_id: Some(branch.id.clone()),
                at: call.now(),
            });
        }
        Ok(ToolOutput {
            output: Output {
                session_id: session.id.clone(),
                branch_id: branch.id,
                name: branch.name,
                state: BranchState::Active,
                confidence: branch.confidence,
                content: latest.into_iter().next().map(|thought| thought.content),
                previous_branch: session.active_branch_id,
                reopened,
            },
            changes,
            session: Some(session.id),
        })
    }
}
