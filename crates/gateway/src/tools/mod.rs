//! The gateway as tools: one finds, one calls, and those of other servers that are shown beside
//! ours.

mod call;
mod guests;
mod search;

pub use call::GatewayCall;
pub use guests::GatewayGuests;
pub use search::GatewaySearch;

/// The name of the tool that calls.
pub(crate) const CALL: &str = "gateway_call";
/// The name of the tool that finds.
pub(crate) const SEARCH: &str = "gateway_search";
