//! Tests of providers that are down, reject, limit or return nonsense, over every protocol.

mod failures;
mod langbase;
mod model_tool_cases;
mod modes;
mod secrets;
mod structured_output;
