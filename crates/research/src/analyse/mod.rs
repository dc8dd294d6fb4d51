//! Looking at papers side by side: what they share, who cites whom and where, what they say about
//! the same thing. All of it is found in texts and sources; nothing is made up by a model.

mod contexts;
mod cues;
mod gathered;
mod markers;
mod network;
mod sentences;

pub(crate) use contexts::Wanted;
pub use contexts::{Context, contexts};
pub(crate) use cues::placeless;
pub use cues::{Facet, Insight, insights};
pub use gathered::{Gathered, gather};
pub(crate) use network::id_of;
pub use network::{Network, NetworkEdge, NetworkNode, network};
