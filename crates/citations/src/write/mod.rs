//! Writes records as bibliography files. Control characters and line breaks are removed from
//! values first, so no value can end a field, a line or a record.

mod bibtex;
mod bibtex_case_protection;
mod csl_json;
mod csv;
mod endnote;
mod ris;

pub(crate) use bibtex::MONTHS;
pub use bibtex::to_bibtex;
pub use csl_json::to_csl_json;
pub use csv::to_csv;
pub use endnote::to_endnote;
pub use ris::to_ris;

use deliberate_core::{Article, Author};

use super::text_normalization;

/// The note of a retracted work.
pub(crate) const RETRACTED: &str = "Retracted";

/// Splits pages into first and last, if they are a range: `12-34`, `S1–S9`.
fn page_range(pages: &str) -> Option<(String, String)> {
    let is_dash = |it: char| matches!(it, '-' | '‐' | '‑' | '–' | '—');
    let mut parts = pages
        .split(is_dash)
        .map(str::trim)
        .filter(|it| !it.is_empty());
    let (first, last) = (parts.next()?, parts.next()?);
    let plain = |it: &str| {
        it.chars()
            .all(|it| it.is_ascii_alphanumeric() || it == '.' || it == ':')
    };
    let is_range = parts.next().is_none() && plain(first) && plain(last);
    is_range.then(|| (first.to_owned(), last.to_owned()))
}

/// Authors with a non-empty name, cleaned.
fn authors(article: &Article) -> impl Iterator<Item = Author> {
    article.authors.iter().filter_map(|author| {
        Some(Author {
            family: text_normalization::non_empty_line(&author.family)?,
            given: text_normalization::optional_line(author.given.as_ref()),
            organisation: author.organisation,
            orcid: None,
        })
    })
}

/// `Family, Given` for formats in which a comma separates the two. `EndNote` and readers of its
/// formats take a name that ends in a comma for an organization.
fn comma_name(author: &Author) -> String {
    let plain = |it: &str| text_normalization::single_line(&it.replace(',', " "));
    if author.organisation {
        return format!("{},", author.family.trim_end_matches([',', ' ']));
    }
    match &author.given {
        Some(given) => format!(
            "{}, {}",
            plain(&author.family),
            text_normalization::single_line(given.trim_matches([',', ' ']))
        ),
        None => plain(&author.family),
    }
}
