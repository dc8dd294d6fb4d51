//! The tree mode: several approaches side by side, each a branch that can be continued, closed and
//! reopened.

mod build_branches;
mod complete;
mod definition;
mod explore;
mod focus;
mod list;
mod model_output;
mod progress;
mod recommend;

pub(crate) use complete::TreeComplete;
pub(crate) use definition::MODE;
pub(crate) use explore::TreeExplore;
pub(crate) use explore::{ExploreRequest, explore};
pub(crate) use focus::TreeFocus;
pub(crate) use list::TreeList;
