//! The collection: what is kept of each article, how it is found by exactly what it is called, its
//! text, and the index over all texts.
//!
//! An article is an item of kind `article`; its text, if there is one, is an item of kind `text`
//! with the same id, whose parts are the pages. Whoever wants either goes through [`ArticleRepository`]. The
//! index is derived from them and is kept in step by `keeper`; whoever searches goes through
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
