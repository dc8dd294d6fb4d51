//! What the crate does, seen from outside.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test may fail by panicking"
)]

mod keys;
mod own_styles;
mod properties;
mod reading;
mod references;
mod same_work;
mod sample_articles;
mod styles;
mod writing;
