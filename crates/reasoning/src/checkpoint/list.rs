//! `reasoning_checkpoint_list`.

use deliberate_core::{BranchId, Checkpoint, CheckpointId, CheckpointKind, SessionId, Timestamp};
use deliberate_store::Page;
use deliberate_toolkit::{About, Annotations, Call, Limits, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::session::{WorksOn, known};

/// `reasoning_checkpoint_list`.
pub struct CheckpointList;

/// Listed at once.
const LISTED: u32 = 100;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    session_id: SessionId,
    #[schemars(range(max = 1_000_000))]
    offset: Option<u32>,
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    /// The session they belong to
    session_id: SessionId,
    /// Newest first
    checkpoints: Vec<Listed>,
    /// `offset` of the next page; left out on the last
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u32>,
}

// A checkpoint in the list.
#[derive(Debug, Serialize, JsonSchema)]
struct Listed {
    /// Pass it to `reasoning_backtrack` to return there
    id: CheckpointId,
    /// Its name
    name: String,
    /// Its description; left out if there is none
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// The branch that was active there; null if none was
    branch_id: Option<BranchId>,
    /// asked if someone made it, undo if a backtrack left this place
    kind: CheckpointKind,
    /// When it was made
    created_at: Timestamp,
}

impl From<Checkpoint> for Listed {
    fn from(checkpoint: Checkpoint) -> Self {
        Self {
            id: checkpoint.id,
            name: checkpoint.name,
            description: checkpoint.description,
            branch_id: checkpoint.branch_id,
            kind: checkpoint.kind,
            created_at: checkpoint.created_at,
        }
    }
}

impl Tool for CheckpointList {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        About {
            name: "reasoning_checkpoint_list",
            title: "List checkpoints",
            description: "List all checkpoints available for a session, newest first; kind undo is \
                          the place a backtrack left.",
            annotations: Annotations::READS,
            thinks: false,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let session = known(&input.session_id, WorksOn::Any, call).await?;
        let offset = input.offset.unwrap_or(0);
        // One more, to know whether there are more.
        let page = Page {
            offset,
            limit: LISTED + 1,
        };
        let mut all = call.store().checkpoints(&session.id, page).await?;
        let more = all.len() > LISTED as usize;
        all.truncate(LISTED as usize);
        Ok(Outcome {
            output: Output {
                session_id: session.id.clone(),
                checkpoints: all.into_iter().map(Listed::from).collect(),
                next_offset: more.then(|| offset.saturating_add(LISTED)),
            },
            changes: Vec::new(),
            session: Some(session.id),
        })
    }
}
