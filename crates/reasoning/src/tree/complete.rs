//! `reasoning_tree_complete`: closes a branch.

use deliberate_core::{Branch, BranchId, BranchState, Change, Score, SessionId};
use deliberate_store::{EpochFilter, Pagination};
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::session::require_session;

/// The `reasoning_tree_complete` tool.
pub(crate) struct TreeComplete;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    session_id: SessionId,
    branch_id: BranchId,
    state: BranchEnd,
}

// How a branch ends.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum BranchEnd {
    Completed,
    Abandoned,
}

impl From<BranchEnd> for BranchState {
    fn from(end: BranchEnd) -> Self {
        match end {
            BranchEnd::Completed => Self::Completed,
            BranchEnd::Abandoned => Self::Abandoned,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The session it belongs to
    session_id: SessionId,
    /// The branch that was closed
    branch_id: BranchId,
    /// Its approach in a few words
    name: Option<String>,
    /// Its new state
    state: BranchState,
    /// Its previous state
    previous_state: BranchState,
    /// How sure the model was when it opened the branch
    confidence: Score,
    /// Other branches of the session that are still active
    open_branches: Vec<BranchId>,
    /// The branch that the next thought continues; null for the session's main line
    active_branch: Option<BranchId>,
}

/// The nearest open branch above a branch; `None` for the main line.
async fn open_ancestor(branch: &Branch, call: &ToolContext) -> Result<Option<BranchId>, ToolError> {
    let mut parent = branch.parent_id.clone();
    while let Some(id) = parent {
        let Some(above) = call.store().branch(&id).await? else {
            break;
        };
        if above.state == BranchState::Active && !above.set_aside {
            return Ok(Some(id));
        }
        parent = above.parent_id;
    }
    Ok(None)
}

impl Tool for TreeComplete {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_tree_complete",
            title: "Close a branch",
            description: "Mark a branch as completed or abandoned. It takes no more thoughts until \
                          reasoning_tree_focus reopens it.",
            hints: ToolHints::IDEMPOTENT,
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let session = require_session(&input.session_id, call).await?;
        let branch = crate::lookup::branch(call, &input.branch_id, &session.id).await?;
        let state = BranchState::from(input.state);
        let all = Pagination::limit(Pagination::MAX);
        let all = call
            .store()
            .branches(&session.id, EpochFilter::Current, all)
            .await?;
        let open_branches = all
            .into_iter()
            .map(|entry| entry.branch)
            .filter(|other| other.id != branch.id && other.state == BranchState::Active)
            .map(|other| other.id)
            .collect();
        let mut changes = Vec::new();
        if branch.state != state {
            changes.push(Change::SetBranchState {
                id: branch.id.clone(),
                state,
                at: call.now(),
            });
        }
        // A closed branch takes no more thoughts, so the session goes on where the branch began.
        let mut active_branch = session.active_branch_id.clone();
        if active_branch.as_ref() == Some(&branch.id) {
            active_branch = open_ancestor(&branch, call).await?;
            changes.push(Change::SetActiveBranch {
                session_id: session.id.clone(),
                branch_id: active_branch.clone(),
                at: call.now(),
            });
        }
        Ok(ToolOutput {
            output: Output {
                session_id: session.id.clone(),
                branch_id: branch.id,
                name: branch.name,
                state,
                previous_state: branch.state,
                confidence: branch.confidence,
                open_branches,
                active_branch,
            },
            changes,
            session: Some(session.id),
        })
    }
}
