#![doc = include_str!("../README.md")]

mod citation_key;
pub mod csl;
mod merge;
mod missing_fields;
mod name_suffix;
mod printed_reference;
mod read;
pub mod same_work;
mod text_normalization;
mod write;

use deliberate_core::Article;

pub use citation_key::{citation_key, citation_keys};
pub use csl::{
    format::{
        CitationError, FormatOptions, FormattedBibliography, FormattedEntry, MAX_ENTRIES, format,
    },
    output_markup::OutputFormat,
    style::{CitationStyle, StyleError, UnknownStyle},
};
pub use merge::{merge, merge_all};
pub use missing_fields::{MissingField, missing_fields};
pub use printed_reference::read_reference;
pub use read::{
    BibRecord, BibliographyFormat, MAX_INPUT_BYTES, ReadProblem, detect_format, read_any,
    read_bibtex, read_csl_json, read_ris,
};
pub use same_work::identifiers::{MergeKey, is_same_work, merge_keys};
pub use text_normalization::fold_text;
pub use write::{to_bibtex, to_csl_json, to_csv, to_endnote, to_ris};

/// A work to cite and its citation key, if it has one.
#[derive(Debug, Clone, Copy)]
pub struct BibliographyEntry<'a> {
    /// The citation key; generated if absent.
    pub key: Option<&'a str>,
    pub article: &'a Article,
}

impl<'a> From<&'a Article> for BibliographyEntry<'a> {
    fn from(article: &'a Article) -> Self {
        Self { key: None, article }
    }
}
