//! The gate criteria that code can check, one file each.

pub(crate) mod citation;
pub(crate) mod description;
pub(crate) mod json_schema;
pub(crate) mod methodology;
pub(crate) mod pattern;
