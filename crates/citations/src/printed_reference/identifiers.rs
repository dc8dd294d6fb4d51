//! Removes identifiers and URLs from a printed reference before the rest is parsed.

use deliberate_core::{ArxivId, Doi};

use super::patterns::{ARXIV, DOI, LazyPattern, PMID, URL, captures};

#[derive(Default)]
pub(super) struct Identifiers {
    pub(super) doi: Option<Doi>,
    pub(super) arxiv_id: Option<ArxivId>,
    pub(super) pmid: Option<String>,
    pub(super) url: Option<String>,
}

impl Identifiers {
    /// Returns the identifiers and the text without them.
    pub(super) fn extract(text: &str) -> (Self, String) {
        let mut ids = Self::default();
        let (arxiv, text) = extract_match(&ARXIV, text);
        ids.arxiv_id = arxiv.as_deref().and_then(ArxivId::parse);
        let (doi, text) = extract_match(&DOI, &text);
        ids.doi = doi.as_deref().and_then(Doi::parse);
        let (pmid, text) = extract_match(&PMID, &text);
        ids.pmid = pmid;
        let (url, text) = extract_match(&URL, &text);
        ids.url = url;
        if ids.arxiv_id.is_none() {
            ids.arxiv_id = ids.doi.as_ref().and_then(Doi::arxiv_id);
        }
        (ids, text)
    }
}

/// Returns the first match without trailing punctuation, and the text around it.
fn extract_match(pattern: &LazyPattern, text: &str) -> (Option<String>, String) {
    let found = captures(pattern, text);
    let Some((whole, value)) = found.as_ref().and_then(|it| it.get(0).zip(it.get(1))) else {
        return (None, text.to_owned());
    };
    let value_text = trim_brackets(value.as_str());
    // Trailing punctuation belongs to the sentence.
    let end = if whole.end() == value.end() {
        value.start() + value_text.len()
    } else {
        whole.end()
    };
    let before = text.get(..whole.start()).unwrap_or_default();
    let after = text.get(end..).unwrap_or_default();
    (Some(value_text.to_owned()), format!("{before}{after}"))
}

/// A closing bracket belongs to the identifier only if it was opened inside it.
fn trim_brackets(text: &str) -> &str {
    let mut text = text.trim_end_matches(['.', ',', ';', ':', '\'', '’']);
    while let Some(inner) = text.strip_suffix([')', ']']) {
        let opened = text.matches(['(', '[']).count();
        if opened >= text.matches([')', ']']).count() {
            break;
        }
        text = inner.trim_end_matches(['.', ',', ';', ':']);
    }
    text
}
