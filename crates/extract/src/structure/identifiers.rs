//! Finds identifiers by their form: DOI, arXiv id, URL, year.

use std::sync::LazyLock;

use regex::Regex;

use super::is_references;
use crate::{DocumentPage, ExtractedDocument};

static DOI_PATTERN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"\b10\.\d{4,9}/[^\s"<>{}|\\^`\[\]]+"#).ok());
static ARXIV_PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:arxiv(?:\.org)?[:\s./]*(?:abs/|pdf/)?(?:preprint\s+)?(?:arxiv:)?\s*)(\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})").ok()
});
static URL_PATTERN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?i)\bhttps?://[^\s<>"{}|\\^`]+"#).ok());
static YEAR_PATTERN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"\b(1[5-9]\d\d|20\d\d)([a-z]?)\b").ok());

/// The first DOI in a text, in lower case.
pub(crate) fn find_doi(text: &str) -> Option<String> {
    let found = DOI_PATTERN.as_ref()?.find(text)?.as_str();
    let found = trim_identifier(found);
    (found.len() > 8).then(|| found.to_lowercase())
}

/// The first arXiv identifier in a text, without its version.
pub(crate) fn find_arxiv(text: &str) -> Option<String> {
    let found = ARXIV_PATTERN.as_ref()?.captures(text)?.get(1)?;
    Some(found.as_str().to_owned())
}

/// The characters in which a document's own identifiers are looked for.
const TOP_CHARS: usize = 6_000;

/// The DOI and arXiv id that a document gives as its own on its first pages; not those of works it
/// cites, which would give it another's identity.
pub(crate) fn find_own_ids(
    document: &ExtractedDocument,
    pages: usize,
) -> (Option<String>, Option<String>) {
    let top = front_text(document, pages);
    let cited = |id: &String| {
        let mut entries = document.references.iter();
        entries.any(|it| it.doi.as_ref() == Some(id) || it.arxiv_id.as_ref() == Some(id))
    };
    let own = |it: &String| !cited(it);
    (find_doi(&top).filter(own), find_arxiv(&top).filter(own))
}

/// The text before the bibliography, without entries of one that has no heading.
fn front_text(document: &ExtractedDocument, pages: usize) -> String {
    let list = document
        .headings
        .iter()
        .find(|heading| is_references(&heading.title));
    let before = |page: &DocumentPage| match list {
        Some(heading) if heading.page == page.number => heading.offset as usize,
        Some(heading) if heading.page < page.number => 0,
        _ => usize::MAX,
    };
    let pages = document.pages.iter().take(pages);
    let text: String = pages
        .flat_map(|page| page.text.chars().take(before(page)).chain(['\n']))
        .take(TOP_CHARS)
        .collect();
    let is_entry = |line: &&str| {
        let rest = line.trim_start().trim_start_matches('[');
        let digits = rest.len()
            - rest
                .trim_start_matches(|it: char| it.is_ascii_digit())
                .len();
        (1..=3).contains(&digits)
            && rest
                .get(digits..)
                .is_some_and(|it| it.starts_with([']', '.']))
    };
    let lines: Vec<&str> = text.lines().filter(|it| !is_entry(it)).collect();
    lines.join("\n")
}

/// The first URL that is not a DOI's.
pub(super) fn find_url(text: &str) -> Option<String> {
    URL_PATTERN
        .as_ref()?
        .find_iter(text)
        .map(|found| trim_identifier(found.as_str()))
        .find(|url| !url.contains("doi.org/"))
        .map(str::to_owned)
}

/// Removes trailing punctuation; a closing bracket belongs to a URL only with its pair.
fn trim_identifier(found: &str) -> &str {
    let mut found = found.trim_end_matches(['.', ',', ';', ':', '\'', '"', '\u{201d}', '\u{2019}']);
    let count = |bracket| found.matches(bracket).count();
    let mut unpaired = count(')').saturating_sub(count('('));
    while let Some(rest) = found.strip_suffix(')').filter(|_| unpaired > 0) {
        unpaired -= 1;
        found = rest.trim_end_matches(['.', ',', ';']);
    }
    found.trim_end_matches(']')
}

/// Every year in a text with its offset.
pub(super) fn find_years(text: &str) -> Vec<(usize, i32)> {
    let Some(year) = YEAR_PATTERN.as_ref() else {
        return Vec::new();
    };
    year.captures_iter(text)
        .filter_map(|found| {
            let digits = found.get(1)?;
            Some((digits.start(), digits.as_str().parse().ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_end_where_they_should() {
        assert_eq!(
            find_doi("see https://doi.org/10.1000/XYZ(12).").as_deref(),
            Some("10.1000/xyz(12)")
        );
        assert_eq!(
            find_doi("(doi:10.1145/3411764.3445000)").as_deref(),
            Some("10.1145/3411764.3445000")
        );
        assert_eq!(find_doi("version 10.2 of it"), None);
        assert_eq!(
            find_arxiv("arXiv:1706.03762v5 [cs.CL]").as_deref(),
            Some("1706.03762")
        );
        assert_eq!(
            find_arxiv("arXiv preprint arXiv:2005.14165").as_deref(),
            Some("2005.14165")
        );
        assert_eq!(
            find_arxiv("https://arxiv.org/abs/hep-th/9901001").as_deref(),
            Some("hep-th/9901001")
        );
        assert_eq!(find_arxiv("pages 1706.03762"), None);
        assert_eq!(
            find_url("at https://example.org/a_b.html.").as_deref(),
            Some("https://example.org/a_b.html")
        );
        assert_eq!(find_url("https://doi.org/10.1/x"), None);
    }
}
