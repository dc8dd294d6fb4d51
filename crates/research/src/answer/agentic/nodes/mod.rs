//! The nodes of the agentic answer graph, one file each.

pub(crate) mod assess;
pub(crate) mod classify;
pub(crate) mod decompose;
pub(crate) mod expand;
pub(crate) mod filters;
pub(crate) mod generate;
pub(crate) mod grade;
pub(crate) mod refine;
pub(crate) mod rerank;
pub(crate) mod retrieve;
pub(crate) mod rewrite;
pub(crate) mod verify;
