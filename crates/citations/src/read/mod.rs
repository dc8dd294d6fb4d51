//! Bibliography files to records. A fault costs its entry, or its field, and is told with its
//! line; the rest is read. Nothing here trusts its input.

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

/// The longest text that is read, in bytes.
pub const MAX_INPUT_BYTES: usize = 16_000_000;
/// The most records taken from one text.
const MAX_RECORDS: usize = 20_000;
/// The longest value of a field, in bytes; abstracts have about 2,000.
const MAX_VALUE_BYTES: usize = 100_000;
/// The most faults told of.
const MAX_PROBLEMS: usize = 200;
/// More authors than any work has; the longest list has some 5,000.
const MAX_AUTHORS: usize = 10_000;

/// A record of a bibliography.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BibRecord {
    /// The key it has there; empty if it has none.
    pub key: String,
    /// The work.
    pub article: Article,
}

/// A fault in a bibliography.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadProblem {
    /// The line it is on, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

/// A format of bibliographies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BibliographyFormat {
    /// BibTeX and BibLaTeX.
    Bibtex,
    /// RIS.
    Ris,
    /// CSL-JSON.
    CslJson,
}

/// What was read, and what could not be.
type ReadResult = (Vec<BibRecord>, Vec<ReadProblem>);

/// Which format a text is in, by what it looks like.
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

/// Reads a bibliography in whichever format it is.
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

/// What is gathered while reading, within its bounds.
#[derive(Default)]
struct RecordCollector {
    records: Vec<BibRecord>,
    problems: Vec<ReadProblem>,
}

impl RecordCollector {
    fn add_problem(&mut self, line: usize, what: impl Into<String>) {
        // One more, to say that there are too many.
        if self.problems.len() <= MAX_PROBLEMS {
            self.problems.push(ReadProblem {
                line,
                what: what.into(),
            });
        }
    }

    /// Takes a record; false when there is room for no more.
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

/// The beginning of a text that is too long, and a word on it.
fn limit_input<'a>(text: &'a str, gathered: &mut RecordCollector) -> &'a str {
    if text.len() <= MAX_INPUT_BYTES {
        return text;
    }
    gathered.add_problem(
        1,
        format!("the text is longer than {MAX_INPUT_BYTES} bytes; what is behind that is left out"),
    );
    truncate_bytes(text, MAX_INPUT_BYTES)
}

/// At most so many bytes of a text, never part of a character.
fn truncate_bytes(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Pages with one hyphen, however they were joined.
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

/// Identifiers that stand in the address or the DOI of a work.
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
