//! How a text points at an entry of its bibliography: by its number, its label, or by who wrote it
//! and when.

use deliberate_core::Article;
use deliberate_extract::Reference;

use super::{
    named::Named,
    numbers::{Numbers, number_of},
};

/// What a text would write to point at one entry.
pub(crate) struct Marker {
    /// Its number, where the bibliography is numbered.
    number: Option<u32>,
    /// How the text writes numbers.
    numbers: Numbers,
    /// Its label, where that is no number: `[Smi19]`.
    label: Option<String>,
    /// Its authors and year.
    named: Option<Named>,
    /// Other entries of that first author and year.
    like: Vec<Named>,
}

impl Marker {
    /// The marker of one of the entries, which is that work, in a text of these sentences.
    pub(crate) fn of<'a>(
        entry: &Reference,
        work: &Article,
        entries: &[Reference],
        body: impl Iterator<Item = &'a str>,
    ) -> Self {
        let label = entry.label.as_deref().unwrap_or("").trim();
        let number = number_of(entry);
        let is_word = label.len() > 3 && label.starts_with('[');
        let named = Named::of(entry, Some(work));
        let others = entries.iter().filter(|it| !std::ptr::eq(*it, entry));
        let others = others.filter_map(|it| Named::of(it, None));
        Self {
            number,
            numbers: Numbers::of(entries, body),
            label: (number.is_none() && is_word).then(|| label.to_owned()),
            like: others
                .filter(|it| named.as_ref().is_some_and(|named| named.is_like(it)))
                .collect(),
            named,
        }
    }

    /// Whether the sentence points at it.
    pub(crate) fn is_in(&self, sentence: &str) -> bool {
        let number = self.number;
        let named = self.named.as_ref();
        number.is_some_and(|it| self.numbers.point_at(sentence, it))
            || (self.label.as_deref()).is_some_and(|label| sentence.contains(label))
            || named.is_some_and(|it| it.is_in(sentence, &self.like))
    }

    /// What was looked for, for people.
    pub(crate) fn forms(&self) -> String {
        let numbers = self.number.map(|it| self.numbers.forms(it));
        let label = self.label.as_ref().map(|it| format!("“{it}”"));
        let named = self.named.as_ref().map(Named::form);
        let all: Vec<String> = numbers
            .into_iter()
            .flatten()
            .chain(label)
            .chain(named)
            .collect();
        all.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use deliberate_core::{Author, PartialDate};

    use super::*;

    fn entry(label: Option<&str>) -> Reference {
        Reference {
            label: label.map(str::to_owned),
            authors: vec!["Smith, J.".to_owned()],
            year: Some(2019),
            ..Reference::default()
        }
    }

    fn marker(entry: Reference, work: &Article) -> Marker {
        let entries = [entry];
        Marker::of(&entries[0], work, &entries, std::iter::empty())
    }

    #[test]
    fn an_entry_is_found_by_its_number_and_by_its_author() {
        let marker = marker(entry(Some("[12]")), &Article::default());
        for sentence in ["As in [12].", "(Smith et al., 2019)", "Smith (2019b)"] {
            assert!(marker.is_in(sentence), "{sentence}");
        }
        assert!(!marker.is_in("As in [13], and by Smithson (2019)."));
        assert_eq!(
            marker.forms(),
            "“[12]”, “(12)”, a raised “12”, “smith … 2019”"
        );
    }

    #[test]
    fn a_label_that_is_no_number_stands_for_itself() {
        let marker = marker(entry(Some("[Smi19]")), &Article::default());
        assert!(marker.is_in("as in [Smi19]"));
        assert!(!marker.is_in("as in [19]"), "19 is a year here");
    }

    #[test]
    fn an_entry_without_a_label_is_found_by_author_and_year() {
        let undated = Reference {
            year: None,
            ..entry(None)
        };
        let work = Article {
            authors: vec![Author::person("van der Maaten", "L.")],
            date: PartialDate::new(2008, None, None),
            ..Article::default()
        };
        assert!(marker(undated, &work).is_in("Van der Maaten and Hinton (2008) did"));
        assert!(!marker(entry(None), &Article::default()).is_in("in [12]"));
    }
}
