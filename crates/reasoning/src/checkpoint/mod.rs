//! The backtracking mode: checkpoints of a session, and the return to them.

mod backtrack;
mod create;
mod definition;
mod list;

pub(crate) use backtrack::Backtrack;
pub(crate) use create::CheckpointCreate;
pub(crate) use definition::MODE;
pub(crate) use list::CheckpointList;

use deliberate_core::{Checkpoint, CheckpointId, CheckpointKind, Session, ThoughtId};
use deliberate_store::StoreError;
use deliberate_toolkit::ToolContext;
use serde_json::{Value, json};

use super::history::latest_thought;

/// Creates a checkpoint of the session's current position. It refers to the position and holds no
/// copy, so its cost does not grow with the session.
async fn new_checkpoint(
    session: &Session,
    name: String,
    description: Option<String>,
    kind: CheckpointKind,
    call: &ToolContext,
) -> Result<Checkpoint, StoreError> {
    let latest = latest_thought(session, call).await?.map(|it| it.id);
    Ok(Checkpoint {
        id: call.new_id::<CheckpointId>(),
        session_id: session.id.clone(),
        branch_id: session.active_branch_id.clone(),
        name,
        description,
        snapshot: json!({ "latest_thought_id": latest }),
        kind,
        created_at: call.now(),
    })
}

/// Creates the checkpoint that a change of the session can be undone with.
pub(crate) async fn undo_checkpoint(
    session: &Session,
    name: &str,
    call: &ToolContext,
) -> Result<Checkpoint, StoreError> {
    new_checkpoint(session, name.to_owned(), None, CheckpointKind::Undo, call).await
}

/// The latest thought at a checkpoint. Checkpoints of the original server hold the session's
/// thoughts themselves.
fn checkpoint_latest_thought(checkpoint: &Checkpoint) -> Option<ThoughtId> {
    let snapshot = &checkpoint.snapshot;
    let in_original = || snapshot.get("thoughts")?.as_array()?.last()?.get("id");
    let id = snapshot.get("latest_thought_id").or_else(in_original);
    id.and_then(Value::as_str).map(ThoughtId::from)
}
