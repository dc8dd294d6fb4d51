//! Formats with their own structure or none: web pages, Markdown, plain text, and the zipped XML of
//! office documents and electronic books.

mod charset;
mod document_builder;
mod entities;
mod front_matter;
mod html;
mod markdown;
pub(crate) mod office;
mod plain_text;

pub use entities::{decode_entities, decode_entity};
pub(crate) use html::read_html;
pub(crate) use markdown::read_markdown;
pub(crate) use office::{docx::read_docx, epub::read_epub};
pub(crate) use plain_text::{document_from_pages, read_plain_text};
