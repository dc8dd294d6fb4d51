//! Author-year citations: `(Smith et al., 2019)`, `Smith and Jones (2019a)`.

use deliberate_core::{Article, Author};
use deliberate_extract::DocumentReference;

use crate::articles::author_key;

/// Authors and year by which a text cites a bibliography entry.
#[derive(Debug, Clone)]
pub(crate) struct AuthorYearMarker {
    /// Last word of the first author's family name, in lower case.
    family: String,
    /// Last word of the second author's family name, normalized.
    second: Option<String>,
    /// Whether there is more than one author.
    has_coauthors: bool,
    /// Year with the letter that the entry gives it.
    year: String,
}

/// How a text names authors.
enum AuthorMention {
    /// `Smith (2019)`.
    Single,
    /// `Smith and Jones (2019)`: the normalized names after the first.
    Coauthors(String),
    /// `Smith et al. (2019)`.
    EtAl,
    /// The year belongs to another part of the sentence.
    Unclear,
}

/// Phrases for coauthors who are not named.
const ET_AL_PHRASES: &[&str] = &[
    "associates",
    "co-",
    "collaborators",
    "colleagues",
    "coworkers",
    "her ",
    "his ",
    "others",
    "team",
    "their ",
];

/// A name has no more words.
const MAX_NAME_WORDS: usize = 4;

impl AuthorYearMarker {
    /// Builds the marker of an entry. `known` is the work, if more is known than the entry says.
    pub(crate) fn from_reference(
        entry: &DocumentReference,
        known: Option<&Article>,
    ) -> Option<Self> {
        let last = |it: &str| it.split_whitespace().next_back().map(str::to_lowercase);
        let listed: Vec<String> = entry.authors.iter().map(|it| family_name(it)).collect();
        let authors = known.map_or(&[][..], |it| it.authors.as_slice());
        let at = |number: usize| {
            let known = authors.get(number).map(|it| it.family.as_str());
            known.or(listed.get(number).map(String::as_str))
        };
        let year = entry.year.map(|it| it.to_string());
        let year = year.or_else(|| Some(known?.year()?.to_string()))?;
        Some(Self {
            family: last(at(0)?)?,
            second: at(1).and_then(|it| last(&author_key(it))),
            has_coauthors: at(1).is_some() || entry.text.contains("et al"),
            year: year_with_letter(&entry.text, year),
        })
    }

    /// Whether a citation of one may mean the other.
    pub(crate) fn is_ambiguous_with(&self, other: &Self) -> bool {
        self.family == other.family && self.year == other.year
    }

    /// The form of the citation, as readable text.
    pub(crate) fn form(&self) -> String {
        format!("“{} … {}”", self.family, self.year)
    }

    /// Whether a sentence cites the entry: the name, closely followed by the year, and nothing that
    /// points to one of the ambiguous entries in `like` instead.
    pub(crate) fn matches(&self, sentence: &str, like: &[Self]) -> bool {
        const MAX_YEAR_DISTANCE: usize = 60;
        let sentence = sentence.to_lowercase();
        sentence.match_indices(&self.family).any(|(at, found)| {
            let before = sentence.get(..at).and_then(|it| it.chars().next_back());
            let behind = sentence.get(at + found.len()..).unwrap_or("");
            let behind: String = behind.chars().take(MAX_YEAR_DISTANCE).collect();
            let within = |it: Option<char>| it.is_some_and(char::is_alphanumeric);
            if within(before) || within(behind.chars().next()) {
                return false;
            }
            let between = behind.split_once(&self.year).map(|(it, _)| it);
            between.is_some_and(|it| self.fits_mention(&AuthorMention::parse(it), like))
        })
    }

    fn fits_mention(&self, naming: &AuthorMention, like: &[Self]) -> bool {
        match naming {
            AuthorMention::Unclear => true,
            AuthorMention::Single => !self.has_coauthors || like.iter().all(|it| it.has_coauthors),
            AuthorMention::EtAl => self.has_coauthors || !like.iter().any(|it| it.has_coauthors),
            AuthorMention::Coauthors(others) if self.second.is_some() => {
                self.has_second_author(others)
            }
            AuthorMention::Coauthors(others) => !like.iter().any(|it| it.has_second_author(others)),
        }
    }

    /// Whether the second author is among the names after the first.
    fn has_second_author(&self, others: &str) -> bool {
        let mut names = others.split(' ').take(MAX_NAME_WORDS);
        let second = self.second.as_deref();
        second.is_some_and(|second| names.any(|it| it == second))
    }
}

impl AuthorMention {
    /// Parses the lower-case text between a name and the year.
    fn parse(between: &str) -> Self {
        let rest = between.trim_start_matches("'s").trim_start_matches("’s");
        let rest = rest.trim_start();
        let listed = rest.trim_start_matches([',', ' ']);
        if listed.starts_with("et al") {
            return Self::EtAl;
        }
        let joined = ["and ", "& "].iter().find_map(|it| listed.strip_prefix(it));
        let joined = joined.or_else(|| {
            let more = listed.contains('&') || listed.contains(" and ");
            Some(listed).filter(|_| more && rest.starts_with(','))
        });
        let Some(others) = joined else {
            return Self::Single;
        };
        if ET_AL_PHRASES.iter().any(|it| others.starts_with(it)) {
            return Self::EtAl;
        }
        let first = others.split([',', '&', '(', ';']).next().unwrap_or(others);
        if first.split_whitespace().count() > MAX_NAME_WORDS {
            return Self::Unclear;
        }
        Self::Coauthors(author_key(others))
    }
}

/// The family name in `Smith, J.`, `J. Smith`, or `Smith J`.
fn family_name(name: &str) -> String {
    let is_initials = |it: &str| it.len() <= 3 && it.chars().all(char::is_uppercase);
    match name.rsplit_once(' ') {
        Some((family, last)) if is_initials(last) && !family.contains(['.', ',']) => {
            family.to_owned()
        }
        _ => Author::parse(name).family,
    }
}

/// The year with the letter that the entry gives it: `2019a` is not `2019b`.
fn year_with_letter(entry: &str, year: String) -> String {
    let letter = entry.match_indices(&year).find_map(|(at, found)| {
        let mut after = entry.get(at + found.len()..)?.chars();
        let letter = after.next().filter(|it| ('a'..='h').contains(it))?;
        after
            .next()
            .is_none_or(|it| !it.is_alphanumeric())
            .then_some(letter)
    });
    match letter {
        Some(letter) => format!("{year}{letter}"),
        None => year,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(authors: &[&str], text: &str) -> DocumentReference {
        DocumentReference {
            authors: authors.iter().map(|&it| it.to_owned()).collect(),
            year: Some(2019),
            text: text.to_owned(),
            ..DocumentReference::default()
        }
    }

    fn marker(authors: &[&str]) -> AuthorYearMarker {
        AuthorYearMarker::from_reference(&entry(authors, ""), None)
            .expect("it has a name and a year")
    }

    #[test]
    fn the_year_is_not_far_behind_the_name() {
        let smith = marker(&["Smith, J."]);
        for sentence in ["(Smith, 2019)", "Smith (2019b)", "SMITH’s (2019) model"] {
            assert!(smith.matches(sentence, &[]), "{sentence}");
        }
        for sentence in [
            "Smithson (2019)",
            "Smith found it. In the whole long year that followed nobody could repeat it in 2019",
        ] {
            assert!(!smith.matches(sentence, &[]), "{sentence}");
        }
    }

    #[test]
    fn years_of_one_author_are_told_apart() {
        let lettered = entry(&["Smith, J."], "Smith, J. 2019a. On bees.");
        let lettered =
            AuthorYearMarker::from_reference(&lettered, None).expect("it has a name and a year");
        assert!(lettered.matches("by Smith (2019a)", &[]));
        assert!(!lettered.matches("by Smith (2019b)", &[]));
    }

    #[test]
    fn works_of_one_author_alone_and_with_others_are_told_apart() {
        let alone = [marker(&["Smith J"])];
        let both = [marker(&["Smith J", "Jones K"])];
        for (sentence, is_both) in [
            ("(Smith, 2019)", false),
            ("Smith’s (2019) model", false),
            ("(Smith & Jones, 2019)", true),
            ("Smith and Jones (2019)", true),
            ("(Smith et al., 2019)", true),
            ("(Smith, Jones, and Roe, 2019)", true),
        ] {
            assert_eq!(both[0].matches(sentence, &alone), is_both, "{sentence}");
            assert_eq!(alone[0].matches(sentence, &both), !is_both, "{sentence}");
        }
        assert!(both[0].matches("(Smith, 2019)", &[]), "there is no other");
        assert!(!both[0].matches("Smith and Roe (2019)", &[]));
        assert!(both[0].matches("Smith and colleagues (2019)", &[]));
    }
}
