//! Tests of the store: the contract of every backend, and the behavior specific to each.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

#[macro_use]
mod contract;
mod samples;

#[cfg(feature = "sqlite")]
mod damage;
#[cfg(feature = "sqlite")]
mod import;
#[cfg(feature = "sqlite")]
mod legacy_database;
#[cfg(feature = "sqlite")]
mod log_retention;
#[cfg(feature = "sqlite")]
mod migration;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(feature = "sqlite")]
mod tables;

#[cfg(feature = "sqlite")]
store_contract!(on_sqlite, crate::sqlite::fixture);
