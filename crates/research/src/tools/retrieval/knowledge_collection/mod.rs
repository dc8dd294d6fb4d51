//! Tools for knowledge collections: named sets of articles and documents.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod move_paper;
pub(crate) mod search;
pub(crate) mod upload;
