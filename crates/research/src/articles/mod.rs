//! The collection: the records of articles, their full texts, and lookup by exact identifiers.
//!
//! An article is a document of kind `article`; its full text is a document of kind `text` with the
//! same ID, whose parts are the pages. Both are read through [`ArticleRepository`]. The index is
//! derived from them and kept current by `index_sync`; searches go through
//! [`super::ResearchServices::retrieve`].

pub mod collections;
mod full_text;
pub(crate) mod in_document_search;
mod record;
pub(crate) mod references_section;
pub(crate) mod repository;
pub(crate) mod sections;
pub(crate) mod work_kind;

pub use full_text::{FULL_TEXT, FullText, Outline, TextSpan, abstract_text};
pub use record::{
    ARTICLE, ArticleCategory, ArticleFile, ArticleRecord, Provenance, VersionedArticle, author_key,
    title_key,
};
pub use repository::ArticleRepository;
pub(crate) use work_kind::parse_work_kind;
