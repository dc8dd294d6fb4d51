#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod documents;
mod error;
mod search;
mod store;
mod usage;

#[cfg(feature = "sqlite")]
pub mod sqlite;

pub use documents::{DocumentChange, DocumentFilter, DocumentOrder, Documents, KeyMatch};
pub use error::StoreError;
pub use search::{SearchEntity, SearchHit, SearchKey, SearchQuery, SearchResults, WordMatch};
pub use store::{
    BacktrackPreview, BranchEntry, ChainRunFilter, EntityCounts, EpochFilter, Pagination,
    ReferenceKind, SessionEntry, Store, StoreFuture, StoreInfo,
};
pub use usage::{
    UsageFigures, UsageGroup, UsageQuery, UsageReport, UsageReports, UsageRow, UtcOffset,
};
