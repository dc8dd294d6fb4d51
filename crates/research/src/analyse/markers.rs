//! How a text points at an entry of its bibliography: `[12]`, `[3, 10–14]`, `(Smith et al., 2019)`,
//! `Smith and Jones (2019a)`.

use std::sync::LazyLock;

use deliberate_extract::Reference;
use regex::Regex;

/// What a text would write to point at one entry.
pub(crate) struct Marker {
    /// Its number, where the bibliography is numbered.
    number: Option<u32>,
    /// Its label, where that is no number: `[Smi19]`.
    label: Option<String>,
    /// The last word of the first author's family name, in lower case, and the year.
    author: Option<(String, String)>,
}

static BRACKETS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let numbers = r"\[(\d{1,4}(?:\s*[,;–—-]\s*\d{1,4})*)(?:\s*,\s*[a-zA-Z§][^\[\]]{0,40})?\]";
    Regex::new(numbers).ok()
});

impl Marker {
    /// The marker of an entry. `family` is the first author's, if it is known better than the entry
    /// says.
    pub(crate) fn of(entry: &Reference, family: Option<&str>, year: Option<u16>) -> Self {
        let label = entry.label.as_deref().unwrap_or("").trim();
        let bare = label.trim_matches(['[', ']', '(', ')', '.']);
        let number = bare.parse().ok();
        let first = entry
            .authors
            .first()
            .map(|it| deliberate_core::Author::parse(it).family);
        let family = family
            .map(str::to_owned)
            .or(first)
            .and_then(|it| it.split_whitespace().next_back().map(str::to_lowercase));
        let year = entry
            .year
            .map(|it| it.to_string())
            .or(year.map(|it| it.to_string()))
            .map(|year| with_letter(&entry.text, year));
        Self {
            number,
            label: (number.is_none() && bare.len() > 1 && label.starts_with('['))
                .then(|| label.to_owned()),
            author: family.zip(year),
        }
    }

    /// Whether the sentence points at it.
    pub(crate) fn is_in(&self, sentence: &str) -> bool {
        let label = self.label.as_deref();
        self.number
            .is_some_and(|number| has_number(sentence, number))
            || label.is_some_and(|label| sentence.contains(label))
            || self
                .author
                .as_ref()
                .is_some_and(|(name, year)| has_author(&sentence.to_lowercase(), name, year))
    }
}

/// The year with the letter it has in the entry: `2019a`, which is not `2019b`.
fn with_letter(entry: &str, year: String) -> String {
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

fn has_number(sentence: &str, wanted: u32) -> bool {
    let Some(brackets) = BRACKETS.as_ref() else {
        return false;
    };
    brackets.captures_iter(sentence).any(|found| {
        let inside = found.get(1).map_or("", |it| it.as_str());
        inside.split([',', ';']).any(|part| in_range(part, wanted))
    })
}

/// `12`, or `10–14`.
fn in_range(part: &str, wanted: u32) -> bool {
    let mut ends = part
        .split(['–', '—', '-'])
        .map(|it| it.trim().parse::<u32>());
    match (ends.next(), ends.next()) {
        (Some(Ok(one)), None) => one == wanted,
        (Some(Ok(from)), Some(Ok(to))) => (from..=to).contains(&wanted),
        _ => false,
    }
}

/// The name, and not far behind it the year.
fn has_author(sentence: &str, name: &str, year: &str) -> bool {
    const NEAR: usize = 60;
    sentence.match_indices(name).any(|(at, found)| {
        let before = sentence.get(..at).and_then(|it| it.chars().next_back());
        let whole = before.is_none_or(|it| !it.is_alphanumeric());
        let behind: String = sentence
            .get(at + found.len()..)
            .unwrap_or("")
            .chars()
            .take(NEAR)
            .collect();
        let next = behind.chars().next();
        whole && next.is_none_or(|it| !it.is_alphanumeric()) && behind.contains(year)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(label: &str) -> Reference {
        Reference {
            label: Some(label.to_owned()),
            authors: vec!["Smith, J.".to_owned()],
            year: Some(2019),
            ..Reference::default()
        }
    }

    #[test]
    fn a_number_is_found_alone_in_a_list_and_in_a_range() {
        let marker = Marker::of(&entry("[12]"), None, None);
        for sentence in [
            "As in [12].",
            "see [3, 12]",
            "[10–14] say so",
            "[10-12]",
            "(Smith et al., 2019)",
            "Smith (2019b)",
        ] {
            assert!(marker.is_in(sentence), "{sentence}");
        }
        for sentence in [
            "[112]",
            "[1, 2]",
            "[13-20]",
            "12 mice",
            "Smithson (2019)",
            "Smith found it. In the whole long year that followed nobody could repeat it in 2019",
        ] {
            assert!(!marker.is_in(sentence), "{sentence}");
        }
    }

    #[test]
    fn a_label_that_is_no_number_stands_for_itself() {
        let marker = Marker::of(&entry("[Smi19]"), None, None);
        assert!(marker.is_in("as in [Smi19]"));
        assert!(!marker.is_in("as in [19]"), "19 is a year here");
        let numbered = Marker::of(&entry("[12]"), None, None);
        assert!(numbered.is_in("see [3, 12, p. 44]"));
        assert!(numbered.is_in("see [12, Theorem 3]"));
    }

    #[test]
    fn years_of_one_author_are_told_apart() {
        let mut lettered = entry("");
        lettered.label = None;
        lettered.text = "Smith, J. 2019a. On bees.".to_owned();
        let marker = Marker::of(&lettered, None, None);
        assert!(marker.is_in("by Smith (2019a)"));
        assert!(!marker.is_in("by Smith (2019b)"));
    }

    #[test]
    fn an_entry_without_a_label_is_found_by_author_and_year() {
        let mut bare = entry("");
        bare.label = None;
        let mut undated = bare.clone();
        undated.year = None;
        assert!(
            Marker::of(&undated, Some("van der Maaten"), Some(2008))
                .is_in("Van der Maaten and Hinton (2008) did")
        );
        assert!(!Marker::of(&bare, None, None).is_in("in [12]"));
    }
}
