//! The collection: what is kept of each article, how it is found by exactly what it is called, its
//! text, and the index over all texts.
//!
//! An article is an item of kind `article`; its text, if there is one, is an item of kind `text`
//! with the same id, whose parts are the pages. Whoever wants either goes through [`Library`]. The
//! index is derived from them and is kept in step by `keeper`; whoever searches goes through
//! [`crate::Lab::retrieve`].

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

pub use fence::{DATA_NOT_ORDERS, fenced, harmless};
pub(crate) use filter::{date_of, tag_key};
pub(crate) use find::{BY_MEANING_ALONE, MOST_PASSAGES, told as index_told};
pub(crate) use keeper::Keeper;
pub use kept::{ARTICLE, Category, Kept, KeptFile, Provenance, Version, author_key, title_key};
pub(crate) use kinds::kind_named;
pub use library::Library;
pub use order::OrderBy;
pub(crate) use order::keep_fitting;
pub use retrieval::{ArticleFilter, FoundPassage, Retrieval, Retrieved, Scope, mode_name};
pub use text::{Outline, Place, TEXT, Text, abstract_of};
