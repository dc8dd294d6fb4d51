//! Looking at papers side by side: what they share, who cites whom and where, what they say about
//! the same thing. All of it is found in texts and sources; nothing is made up by a model.

mod contexts;
mod cues;
mod gathered;
mod markers;
mod named;
mod network;
mod numbers;
mod sentences;

pub(crate) use contexts::Wanted;
pub use contexts::{Cited, Context, contexts};
pub(crate) use cues::placeless;
pub use cues::{Facet, Insight, insights};
pub use gathered::{Gathered, gather};
pub(crate) use network::id_of;
pub use network::{Network, NetworkEdge, NetworkNode, network};

use deliberate_toolkit::ToolError;

/// Looks at texts away from the threads that answer calls: they may be long.
pub(crate) async fn aside<T: Send + 'static>(
    looking: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    let looked = tokio::task::spawn_blocking(looking).await;
    looked.map_err(|_| ToolError::Internal)
}
