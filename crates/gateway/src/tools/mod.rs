//! The gateway as tools: one finds, one calls, and those of other servers that are shown beside
//! ours.

mod call;
mod exposed_tools;
mod search;

pub use call::GatewayCall;
pub use exposed_tools::ExposedTools;
pub use search::GatewaySearch;

/// The name of the tool that calls.
pub(crate) const CALL_TOOL: &str = "gateway_call";
/// The name of the tool that finds.
pub(crate) const SEARCH_TOOL: &str = "gateway_search";
