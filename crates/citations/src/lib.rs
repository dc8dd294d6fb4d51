//! Records of works to citations and bibliography files, and back: styles of the Citation Style
//! Language, BibTeX, RIS, `EndNote`, CSL-JSON and CSV; printed references to records; and whether
//! two records are the same work.
//!
//! Text in, text out. Knows nothing of files, the web, stores or tools.

mod clean;
mod csl_item;
mod format;
mod identity;
mod key;
mod markup;
mod merge;
mod missing;
mod read;
mod reference;
pub mod same;
mod style;
mod style_guard;
mod style_repair;
mod suffix;
mod tidy;
mod write;

use deliberate_core::Article;

pub use clean::fold_text;
pub use format::{
    CitationError, FormatOptions, FormattedBibliography, FormattedEntry, MAX_ENTRIES, format,
};
pub use identity::{MergeKey, is_same_work, merge_key, merge_keys};
pub use key::{citation_key, citation_keys};
pub use markup::OutputFormat;
pub use merge::{merge, merge_all};
pub use missing::{MissingField, missing_fields};
pub use read::{
    BibRecord, BibliographyFormat, MAX_INPUT_BYTES, ReadProblem, detect_format, read_any,
    read_bibtex, read_csl_json, read_ris,
};
pub use reference::read_reference;
pub use style::{CitationStyle, StyleError, UnknownStyle};
pub use write::{to_bibtex, to_csl_json, to_csv, to_endnote, to_ris};

/// A work to cite, with the key it is known by, if it has one already.
#[derive(Debug, Clone, Copy)]
pub struct BibliographyEntry<'a> {
    /// The citation key; one is made where there is none.
    pub key: Option<&'a str>,
    /// The work.
    pub article: &'a Article,
}

impl<'a> From<&'a Article> for BibliographyEntry<'a> {
    fn from(article: &'a Article) -> Self {
        Self { key: None, article }
    }
}
