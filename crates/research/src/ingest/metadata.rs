//! Builds the record of a work from a document's own metadata. The document is untrusted:
//! implausible values are dropped and all values are bounded.

use std::collections::BTreeSet;

use deliberate_core::{
    Article, ArxivId, Author, Doi, PartialDate, WorkKind, split_person_names, truncate_chars,
};
use deliberate_extract::DocumentMetadata;

use crate::articles::{
    ArticleCategory, FullText,
    references_section::bibliographies,
    sections::{find_sections_by_role, sections},
    title_key,
};

const TITLE_CHARS: usize = 500;
const ABSTRACT_CHARS: usize = 5_000;
const MAX_AUTHORS: usize = 100;
const NAME_CHARS: usize = 100;

/// A document's own title is searched for in this many characters at its beginning.
const TITLE_SEARCH_CHARS: usize = 20_000;

/// The share of a title's words that must occur at the beginning of a document for a record with
/// that title to be the document's own.
const MIN_TITLE_OVERLAP: f64 = 0.6;

/// Builds a record from a document's metadata; `name` is the file name without its extension.
pub(crate) fn article_from_metadata(
    meta: &DocumentMetadata,
    name: &str,
    category: ArticleCategory,
) -> Article {
    let title = meta
        .title
        .as_deref()
        .map(to_single_line)
        .filter(|it| is_meaningful_title(it));
    let arxiv_id = meta.arxiv_id.as_deref().and_then(ArxivId::parse);
    Article {
        title: title.unwrap_or_else(|| to_single_line(&name.replace(['_', '-'], " "))),
        authors: match meta.author_list.as_slice() {
            [] => meta
                .authors
                .as_deref()
                .map(parse_authors)
                .unwrap_or_default(),
            each => authors_from_names(each.iter()),
        },
        kind: match category {
            ArticleCategory::External => WorkKind::Document,
            ArticleCategory::ResearchPaper if arxiv_id.is_some() => WorkKind::Preprint,
            ArticleCategory::ResearchPaper => WorkKind::Unknown,
        },
        // The creation date of a file says nothing about the publication date of the work.
        date: meta.published.as_deref().and_then(PartialDate::parse),
        venue: optional_line(meta.venue.as_ref()),
        pdf_url: meta.pdf_url.clone().filter(|it| is_web_url(it)),
        doi: meta.doi.as_deref().and_then(Doi::parse),
        arxiv_id,
        language: language(meta),
        keywords: keywords(meta),
        sources: vec!["file".to_owned()],
        ..Article::default()
    }
}

/// Extracts the abstract if there is a section with that name.
pub(crate) fn extract_abstract(text: &FullText) -> Option<String> {
    let all = sections(text);
    let whole = text.join_pages();
    let section = find_sections_by_role(&all, "abstract").into_iter().next();
    let stretch = match section {
        Some(section) => {
            // An abstract has no subsections; if it seems to have any, the extractor misjudged the
            // levels.
            let next = all.iter().find(|it| it.start > section.start);
            let end = next.map_or(section.end, |it| it.start);
            let text = whole.get(section.start..end)?;
            text.split_once('\n')?.1
        }
        None => abstract_after_heading(text.pages.first()?)?,
    };
    let plain = truncate_chars(&to_single_paragraph(stretch), ABSTRACT_CHARS);
    (plain.chars().count() >= 80).then_some(plain)
}

/// The text after the word `Abstract` at the start of a line, up to the next blank line.
fn abstract_after_heading(page: &str) -> Option<&str> {
    let starts = page.match_indices('\n').map(|(at, _)| at + 1);
    let rest = std::iter::once(0).chain(starts).find_map(|at| {
        let line = page.get(at..)?;
        let word = line.get(..8)?;
        word.eq_ignore_ascii_case("abstract")
            .then(|| line.get(8..))?
    })?;
    let rest = rest.trim_start_matches(|it: char| !it.is_alphanumeric());
    rest.split("\n\n").next()
}

/// Whether a record belongs to a document: most words of the record's title occur in the document's
/// title or at the beginning of its text. An identifier on the first page may be another paper's.
pub(crate) fn matches_document(record: &Article, title: &str, text: &FullText) -> bool {
    let whole = text.join_pages();
    // The bibliography is excluded, because it contains the titles of other works.
    let list = bibliographies(text).first().map(|it| it.start);
    let two = text.page_starts().get(2).copied();
    let end = [list, two].into_iter().flatten().min();
    let own = end.and_then(|it| whole.get(..it)).unwrap_or(&whole);
    let beginning: String = own.chars().take(TITLE_SEARCH_CHARS).collect();
    let there = title_key(&format!("{title}\n{beginning}"));
    let there: BTreeSet<&str> = there.split(' ').collect();
    let title = title_key(&record.title);
    let words: BTreeSet<&str> = title.split(' ').filter(|it| !it.is_empty()).collect();
    if words.is_empty() {
        return true;
    }
    let found = words.iter().filter(|it| there.contains(*it)).count();
    found as f64 >= words.len() as f64 * MIN_TITLE_OVERLAP
}

/// Parses several names in one text.
fn parse_authors(text: &str) -> Vec<Author> {
    authors_from_names(split_person_names(text, 3).iter())
}

fn authors_from_names<'n>(names: impl Iterator<Item = &'n String>) -> Vec<Author> {
    let fits = |it: &String| {
        let letters = it.chars().filter(|it| it.is_alphabetic()).count();
        letters > 1 && it.chars().count() <= NAME_CHARS && !it.contains('@')
    };
    let names = names.map(|it| to_single_line(it)).filter(fits);
    names
        .take(MAX_AUTHORS)
        .map(|it| Author::parse(&it))
        .collect()
}

fn optional_line(said: Option<&String>) -> Option<String> {
    said.map(|it| to_single_line(it))
        .filter(|it| !it.is_empty())
}

fn is_web_url(text: &str) -> bool {
    let url = url::Url::parse(text);
    url.is_ok_and(|it| matches!(it.scheme(), "http" | "https"))
}

fn language(meta: &DocumentMetadata) -> Option<String> {
    let tag = meta.language.as_deref()?.trim();
    let short = tag.split(['-', '_']).next()?.to_lowercase();
    let fine = (2..=3).contains(&short.len()) && short.chars().all(|it| it.is_ascii_lowercase());
    fine.then_some(short)
}

fn keywords(meta: &DocumentMetadata) -> Vec<String> {
    let given = meta.keywords.as_deref().unwrap_or_default();
    let words = given
        .split([',', ';'])
        .map(to_single_line)
        .filter(|it| is_meaningful_title(it));
    words
        .take(30)
        .map(|it| truncate_chars(&it, NAME_CHARS))
        .collect()
}

/// Whether a title is more than a placeholder written by a program.
fn is_meaningful_title(title: &str) -> bool {
    let key = title_key(title);
    let made = [
        "untitled",
        "microsoft word",
        "title",
        "paper",
        "document",
        "main",
    ];
    key.chars().filter(|it| it.is_alphabetic()).count() > 2
        && !made.contains(&key.as_str())
        && !key.starts_with("microsoft word ")
}

fn to_single_line(text: &str) -> String {
    let plain: String = text
        .chars()
        .filter(|it| !is_bidi_control(*it))
        .map(|it| if it.is_control() { ' ' } else { it })
        .collect();
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    truncate_chars(&line, TITLE_CHARS)
}

/// Whether a character changes the text direction, which could disguise a name as another.
const fn is_bidi_control(letter: char) -> bool {
    matches!(
        letter,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
    )
}

fn to_single_paragraph(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        parse_authors(text).iter().map(Author::full_name).collect()
    }

    #[test]
    fn names_in_one_text_are_set_apart() {
        assert_eq!(
            names("Ada Lovelace, Charles Babbage"),
            ["Ada Lovelace", "Charles Babbage"]
        );
        assert_eq!(
            names("Lovelace, Ada; Babbage, C."),
            ["Ada Lovelace", "C. Babbage"]
        );
        assert_eq!(
            names("Ada Lovelace and Charles Babbage"),
            ["Ada Lovelace", "Charles Babbage"]
        );
        assert_eq!(names(" ; x@y.org"), Vec::<String>::new());
    }

    fn article(meta: &DocumentMetadata) -> Article {
        article_from_metadata(meta, "file", ArticleCategory::ResearchPaper)
    }

    #[test]
    fn the_record_of_a_file_becomes_that_of_the_work() {
        let said = |text: &str| Some(text.to_owned());
        let found = article(&DocumentMetadata {
            authors: said("García Márquez, Gabriel José"),
            author_list: vec!["García Márquez, Gabriel José".to_owned()],
            published: said("2021/03/17"),
            venue: said(" Fire \n& Soil "),
            pdf_url: said("https://example.org/x.pdf"),
            ..DocumentMetadata::default()
        });
        let names: Vec<String> = found.authors.iter().map(Author::full_name).collect();
        assert_eq!(names, ["Gabriel José García Márquez"]);
        assert_eq!(found.date, PartialDate::parse("2021-03-17"));
        assert_eq!(found.venue.as_deref(), Some("Fire & Soil"));
        assert!(found.pdf_url.is_some());
    }

    #[test]
    fn when_a_file_was_made_is_not_when_the_work_appeared() {
        let found = article(&DocumentMetadata {
            created: Some("2023-04-21T10:30:00".to_owned()),
            pdf_url: Some("file:///etc/passwd".to_owned()),
            ..DocumentMetadata::default()
        });
        assert_eq!((found.date, found.pdf_url), (None, None));
    }

    #[test]
    fn a_title_on_one_line_is_shown_as_it_is_written() {
        assert_eq!(to_single_line("a\u{202e}fdp\u{1b}[31m b\n"), "afdp [31m b");
    }

    #[test]
    fn titles_that_programs_write_are_none() {
        for title in ["untitled", "Microsoft Word - final.doc", "  ", "12"] {
            assert!(!is_meaningful_title(title), "{title}");
        }
        assert!(is_meaningful_title("On Paper"));
    }
}
