//! Providers that are down, refuse, limit, babble or lie, over every wire.

mod failures;
mod langbase;
mod model_tool_cases;
mod modes;
mod secrets;
mod structured_output;
