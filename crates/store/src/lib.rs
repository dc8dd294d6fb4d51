//! What is remembered.
//!
//! [`Store`] is the one trait: bounded reads of every kind of thing, and a single way to write,
//! [`Store::commit`], which makes all changes of a call true at once with the call's record.
//! [`sqlite`] keeps it in one file. The crate knows the domain types of `deliberate-core` and
//! nothing of tools, models or protocols.

mod documents;
mod error;
mod store;

#[cfg(feature = "sqlite")]
pub mod sqlite;

pub use documents::{DocumentChange, DocumentFilter, DocumentOrder, Documents, KeyMatch};
pub use error::StoreError;
pub use store::{
    BacktrackPreview, BranchEntry, ChainRunFilter, EntityCounts, EpochFilter, Pagination,
    SearchEntity, SearchHit, SearchQuery, SessionEntry, Store, StoreFuture, StoreInfo, ToolUsage,
};
