//! Parses a printed list of authors. Either all of it looks like names, or none is taken.

use deliberate_core::Author;

use super::patterns::{ALL_INITIALS, INITIALS, VANCOUVER, captures, matches};
use crate::{read::is_organization, text_normalization};

const PARTICLES: &[&str] = &[
    "van", "von", "der", "den", "de", "del", "della", "di", "da", "dos", "du", "la", "le", "ten",
    "ter", "zu", "zur", "bin", "al", "el", "af", "av",
];

/// Parses the authors; `None` if the text is not a list of names.
pub(super) fn parse_authors(text: &str) -> Option<Vec<Author>> {
    let (text, et_al) = strip_et_al(text);
    let text = text.trim_matches([' ', ',', ';', ':', '(']);
    if text.is_empty() || text.chars().any(|it| it.is_ascii_digit()) {
        return None;
    }
    if is_organization(text) && !text.contains(',') {
        let family = text_normalization::non_empty_line(text.trim_end_matches('.'))?;
        return Some(vec![Author {
            family,
            organisation: true,
            ..Author::default()
        }]);
    }
    let tokens = tokens(text);
    if let Some(authors) = parse_inverted_names(&tokens) {
        return Some(authors);
    }
    let mut authors = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let next = tokens.get(at + 1).map(String::as_str);
        let (author, used) =
            parse_author(token, next, authors.is_empty(), et_al || tokens.len() == 1)?;
        authors.push(author);
        at += used;
    }
    (!authors.is_empty()).then_some(authors)
}

/// `Doe, Jane, Roe, Richard`: inverted names with full given names.
fn parse_inverted_names(tokens: &[String]) -> Option<Vec<Author>> {
    let (pairs, rest) = tokens.as_chunks::<2>();
    if pairs.len() < 2 || !rest.is_empty() {
        return None;
    }
    let one = |[family, given]: &[String; 2]| {
        let given = given.trim_end_matches('.');
        let mut words = given.split(' ');
        let is_given = words.next().is_some_and(is_name_word) && words.all(is_initials);
        let fine = is_given && is_family(family) && !family.contains(' ');
        fine.then(|| Author::person(family.as_str(), given))
    };
    pairs.iter().map(one).collect()
}

fn strip_et_al(text: &str) -> (String, bool) {
    let lower = text.to_lowercase();
    let marks = ["et al", "and others", "and colleagues", "…", "..."];
    let found = marks.iter().filter_map(|it| lower.find(it)).min();
    match found.and_then(|at| text.get(..at)) {
        // APA prints the last author after an ellipsis; that one is left out.
        Some(before) => (before.to_owned(), true),
        None => (text.to_owned(), false),
    }
}

/// Splits at commas, "and" and "&".
fn tokens(text: &str) -> Vec<String> {
    let text = format!(" {text} ")
        .replace(" & ", " , ")
        .replace(" and ", " , ")
        .replace(';', ",");
    text.split(',')
        .filter_map(text_normalization::non_empty_line)
        .collect()
}

/// Parses one author and returns the number of tokens used.
fn parse_author(
    token: &str,
    next: Option<&str>,
    is_first: bool,
    may_be_bare: bool,
) -> Option<(Author, usize)> {
    let token = token.trim_end_matches('.');
    // `Doe, J. K.`
    if is_family(token) && next.is_some_and(is_initials) {
        return Some((Author::person(token, next?), 2));
    }
    // `Doe J`
    if let Some(found) = captures(&VANCOUVER, token) {
        let (family, initials) = (found.get(1)?.as_str(), found.get(2)?.as_str());
        if is_family(family) {
            return Some((Author::person(family, initials), 1));
        }
    }
    let words: Vec<&str> = token.split(' ').collect();
    // `Jane Doe`, `J. Doe`
    let last_is_name = words.last().is_some_and(|it| is_name_word(it));
    if words.len() > 1
        && words.len() <= 6
        && last_is_name
        && words
            .iter()
            .all(|it| is_name_word(it) || is_initials(it) || is_particle(it))
    {
        return Some((Author::parse(token), 1));
    }
    // `Doe, Jane, and …`: only the first name of the list is inverted.
    let given = next.filter(|it| {
        it.split(' ').count() <= 3 && it.split(' ').all(|it| is_name_word(it) || is_initials(it))
    });
    if let Some(given) = given.filter(|_| is_first && is_family(token)) {
        return Some((Author::person(token, given.trim_end_matches('.')), 2));
    }
    (may_be_bare && is_family(token) && words.len() <= 3).then(|| (Author::person(token, ""), 1))
}

fn is_initials(text: &str) -> bool {
    text.chars().count() <= 12 && matches(&ALL_INITIALS, text)
        || (text.chars().count() <= 6 && text.ends_with('.') && matches(&INITIALS, text))
}

fn is_particle(text: &str) -> bool {
    PARTICLES.contains(&text.to_lowercase().as_str())
}

/// A word that can be part of a name: `Doe`, `O'Neill`, `Meyer-Lindenberg`.
fn is_name_word(word: &str) -> bool {
    let letters = word.chars().filter(|it| it.is_alphabetic()).count();
    let other = word
        .chars()
        .any(|it| !it.is_alphabetic() && !matches!(it, '-' | '\'' | '’' | '‐'));
    let starts = word
        .chars()
        .next()
        .is_some_and(|it| it.is_uppercase() || !it.is_lowercase());
    letters >= 2 && !other && starts
}

fn is_family(text: &str) -> bool {
    let words: Vec<&str> = text.split(' ').collect();
    words.len() <= 4
        && words.last().is_some_and(|it| is_name_word(it))
        && words.iter().all(|it| is_name_word(it) || is_particle(it))
}
