//! Several approaches side by side, each a branch that can be followed, closed and reopened.

mod answer;
mod complete;
mod explore;
mod focus;
mod grow;
mod list;

pub use complete::TreeComplete;
pub use explore::Tree;
pub(crate) use explore::{Explore, explore};
pub use focus::TreeFocus;
pub use list::TreeList;

use deliberate_core::{Mode, Session, SessionId};
use deliberate_store::{Page, Which};
use deliberate_toolkit::{Call, ToolError};

use crate::session::{WorksOn, known};

/// The session of that id, if it has branches: every tree, and any other session in which a
/// backtrack opened one.
async fn with_branches(id: &SessionId, call: &Call) -> Result<Session, ToolError> {
    let session = known(id, WorksOn::Any, call).await?;
    if session.mode == Mode::Tree {
        return Ok(session);
    }
    let one = Page::first(1);
    let branches = call.store().branches(id, Which::Current, one).await?;
    if branches.is_empty() {
        return Err(ToolError::WrongMode {
            id: session.id.to_string(),
            mode: session.mode,
            wanted: Mode::Tree,
        });
    }
    Ok(session)
}
