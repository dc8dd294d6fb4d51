//! Documents to text.
//!
//! A PDF, a web page, a Markdown or plain file, a DOCX or an EPUB goes in; a [`ExtractedDocument`] comes
//! out: its pages in reading order, its headings and captions with the place where each stands,
//! its bibliography in entries, and what it says of itself. Every file is hostile until read:
//! size, pages, text, time and memory have bounds ([`ExtractLimits`]), a panic of a parser is an error,
//! and the [`ExtractorPool`] does the work in a child process that can be stopped.
//!
//! The crate knows nothing of articles, stores, tools or networks.

mod child_process;
mod document;
mod document_file;
mod error;
mod extract;
mod extractor_pool;
mod format;
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "places on a page are small numbers, and such a cast saturates"
)]
mod layout;
mod limits;
mod markup;
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::many_single_char_names,
    reason = "numbers of a PDF are checked where they are used, such a cast saturates, and a matrix has the letters its standard gives it"
)]
mod pdf;
#[allow(
    clippy::cast_possible_truncation,
    reason = "sizes of type are small numbers, and such a cast saturates"
)]
mod structure;

pub use child_process::child_main;
pub use document::{
    Caption, CaptionKind, DocumentMetadata, DocumentPage, DocumentReference, DocumentWarning,
    ExtractedDocument, Heading,
};
pub use document_file::DocumentFile;
pub use error::ExtractError;
pub use extract::extract;
pub use extractor_pool::ExtractorPool;
pub use format::DocumentFormat;
pub use limits::ExtractLimits;
pub use structure::{parse_reference, split_references};
