//! Maintenance of the database file: its condition, integrity checks, backups, and the removal of
//! old operational records.

mod backup;
mod condition;
mod integrity;
mod log_retention;

/// The value of `PRAGMA auto_vacuum` for a file that can be vacuumed in steps.
const INCREMENTAL_VACUUM: i64 = 2;

pub use log_retention::{LogPruning, LogRetention};

pub(super) use condition::DatabaseCondition;
