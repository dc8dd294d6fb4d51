//! Tools for custom indexes: named sets of articles that are searched alone.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod search;
