//! Tests of the program as clients, shells and crashes see it: every test starts the real binary.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

#[cfg(target_os = "linux")]
mod certificates;
mod command;
mod concurrent_processes;
mod crash;
mod crash_modes;
mod external_tools;
#[cfg(target_os = "linux")]
mod file_limit;
mod http_access;
mod http_service;
mod logs;
mod protocol;
mod provider;
mod sessions;
mod storage;
mod stress;
mod support;
