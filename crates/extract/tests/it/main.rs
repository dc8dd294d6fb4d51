//! What the crate promises, through its public face.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod formats;
mod hostile;
mod laws;
mod maker;
mod papers;
mod records;
mod workshop;
