//! Tools for custom indexes: saved topics whose articles are searched alone.

pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod search;
