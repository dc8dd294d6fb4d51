//! Reads bibliography files. A problem costs its entry or its field and is reported with its line;
//! the rest is read. The input is not trusted.

mod bibtex;
mod bibtex_record;
mod csl_json;
mod latex;
mod names;
mod ris;

pub use bibtex_record::read_bibtex;
pub use csl_json::read_csl_json;
pub(crate) use names::is_organization;
pub use ris::read_ris;

use deliberate_core::{Article, ArxivId, Doi};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text_normalization;
use crate::write::RETRACTED;

/// Limit for the length of a text.
pub const MAX_INPUT_BYTES: usize = 16_000_000;
const MAX_RECORDS: usize = 20_000;
/// Limit for the value of a field; abstracts have about 2,000 bytes.
const MAX_VALUE_BYTES: usize = 100_000;
/// Limit for reported problems.
const MAX_PROBLEMS: usize = 200;
/// More authors than any work has; the longest list has about 5,000.
const MAX_AUTHORS: usize = 10_000;

/// A record of a bibliography.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BibRecord {
    /// The citation key in the file; empty if there is none.
    pub key: String,
    pub article: Article,
}

/// A problem in a bibliography file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadProblem {
    /// From 1.
    pub line: usize,
    pub what: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BibliographyFormat {
    /// BibTeX and BibLaTeX.
    Bibtex,
    Ris,
    CslJson,
}

type ReadResult = (Vec<BibRecord>, Vec<ReadProblem>);

/// Detects the format of a text.
pub fn detect_format(text: &str) -> Option<BibliographyFormat> {
    let text = text.trim_start_matches('\u{FEFF}').trim_start();
    if text.starts_with(['[', '{']) {
        return Some(BibliographyFormat::CslJson);
    }
    let first_ris = text
        .lines()
        .take(1_000)
        .any(|it| ris::parse_tag(it).is_some_and(|it| it.0 == "TY"));
    if first_ris {
        return Some(BibliographyFormat::Ris);
    }
    bibtex::has_entry(text).then_some(BibliographyFormat::Bibtex)
}

/// Detects the format of a bibliography and reads it.
pub fn read_any(text: &str) -> ReadResult {
    match detect_format(text) {
        Some(BibliographyFormat::Bibtex) => read_bibtex(text),
        Some(BibliographyFormat::Ris) => read_ris(text),
        Some(BibliographyFormat::CslJson) => read_csl_json(text),
        None => (
            Vec::new(),
            vec![ReadProblem {
                line: 1,
                what: "this is neither BibTeX nor RIS nor CSL-JSON; give one of those".to_owned(),
            }],
        ),
    }
}

/// Collects records and problems within their limits.
#[derive(Default)]
struct RecordCollector {
    records: Vec<BibRecord>,
    problems: Vec<ReadProblem>,
}

impl RecordCollector {
    fn add_problem(&mut self, line: usize, what: impl Into<String>) {
        // One more, which says that there are too many.
        if self.problems.len() <= MAX_PROBLEMS {
            self.problems.push(ReadProblem {
                line,
                what: what.into(),
            });
        }
    }

    /// Adds a record; false when the limit is reached.
    fn add_record(&mut self, line: usize, key: &str, article: Article) -> bool {
        if self.records.len() >= MAX_RECORDS {
            self.add_problem(
                line,
                format!("there are more than {MAX_RECORDS} records; the rest is left out"),
            );
            return false;
        }
        let key = text_normalization::single_line(key);
        if article.title.is_empty() {
            self.add_problem(
                line,
                format!(
                    "the entry {:?} has no title",
                    deliberate_core::truncate_chars(&key, 60)
                ),
            );
        }
        self.records.push(BibRecord { key, article });
        true
    }

    fn finish(self) -> ReadResult {
        (self.records, self.problems)
    }
}

/// Truncates a text that is too long and reports it.
fn limit_input<'a>(text: &'a str, collector: &mut RecordCollector) -> &'a str {
    if text.len() <= MAX_INPUT_BYTES {
        return text;
    }
    collector.add_problem(
        1,
        format!("the text is longer than {MAX_INPUT_BYTES} bytes; the rest is left out"),
    );
    truncate_bytes(text, MAX_INPUT_BYTES)
}

/// Truncates a text to `bytes` at a character boundary.
fn truncate_bytes(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes))
        .unwrap_or_default()
}

/// Normalizes the dash of a page range to one hyphen.
fn pages(text: &str) -> Option<String> {
    let text = text_normalization::non_empty_line(text)?;
    let mut out = String::with_capacity(text.len());
    for it in text.chars() {
        let it = if matches!(it, '‐' | '‑' | '–' | '—') {
            '-'
        } else {
            it
        };
        if !(it == '-' && out.ends_with('-')) {
            out.push(it);
        }
    }
    Some(out)
}

/// Whether a note says that the work was retracted.
fn is_retraction_note(note: &str) -> Option<bool> {
    note.trim().eq_ignore_ascii_case(RETRACTED).then_some(true)
}

/// Fills in identifiers that are part of the URL or the DOI.
fn complete_identifiers(article: &mut Article) {
    let url = article.url.clone().unwrap_or_default();
    if article.arxiv_id.is_none() {
        let by_doi = article.doi.as_ref().and_then(Doi::arxiv_id);
        let by_url = || {
            url.contains("arxiv.org/")
                .then(|| ArxivId::parse(&url))
                .flatten()
        };
        article.arxiv_id = by_doi.or_else(by_url);
    }
    if article.doi.is_none() && url.contains("doi.org/") {
        article.doi = Doi::parse(&url);
    }
}
