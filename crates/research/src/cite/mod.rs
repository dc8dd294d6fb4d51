//! Bibliographies: which works are meant, whether they exist and are what is said of them, and what
//! became of them since.

mod check;
mod choose;
mod duplicates;
mod near;
mod taken_back;

pub use check::{Checked, CitationStatus, check};
pub(crate) use choose::{Chosen, choose, choose_all};
pub(crate) use duplicates::{duplicates, repeated_keys};
