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

pub(crate) use docx::docx;
pub(crate) use entities::unescaped;
pub(crate) use epub::epub;
pub(crate) use html::html;
pub(crate) use markdown::markdown;
pub(crate) use plain::{plain_pages, text};
