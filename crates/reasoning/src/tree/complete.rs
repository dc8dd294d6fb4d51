//! `reasoning_tree_complete`: closes a branch.

use deliberate_core::{BranchId, BranchState, Change, Score, SessionId};
use deliberate_store::{Page, Which};
use deliberate_toolkit::{About, Annotations, Call, Limits, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::with_branches;

/// `reasoning_tree_complete`.
pub struct TreeComplete;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    session_id: SessionId,
    branch_id: BranchId,
    state: End,
}

// How a branch ends.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum End {
    Completed,
    Abandoned,
}

impl From<End> for BranchState {
    fn from(end: End) -> Self {
        match end {
            End::Completed => Self::Completed,
            End::Abandoned => Self::Abandoned,
        }
    }
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The session it belongs to
    session_id: SessionId,
    /// The branch that was marked
    branch_id: BranchId,
    /// Its approach in a few words
    name: Option<String>,
    /// What it is now
    state: BranchState,
    /// What it was before
    previous_state: BranchState,
    /// How sure the model was when it opened the branch
    confidence: Score,
    /// Other branches of the session that are still active
    open_branches: Vec<BranchId>,
}

impl Tool for TreeComplete {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        About {
            name: "reasoning_tree_complete",
            title: "Close a branch",
            description: "Mark a branch as completed or abandoned. It takes no more thoughts until \
                          reasoning_tree_focus reopens it.",
            annotations: Annotations::MARKS,
            thinks: false,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let session = with_branches(&input.session_id, call).await?;
        let branch = call.branch(&input.branch_id, &session.id).await?;
        let state = BranchState::from(input.state);
        let all = Page::first(Page::MOST);
        let all = call
            .store()
            .branches(&session.id, Which::Current, all)
            .await?;
        let open_branches = all
            .into_iter()
            .map(|entry| entry.branch)
            .filter(|other| other.id != branch.id && other.state == BranchState::Active)
            .map(|other| other.id)
            .collect();
        let changes = (branch.state != state).then(|| Change::SetBranchState {
            id: branch.id.clone(),
            state,
            at: call.now(),
        });
        Ok(Outcome {
            output: Output {
                session_id: session.id.clone(),
                branch_id: branch.id,
                name: branch.name,
                state,
                previous_state: branch.state,
                confidence: branch.confidence,
                open_branches,
            },
            changes: Vec::from_iter(changes),
            session: Some(session.id),
        })
    }
}
