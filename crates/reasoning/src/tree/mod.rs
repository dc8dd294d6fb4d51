//! The tree mode: several approaches side by side, each a branch that can be continued, closed and
//! reopened.

mod build_branches;
mod complete;
mod definition;
mod explore;
mod focus;
mod list;
mod model_output;

pub(crate) use complete::TreeComplete;
pub(crate) use definition::MODE;
pub(crate) use explore::TreeExplore;
pub(crate) use explore::{ExploreRequest, explore};
pub(crate) use focus::TreeFocus;
pub(crate) use list::TreeList;

use deliberate_core::{Mode, Session, SessionId};
use deliberate_store::{EpochFilter, Pagination};
use deliberate_toolkit::{ToolContext, ToolError};

use crate::session::{ModeFilter, require_session};

/// Loads a session that has branches: every session of mode tree, and any other in which a
/// backtrack opened a branch.
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
        return Err(crate::lookup::wrong_mode(
            &session.id,
            session.mode,
            Mode::Tree,
        ));
    }
    Ok(session)
}
