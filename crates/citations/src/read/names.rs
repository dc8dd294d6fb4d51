//! Parses names of authors in the notations of bibliography files.

use deliberate_core::Author;

use super::{MAX_AUTHORS, latex};
use crate::text_normalization;

/// Parses the names of a BibTeX field: separated by `and`, in one of BibTeX's three orders.
pub(super) fn parse_bibtex_names(value: &str) -> Vec<Author> {
    // Collapsed white space keeps the scan below linear.
    let value = format!(" {} ", text_normalization::single_line(value));
    let parts = split_outside(&value, NameSeparator::And);
    parts
        .into_iter()
        .take(MAX_AUTHORS)
        .filter_map(parse_bibtex_name)
        .collect()
}

fn parse_bibtex_name(name: &str) -> Option<Author> {
    let name = name.trim();
    let text = |it: &str| text_normalization::single_line(&latex::decode(it));
    if ["", "and", "others"]
        .iter()
        .any(|it| name.eq_ignore_ascii_case(it))
    {
        return None;
    }
    if is_one_group(name) {
        let family = text_normalization::non_empty_line(&latex::decode(name))?;
        return Some(Author {
            family,
            organisation: true,
            ..Author::default()
        });
    }
    let parts = split_outside(name, NameSeparator::Comma);
    let author = match parts.as_slice() {
        [family, given] => Author::person(text(family), text(given)),
        // `von Last, Jr, First`.
        [family, junior, given, ..] => {
            Author::person(text(family), format!("{}, {}", text(given), text(junior)))
        }
        _ => parse_person(&text(name)),
    };
    Some(author).filter(|it| !it.family.is_empty())
}

/// `Given Family`, where a lower-case word in the middle starts the family name.
fn parse_person(name: &str) -> Author {
    let words: Vec<&str> = name.split(' ').collect();
    let last = words.len().saturating_sub(1);
    let small = words
        .iter()
        .take(last)
        .position(|it| it.starts_with(char::is_lowercase));
    match small.filter(|at| *at > 0) {
        Some(at) => {
            let (given, family) = words.split_at(at);
            Author::person(family.join(" "), given.join(" "))
        }
        None => Author::parse(name),
    }
}

/// A name of RIS or `EndNote`: `Family, Given`; a trailing comma marks an organization.
pub(super) fn parse_comma_name(value: &str) -> Option<Author> {
    let value = text_normalization::non_empty_line(value)?;
    if let Some(name) = value.strip_suffix(',') {
        let family = text_normalization::non_empty_line(name)?;
        return Some(Author {
            family,
            organisation: true,
            ..Author::default()
        });
    }
    let author = if !value.contains(',') && is_organization(&value) {
        Author {
            family: value,
            organisation: true,
            ..Author::default()
        }
    } else {
        Author::parse(&value)
    };
    Some(author).filter(|it| !it.family.is_empty())
}

/// Whether the name contains a word that only organizations have.
pub(crate) fn is_organization(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "university",
        "institute",
        "organization",
        "organisation",
        "consortium",
        "collaboration",
        "group",
        "committee",
        "association",
        "society",
        "foundation",
        "agency",
        "ministry",
        "department",
        "council",
        "commission",
        "network",
        "initiative",
        "inc",
        "ltd",
        "gmbh",
        "corporation",
        "team",
        "project",
        "laboratory",
        "centre",
        "center",
        "bank",
    ];
    text_normalization::folded_words(name)
        .iter()
        .any(|it| WORDS.contains(&it.as_str()))
}

/// Whether the first brace closes at the last character.
fn is_one_group(text: &str) -> bool {
    let mut depth = 0_usize;
    let closes = text.char_indices().find(|(_, it)| {
        match it {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    });
    text.starts_with('{') && closes.is_some_and(|it| it.0 + 1 == text.len())
}

#[derive(Clone, Copy, PartialEq)]
enum NameSeparator {
    And,
    Comma,
}

/// Splits outside braces.
fn split_outside(text: &str, by: NameSeparator) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut depth = 0_usize;
    let mut start = 0;
    let mut skip_to = 0;
    for (at, it) in text.char_indices() {
        match it {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > 0 || at < skip_to {
            continue;
        }
        let width = match by {
            NameSeparator::Comma => (it == ',').then_some(1),
            NameSeparator::And if it.is_whitespace() => {
                and_width(text.get(at..).unwrap_or_default())
            }
            NameSeparator::And => None,
        };
        if let Some(width) = width {
            parts.push(text.get(start..at).unwrap_or_default());
            start = at + width;
            skip_to = start;
        }
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts
}

/// The length of a leading `and` with white space on both sides, without the trailing space.
fn and_width(text: &str) -> Option<usize> {
    let rest = text.trim_start();
    let after = rest.get(3..).filter(|_| {
        rest.get(..3)
            .is_some_and(|it| it.eq_ignore_ascii_case("and"))
    })?;
    after
        .starts_with(char::is_whitespace)
        .then(|| text.len() - after.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Vec<String> {
        parse_bibtex_names(value)
            .iter()
            .map(|it| {
                format!(
                    "{}|{}|{}",
                    it.family,
                    it.given.as_deref().unwrap_or("-"),
                    it.organisation
                )
            })
            .collect()
    }

    #[test]
    fn bibtex_names_in_every_order() {
        assert_eq!(
            read(
                "Donald E. Knuth and van der Maaten, Laurens\nAND {Ernst and Young} and King, Jr., Martin Luther and others"
            ),
            [
                "Knuth|Donald E.|false",
                "van der Maaten|Laurens|false",
                "Ernst and Young|-|true",
                "King|Martin Luther, Jr.|false",
            ]
        );
        assert_eq!(
            read(r#"G{\"o}del, Kurt and {\'E}. Cartan"#),
            ["Gödel|Kurt|false", "Cartan|É.|false"]
        );
        assert_eq!(
            read("Ludwig van Beethoven and Plato and Andy Anderson"),
            [
                "van Beethoven|Ludwig|false",
                "Plato|-|false",
                "Anderson|Andy|false"
            ]
        );
        assert_eq!(read("  and , and {}"), Vec::<String>::new());
    }
}
