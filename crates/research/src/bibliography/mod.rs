//! Bibliographies: which works are meant, whether they exist and are what is said of them, and what
//! became of them since.

mod check;
mod choose;
mod duplicates;
mod near;
mod taken_back;

pub use check::{CitationCheck, CitationStatus, check_citation};
pub(crate) use choose::{SelectedArticles, select_all, select_articles};
pub(crate) use duplicates::{duplicate_keys, find_duplicates};
