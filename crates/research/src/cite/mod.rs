//! Bibliographies: which works are meant, whether they exist and are what is said of them, and what
//! became of them since.

mod check;
mod choose;

pub use check::{Checked, CitationStatus, check};
pub(crate) use choose::{Chosen, choose};
