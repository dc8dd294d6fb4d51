//! Several approaches side by side, each a branch that can be followed, closed and reopened.

mod build_branches;
mod complete;
mod explore;
mod focus;
mod list;
mod model_output;

pub use complete::TreeComplete;
pub use explore::TreeExplore;
pub(crate) use explore::{ExploreRequest, explore};
pub use focus::TreeFocus;
pub use list::TreeList;

use deliberate_core::{Mode, Session, SessionId};
use deliberate_store::{EpochFilter, Pagination};
use deliberate_toolkit::{ToolContext, ToolError};

use crate::session::{ModeFilter, require_session};

/// The session of that id, if it has branches: every tree, and any other session in which a
/// backtrack opened one.
async fn require_branched_session(
    id: &SessionId,
    call: &ToolContext,
) -> Result<Session, ToolError> {
    let session = require_session(id, ModeFilter::Any, call).await?;
    if session.mode == Mode::Tree {
        return Ok(session);
    }
    let one = Pagination::limit(1);
    let branches = call.store().branches(id, EpochFilter::Current, one).await?;
    if branches.is_empty() {
        return Err(ToolError::WrongMode {
            id: session.id.to_string(),
            mode: session.mode,
            wanted: Mode::Tree,
        });
    }
    Ok(session)
}
