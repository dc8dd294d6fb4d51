//! Citation styles in CSL: loading, repairing, safety limits, formatting.

pub mod format;
pub(crate) mod item;
pub(crate) mod output_markup;
pub(crate) mod punctuation_cleanup;
pub(crate) mod style;
pub(crate) mod style_repair;
pub(crate) mod style_safety;
