//! What the parts of a text are: headings, captions, the bibliography and identifiers. It
//! knows the habits of papers, not file formats.

mod captions;
mod entry;
mod headings;
mod identify;
mod names;
mod references;
mod title;

pub(crate) use captions::parse_caption_start;
pub(crate) use headings::{PdfOutlineEntry, classify_lines};
pub(crate) use identify::{find_arxiv, find_doi, find_own_ids};
pub(crate) use names::{is_known_section, is_references};
pub(crate) use references::{EntryLine, parse_entries, split_entry_lines};
pub(crate) use title::find_title_lines;

pub use entry::parse_reference;
pub use references::split_references;
