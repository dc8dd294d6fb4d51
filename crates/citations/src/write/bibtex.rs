//! Writes BibTeX for BibTeX, Biber and reference managers.

use std::fmt::Write as _;

use deliberate_core::{Article, Author, WorkKind};

use super::{RETRACTED, authors, bibtex_case_protection, page_range};
use crate::{BibliographyEntry, citation_key, name_suffix, text_normalization};

/// BibTeX's names of the months, which are written without braces.
pub(crate) const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

pub fn to_bibtex(entries: &[BibliographyEntry<'_>]) -> String {
    let keys = citation_key::citation_keys(entries);
    let written: Vec<String> = entries
        .iter()
        .zip(&keys)
        .map(|(entry, key)| write_entry(key, entry.article))
        .collect();
    written.join("\n")
}

fn write_entry(key: &str, article: &Article) -> String {
    let mut out = format!("@{}{{{key},\n", entry_type(article.kind));
    for (name, value) in fields(article) {
        let _ = writeln!(out, "  {name} = {value},");
    }
    out.push_str("}\n");
    out
}

fn entry_type(kind: WorkKind) -> &'static str {
    match kind {
        WorkKind::JournalArticle => "article",
        WorkKind::ConferencePaper => "inproceedings",
        WorkKind::Book => "book",
        WorkKind::Chapter => "incollection",
        WorkKind::Thesis => "phdthesis",
        WorkKind::Report => "techreport",
        WorkKind::Dataset => "dataset",
        WorkKind::Software => "software",
        WorkKind::WebPage => "online",
        WorkKind::Preprint | WorkKind::Document | WorkKind::Unknown => "misc",
    }
}

/// The field of the venue: the journal, the book title or the series.
fn venue_field(kind: WorkKind) -> &'static str {
    match kind {
        WorkKind::JournalArticle => "journal",
        WorkKind::ConferencePaper | WorkKind::Chapter => "booktitle",
        WorkKind::Book | WorkKind::Report => "series",
        _ => "howpublished",
    }
}

fn publisher_field(kind: WorkKind) -> &'static str {
    match kind {
        WorkKind::Thesis => "school",
        WorkKind::Report => "institution",
        _ => "publisher",
    }
}

fn fields(article: &Article) -> Vec<(&'static str, String)> {
    let text =
        |it: Option<&String>| text_normalization::optional_line(it).map(|it| braced(&escape(&it)));
    let month = article.date.and_then(|it| it.month);
    let month = month
        .and_then(|it| MONTHS.get(usize::from(it).checked_sub(1)?))
        .map(|it| (*it).to_owned());
    // The kinds that share `@misc`.
    let subtype = matches!(article.kind, WorkKind::Preprint | WorkKind::Document)
        .then(|| braced(article.kind.as_str()));
    let arxiv = article.arxiv_id.as_ref();
    let keywords: Vec<String> = article
        .keywords
        .iter()
        .filter_map(|it| text_normalization::non_empty_line(&it.replace([',', ';'], " ")))
        .collect();
    let all = [
        (
            "title",
            text_normalization::non_empty_line(&article.title)
                .map(|it| braced(&protect_title(&it))),
        ),
        ("author", author_names(article)),
        (venue_field(article.kind), text(article.venue.as_ref())),
        (
            publisher_field(article.kind),
            text(article.publisher.as_ref()),
        ),
        ("year", article.date.map(|it| braced(&it.year.to_string()))),
        ("month", month),
        (
            "day",
            article
                .date
                .and_then(|it| it.day)
                .map(|it| braced(&it.to_string())),
        ),
        ("volume", text(article.volume.as_ref())),
        ("number", text(article.issue.as_ref())),
        (
            "pages",
            text_normalization::optional_line(article.pages.as_ref()).map(|it| braced(&pages(&it))),
        ),
        ("issn", text(article.issn.as_ref())),
        ("isbn", text(article.isbn.as_ref())),
        // Every style prints URLs verbatim, escapes included.
        (
            "doi",
            article
                .doi
                .as_ref()
                .map(|it| braced(&escape_url(it.as_str()))),
        ),
        ("eprint", arxiv.map(|it| braced(it.as_str()))),
        ("archivePrefix", arxiv.map(|_| braced("arXiv"))),
        ("pmid", text(article.pmid.as_ref())),
        ("pmcid", text(article.pmcid.as_ref())),
        (
            "url",
            text_normalization::optional_line(article.url.as_ref())
                .map(|it| braced(&escape_url(&it))),
        ),
        ("language", text(article.language.as_ref())),
        ("entrysubtype", subtype),
        (
            "note",
            (article.retracted == Some(true)).then(|| braced(RETRACTED)),
        ),
        (
            "keywords",
            Some(keywords.join(", "))
                .filter(|it| !it.is_empty())
                .map(|it| braced(&escape(&it))),
        ),
        ("abstract", text(article.summary.as_ref())),
    ];
    all.into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

fn braced(text: &str) -> String {
    format!("{{{text}}}")
}

fn protect_title(title: &str) -> String {
    let piece = |(word, protected): (String, bool)| {
        if protected {
            braced(&escape(&word))
        } else {
            escape(&word)
        }
    };
    bibtex_case_protection::split_title(title)
        .into_iter()
        .map(piece)
        .collect::<Vec<_>>()
        .join(" ")
}

fn pages(pages: &str) -> String {
    match page_range(pages) {
        Some((first, last)) => format!("{first}--{last}"),
        None => escape(pages),
    }
}

fn author_names(article: &Article) -> Option<String> {
    let names: Vec<String> = authors(article).map(|it| name(&it)).collect();
    (!names.is_empty()).then(|| braced(&names.join(" and ")))
}

/// `Family, Given` or `Family, Jr., Given`; braces protect an organization, or a part with a comma
/// or an "and".
fn name(author: &Author) -> String {
    let part = |text: &str| {
        let lower = text.to_lowercase();
        let splits =
            lower.contains(',') || lower.split(' ').any(|it| it == "and" || it == "others");
        if splits {
            braced(&escape(text))
        } else {
            escape(text)
        }
    };
    match author.given.as_deref().map(name_suffix::split_suffix) {
        _ if author.organisation => braced(&escape(&author.family)),
        Some((given, Some(suffix))) => {
            let family = part(&author.family);
            format!("{family}, {}, {}", escape(suffix), part(given))
        }
        Some((given, None)) => format!("{}, {}", part(&author.family), part(given)),
        None if author.family.contains(' ') => braced(&escape(&author.family)),
        None => part(&author.family),
    }
}

/// Escapes LaTeX commands. Accented letters stay.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut before = None;
    for it in text.chars() {
        // LaTeX takes two of these in a row for a dash or a quotation mark.
        if matches!(it, '-' | '`' | '\'') && before == Some(it) {
            out.push_str("{}");
        }
        match it {
            '&' | '%' | '$' | '#' | '_' => {
                out.push('\\');
                out.push(it);
            }
            // BibTeX counts escaped braces too, and an unbalanced one would end the field.
            '{' => out.push_str("{\\textbraceleft}"),
            '}' => out.push_str("{\\textbraceright}"),
            '~' => out.push_str("{\\textasciitilde}"),
            '^' => out.push_str("{\\textasciicircum}"),
            '\\' => out.push_str("{\\textbackslash}"),
            _ => out.push(it),
        }
        before = Some(it);
    }
    out
}

/// Percent-encodes the braces, backslashes and spaces of a URL, which could end the field.
fn escape_url(text: &str) -> String {
    let code = |it: char| match it {
        '{' => "%7B".to_owned(),
        '}' => "%7D".to_owned(),
        '\\' => "%5C".to_owned(),
        ' ' => "%20".to_owned(),
        _ => it.to_string(),
    };
    text.chars().map(code).collect()
}
