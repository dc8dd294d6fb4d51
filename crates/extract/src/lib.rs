#![doc = include_str!("../README.md")]

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
mod sandbox;
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
pub use markup::{decode_entities, decode_entity};
pub use structure::{parse_reference, split_references};
