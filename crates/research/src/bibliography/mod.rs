//! Bibliographies: selection of articles, verification of citations, duplicates, and retractions.

mod article_selection;
mod duplicates;
mod near_match;
mod retraction_titles;
mod verification;

pub(crate) use article_selection::{SelectedArticles, select_all, select_articles};
pub(crate) use duplicates::{duplicate_keys, find_duplicates};
pub use verification::{CitationCheck, CitationStatus, check_citation};
