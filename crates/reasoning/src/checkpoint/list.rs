//! `reasoning_checkpoint_list`: lists the checkpoints of a session.

use deliberate_core::{BranchId, Checkpoint, CheckpointId, CheckpointKind, SessionId, Timestamp};
use deliberate_store::Pagination;
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::session::require_session;

/// The `reasoning_checkpoint_list` tool.
pub(crate) struct CheckpointList;

/// Checkpoints per page.
const PAGE_SIZE: u32 = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    session_id: SessionId,
    #[schemars(range(max = 1_000_000))]
    offset: Option<u32>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// The session they belong to
    session_id: SessionId,
    /// Newest first
    checkpoints: Vec<CheckpointSummary>,
    /// `offset` of the next page; omitted on the last
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u32>,
}

// A checkpoint in the list.
#[derive(Debug, Serialize, JsonSchema)]
struct CheckpointSummary {
    /// Pass it to `reasoning_backtrack` to return there
    id: CheckpointId,
    /// Its name
    name: String,
    /// Its description; omitted if there is none
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// The branch that was active there; null if none was
    branch_id: Option<BranchId>,
    /// asked if a caller created it, undo if a backtrack did
    kind: CheckpointKind,
    /// Creation time
    created_at: Timestamp,
}

impl From<Checkpoint> for CheckpointSummary {
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

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_checkpoint_list",
            title: "List checkpoints",
            description: "List all checkpoints available for a session, newest first; kind undo is \
                          the place a backtrack left.",
            hints: ToolHints::READ_ONLY,
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let session = require_session(&input.session_id, call).await?;
        let offset = input.offset.unwrap_or(0);
        // One row more than a page holds shows whether another page follows.
        let page = Pagination {
            offset,
            limit: PAGE_SIZE + 1,
        };
        let mut all = call.store().checkpoints(&session.id, page).await?;
        let more = all.len() > PAGE_SIZE as usize;
        all.truncate(PAGE_SIZE as usize);
        Ok(ToolOutput {
            output: Output {
                session_id: session.id.clone(),
                checkpoints: all.into_iter().map(CheckpointSummary::from).collect(),
                next_offset: more.then(|| offset.saturating_add(PAGE_SIZE)),
            },
            changes: Vec::new(),
            session: Some(session.id),
        })
    }
}
