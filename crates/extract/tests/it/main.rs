//! What the crate promises, through its public face.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that meets something unexpected fails, in helpers too"
)]

mod document_metadata;
mod extractor_pool;
mod formats;
mod hostile;
mod papers;
mod pdf_builder;
mod properties;
