//! Tools for knowledge collections: named groups of documents.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod move_paper;
pub(crate) mod search;
pub(crate) mod upload;
