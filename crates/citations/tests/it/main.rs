//! What the crate does, seen from outside.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may fail by panicking"
)]

mod given;
mod keys;
mod laws;
mod own_styles;
mod reading;
mod references;
mod same;
mod styles;
mod writing;
