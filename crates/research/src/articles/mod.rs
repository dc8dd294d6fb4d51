//! The collection: what is kept of each article, how it is found by exactly what it is called, its
//! text, and the index over all texts.
//!
//! An article is an item of kind `article`; its text, if there is one, is an item of kind `text`
//! with the same id, whose parts are the pages. Whoever wants either goes through [`ArticleRepository`]. The
//! index is derived from them and is kept in step by `keeper`; whoever searches goes through
//! [`crate::ResearchServices::retrieve`].

mod about;
mod behind;
mod beside;
pub(crate) mod bibliography;
pub(crate) mod enrich;
mod eyes;
pub mod fence;
pub(crate) mod files;
mod filter;
mod find;
mod found;
pub mod groups;
mod indexed;
pub(crate) mod ingest;
pub(crate) mod inside;
pub(crate) mod job;
mod keeper;
mod kept;
mod kinds;
mod known;
mod library;
pub(crate) mod obtain;
mod opened;
mod order;
mod rerank;
mod retrieval;
pub(crate) mod sections;
pub(crate) mod sweep;
mod taken;
mod text;
mod unchanged;
pub(crate) mod walk;
pub(crate) mod watch;
mod watched;

pub use fence::{UNTRUSTED_DATA_NOTICE, escape_passage_tags, fence_passage};
pub(crate) use filter::{parse_date_argument, tag_key};
pub(crate) use find::{MAX_PASSAGES, VECTOR_ONLY_NOTE, index_error as index_told};
pub(crate) use keeper::IndexSynchronizer;
pub use kept::{
    ARTICLE, ArticleCategory, ArticleFile, ArticleRecord, Provenance, VersionedArticle, author_key,
    title_key,
};
pub(crate) use kinds::parse_work_kind;
pub use library::ArticleRepository;
pub use order::OrderBy;
pub(crate) use order::drop_low_scores;
pub use retrieval::{
    ArticleFilter, RetrievalQuery, RetrievalResult, RetrievalScope, RetrievedPassage, mode_name,
};
pub use text::{FULL_TEXT, FullText, Outline, TextSpan, abstract_text};
