//! Places in a session that one can return to, and the return.

mod backtrack;
mod create;
mod list;

pub use backtrack::Backtrack;
pub use create::CheckpointCreate;
pub use list::CheckpointList;

use deliberate_core::{Checkpoint, CheckpointId, CheckpointKind, Session, ThoughtId};
use deliberate_store::StoreError;
use deliberate_toolkit::ToolContext;
use serde_json::{Value, json};

use super::history::latest_thought;

/// A checkpoint of where the session stands. It names the place and holds no copy, so it costs
/// the same however long the session is.
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

/// The latest thought when a checkpoint was made. Those of the original server hold the session's
/// thoughts themselves.
fn checkpoint_latest_thought(checkpoint: &Checkpoint) -> Option<ThoughtId> {
    let snapshot = &checkpoint.snapshot;
    let in_original = || snapshot.get("thoughts")?.as_array()?.last()?.get("id");
    let id = snapshot.get("latest_thought_id").or_else(in_original);
    id.and_then(Value::as_str).map(ThoughtId::from)
}
