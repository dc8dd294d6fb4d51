//! Caches of the engine: plans, recent library changes, call traces.

pub(crate) mod call_traces;
pub(crate) mod library_change_log;
pub(crate) mod plan_cache;
