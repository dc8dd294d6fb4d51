//! `reasoning_checkpoint_create`: creates a checkpoint at the session's current position.

use deliberate_core::{
    BranchId, Change, CheckpointId, CheckpointKind, Precondition, SessionId, ThoughtId, Timestamp,
};
use deliberate_toolkit::{
    ArgumentIssue, Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{checkpoint_latest_thought, new_checkpoint};
use crate::session::require_session;

/// The `reasoning_checkpoint_create` tool.
pub(crate) struct CheckpointCreate;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    session_id: SessionId,
    /// Checkpoint name
    #[schemars(length(min = 1, max = 200))]
    name: String,
    #[schemars(length(max = 2_000))]
    description: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Pass it to `reasoning_backtrack` to return here
    checkpoint_id: CheckpointId,
    /// The session it belongs to
    session_id: SessionId,
    /// Its name
    name: String,
    /// Its description; omitted if none was given
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// The branch that is active here; null if none is
    branch_id: Option<BranchId>,
    /// The latest thought here; null if there is none
    latest_thought: Option<ThoughtId>,
    /// Creation time
    created_at: Timestamp,
}

impl Tool for CheckpointCreate {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "reasoning_checkpoint_create",
            title: "Make a checkpoint",
            description: "Create a checkpoint at the current reasoning state, to return to later \
                          with reasoning_backtrack.",
            hints: ToolHints::ADDITIVE,
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let session = require_session(&input.session_id, call).await?;
        let name = call.check_content("name", &input.name)?.trim().to_owned();
        if let Some(taken) = call.store().checkpoint_by_name(&session.id, &name).await? {
            let rule = format!("is already the name of checkpoint {taken}");
            let issue = ArgumentIssue::new("name", rule).with_value(&name.into());
            return Err(ToolError::Invalid(vec![issue]));
        }
        let kind = CheckpointKind::Asked;
        let checkpoint = new_checkpoint(&session, name, input.description, kind, call).await?;
        Ok(ToolOutput {
            output: Output {
                checkpoint_id: checkpoint.id.clone(),
                session_id: session.id.clone(),
                name: checkpoint.name.clone(),
                description: checkpoint.description.clone(),
                branch_id: checkpoint.branch_id.clone(),
                latest_thought: checkpoint_latest_thought(&checkpoint),
                created_at: checkpoint.created_at,
            },
            changes: vec![
                Change::Check(Precondition::FreeName {
                    session_id: session.id.clone(),
                    name: checkpoint.name.clone(),
                }),
                Change::AddCheckpoint(checkpoint),
            ],
            session: Some(session.id),
        })
    }
}
