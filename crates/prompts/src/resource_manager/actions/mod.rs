//! The actions of `resource_manager`, one file each.

pub(crate) mod analyze;
pub(crate) mod chain_steps;
pub(crate) mod checkpoint;
pub(crate) mod delete;
pub(crate) mod inspect;
pub(crate) mod list;
pub(crate) mod versions;
pub(crate) mod write;
