//! Formats that carry their own structure or none: web pages, Markdown, plain text, and the
//! packed XML of word processors and electronic books.

mod archive;
mod charset;
mod docx;
mod entities;
mod epub;
mod front;
mod head;
mod html;
mod markdown;
mod plain;
mod tag;
mod writer;

pub(crate) use docx::read_docx;
pub(crate) use entities::unescape;
pub(crate) use epub::read_epub;
pub(crate) use html::read_html;
pub(crate) use markdown::read_markdown;
pub(crate) use plain::{document_from_pages, read_plain_text};
