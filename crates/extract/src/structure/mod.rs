//! The structure of a text: headings, captions, bibliography, identifiers. Knows the conventions of
//! papers, not file formats.

mod captions;
mod heading_names;
mod headings;
mod identifiers;
mod reference_parser;
mod references;
mod title;

pub(crate) use captions::parse_caption_start;
pub(crate) use heading_names::{is_known_section, is_references};
pub(crate) use headings::{PdfOutlineEntry, classify_lines};
pub(crate) use identifiers::{find_arxiv, find_doi, find_own_ids};
pub(crate) use references::{EntryLine, parse_entries, split_entry_lines};
pub(crate) use title::find_title_lines;

pub use reference_parser::parse_reference;
pub use references::split_references;
