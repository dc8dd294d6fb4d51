//! What a document says of itself, as the record of a work. A document may say anything: what can't
//! be so is left out, and all has bounds.

use std::collections::BTreeSet;

use deliberate_core::{Article, ArxivId, Author, Doi, WorkKind, cut_to_chars};
use deliberate_extract::Meta;

use super::{
    Category, Text,
    sections::{sections, sections_called},
    title_key,
};

const TITLE_CHARS: usize = 500;
const ABSTRACT_CHARS: usize = 5_000;
const MOST_AUTHORS: usize = 100;
const NAME_CHARS: usize = 100;

/// A document's own title is looked for this far from its beginning, in characters.
const BEGINNING: usize = 20_000;

/// The share of a title's words that must stand in the beginning of a document for the record of
/// that title to be its own.
const OWN_TITLE: f64 = 0.6;

/// The record of a document that says this of itself; `name` is the file's, without its ending.
pub(crate) fn article_of(meta: &Meta, name: &str, category: Category) -> Article {
    let title = meta
        .title
        .as_deref()
        .map(one_line)
        .filter(|it| says_something(it));
    let arxiv_id = meta.arxiv_id.as_deref().and_then(ArxivId::parse);
    Article {
        title: title.unwrap_or_else(|| one_line(&name.replace(['_', '-'], " "))),
        authors: meta.authors.as_deref().map(authors).unwrap_or_default(),
        kind: match category {
            Category::External => WorkKind::Document,
            Category::ResearchPaper if arxiv_id.is_some() => WorkKind::Preprint,
            Category::ResearchPaper => WorkKind::Unknown,
        },
        doi: meta.doi.as_deref().and_then(Doi::parse),
        arxiv_id,
        language: language(meta),
        keywords: keywords(meta),
        sources: vec!["file".to_owned()],
        ..Article::default()
    }
}

/// The abstract, if there is a section of that name.
pub(crate) fn abstract_of(text: &Text) -> Option<String> {
    let all = sections(text);
    let whole = text.whole();
    let section = sections_called(&all, "abstract").into_iter().next();
    let stretch = match section {
        Some(section) => {
            // Papers have sections below their abstract only by mistake of whoever read them.
            let next = all.iter().find(|it| it.start > section.start);
            let end = next.map_or(section.end, |it| it.start);
            let text = whole.get(section.start..end)?;
            text.split_once('\n')?.1
        }
        None => after_the_word(text.pages.first()?)?,
    };
    let plain = cut_to_chars(&one_paragraph(stretch), ABSTRACT_CHARS);
    (plain.chars().count() >= 80).then_some(plain)
}

/// What follows the word `Abstract` at the beginning of a line, up to the next blank line.
fn after_the_word(page: &str) -> Option<&str> {
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

/// Whether a record is this document's own: most of its title's words stand at the beginning. An id
/// on the first page may be another paper's.
pub(crate) fn is_own(record: &Article, text: &Text) -> bool {
    let pages = text.pages.iter().take(2);
    let beginning: String = pages
        .flat_map(|page| page.chars().chain(['\n']))
        .take(BEGINNING)
        .collect();
    let there = title_key(&beginning);
    let there: BTreeSet<&str> = there.split(' ').collect();
    let title = title_key(&record.title);
    let words: BTreeSet<&str> = title.split(' ').filter(|it| !it.is_empty()).collect();
    if words.is_empty() {
        return true;
    }
    let found = words.iter().filter(|it| there.contains(*it)).count();
    found as f64 >= words.len() as f64 * OWN_TITLE
}

/// Names that stand in one text. Set apart by semicolons or `and`; by commas if each part is a whole
/// name.
fn authors(text: &str) -> Vec<Author> {
    let text = text.replace(" and ", ";").replace(['&', '\n'], ";");
    let mut names = Vec::new();
    for part in text.split(';') {
        let parts: Vec<&str> = part
            .split(',')
            .map(str::trim)
            .filter(|it| !it.is_empty())
            .collect();
        let whole = |it: &str| it.split_whitespace().count() > 1;
        if parts.len() > 1 && parts.iter().all(|it| whole(it)) {
            names.extend(parts.iter().map(|it| (*it).to_owned()));
        } else {
            names.push(parts.join(", "));
        }
    }
    let fits = |it: &String| {
        let letters = it.chars().filter(|it| it.is_alphabetic()).count();
        letters > 1 && it.chars().count() <= NAME_CHARS && !it.contains('@')
    };
    let names = names.iter().map(|it| one_line(it)).filter(fits);
    names
        .take(MOST_AUTHORS)
        .map(|it| Author::parse(&it))
        .collect()
}

fn language(meta: &Meta) -> Option<String> {
    let tag = meta.language.as_deref()?.trim();
    let short = tag.split(['-', '_']).next()?.to_lowercase();
    let fine = (2..=3).contains(&short.len()) && short.chars().all(|it| it.is_ascii_lowercase());
    fine.then_some(short)
}

fn keywords(meta: &Meta) -> Vec<String> {
    let given = meta.keywords.as_deref().unwrap_or_default();
    let words = given
        .split([',', ';'])
        .map(one_line)
        .filter(|it| says_something(it));
    words
        .take(30)
        .map(|it| cut_to_chars(&it, NAME_CHARS))
        .collect()
}

/// Titles that programs write in place of one.
fn says_something(title: &str) -> bool {
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

fn one_line(text: &str) -> String {
    let plain: String = text
        .chars()
        .filter(|it| !turns(*it))
        .map(|it| if it.is_control() { ' ' } else { it })
        .collect();
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    cut_to_chars(&line, TITLE_CHARS)
}

/// Marks that turn the direction of what follows: a name could look like another.
const fn turns(letter: char) -> bool {
    matches!(
        letter,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
    )
}

fn one_paragraph(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        authors(text).iter().map(Author::full_name).collect()
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

    #[test]
    fn a_title_on_one_line_is_shown_as_it_is_written() {
        assert_eq!(one_line("a\u{202e}fdp\u{1b}[31m b\n"), "afdp [31m b");
    }

    #[test]
    fn titles_that_programs_write_are_none() {
        for title in ["untitled", "Microsoft Word - final.doc", "  ", "12"] {
            assert!(!says_something(title), "{title}");
        }
        assert!(says_something("On Paper"));
    }
}
