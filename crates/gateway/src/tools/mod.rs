//! The tools of the gateway: search, call, and the exposed tools of upstream servers.

mod call;
mod call_report;
mod exposed_tools;
mod search;

pub use call::GatewayCall;
pub use exposed_tools::ExposedTools;
pub use search::GatewaySearch;

pub(crate) const CALL_TOOL: &str = "gateway_call";
pub(crate) const SEARCH_TOOL: &str = "gateway_search";
