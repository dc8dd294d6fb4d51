//! What the parts of a text are: headings, captions, the bibliography and identifiers. It
//! knows the habits of papers, not file formats.

mod captions;
mod entry;
mod headings;
mod identify;
mod names;
mod references;
mod title;

pub(crate) use captions::caption_start;
pub(crate) use headings::{Mark, kinds};
pub(crate) use identify::{find_arxiv, find_doi, own_ids};
pub(crate) use names::{is_references, known_name};
pub(crate) use references::{EntryLine, entries, entry_lines};
pub(crate) use title::title_lines;

pub use entry::parse_reference;
pub use references::split_references;
