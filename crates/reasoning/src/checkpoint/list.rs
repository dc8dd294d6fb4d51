//! `reasoning_checkpoint_list`.

use deliberate_core::{BranchId, Checkpoint, CheckpointId, CheckpointKind, SessionId, Timestamp};
use deliberate_store::Page;
use deliberate_toolkit::{About, Annotations, Call, Limits, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::session::{WorksOn, known};

/// `reasoning_checkpoint_list`.
pub struct CheckpointList;

/// What it is called with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    session_id: SessionId,
}

/// What it answers.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Output {
    session_id: SessionId,
    checkpoints: Vec<Listed>,
}

// A checkpoint in the list.
#[derive(Debug, Serialize, JsonSchema)]
struct Listed {
    id: CheckpointId,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    branch_id: Option<BranchId>,
    kind: CheckpointKind,
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
            description: "List all checkpoints available for a session, oldest first; kind undo is \
                          the place a backtrack left.",
            annotations: Annotations {
                read_only: true,
                destructive: false,
                idempotent: true,
                open_world: false,
            },
            thinks: false,
            limits: Limits::default(),
        }
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let session = known(&input.session_id, WorksOn::Any, call).await?;
        let all = call
            .store()
            .checkpoints(&session.id, Page::first(Page::MOST));
        Ok(Outcome {
            output: Output {
                session_id: session.id.clone(),
                checkpoints: all.await?.into_iter().map(Listed::from).collect(),
            },
            changes: Vec::new(),
            session: Some(session.id),
        })
    }
}
