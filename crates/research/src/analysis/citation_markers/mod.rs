//! Citation markers: how a text refers to an entry of its bibliography, by number, by label, or by
//! author and year.

pub(crate) mod author_year;
pub(crate) mod numeric;

use deliberate_core::Article;
use deliberate_extract::DocumentReference;

use author_year::AuthorYearMarker;
use numeric::{NumericMarker, reference_number};

/// All markers by which a text may cite one entry.
pub(crate) struct CitationMarker {
    /// Number, if the bibliography is numbered.
    number: Option<u32>,
    /// Number style of the text.
    numeric: NumericMarker,
    /// Label that is not a number: `[Smi19]`.
    label: Option<String>,
    author_year: Option<AuthorYearMarker>,
    /// Other entries with the same first author and year.
    ambiguous: Vec<AuthorYearMarker>,
}

impl CitationMarker {
    /// Builds the markers of `entry`, which is `work`, for a text with these sentences.
    pub(crate) fn new<'a>(
        entry: &DocumentReference,
        work: &Article,
        entries: &[DocumentReference],
        body: impl Iterator<Item = &'a str>,
    ) -> Self {
        let label = entry.label.as_deref().unwrap_or("").trim();
        let number = reference_number(entry);
        let is_word = label.len() > 3 && label.starts_with('[');
        let author_year = AuthorYearMarker::from_reference(entry, Some(work));
        let others = entries.iter().filter(|it| !std::ptr::eq(*it, entry));
        let others = others.filter_map(|it| AuthorYearMarker::from_reference(it, None));
        Self {
            number,
            numeric: NumericMarker::from_text(entries, body),
            label: (number.is_none() && is_word).then(|| label.to_owned()),
            ambiguous: others
                .filter(|it| {
                    author_year
                        .as_ref()
                        .is_some_and(|named| named.is_ambiguous_with(it))
                })
                .collect(),
            author_year,
        }
    }

    /// Whether the sentence cites the entry.
    pub(crate) fn matches(&self, sentence: &str) -> bool {
        let number = self.number;
        let named = self.author_year.as_ref();
        number.is_some_and(|it| self.numeric.cites(sentence, it))
            || (self.label.as_deref()).is_some_and(|label| sentence.contains(label))
            || named.is_some_and(|it| it.matches(sentence, &self.ambiguous))
    }

    /// The forms that are searched for, as readable text.
    pub(crate) fn forms(&self) -> String {
        let numbers = self.number.map(|it| self.numeric.forms(it));
        let label = self.label.as_ref().map(|it| format!("“{it}”"));
        let named = self.author_year.as_ref().map(AuthorYearMarker::form);
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

    fn entry(label: Option<&str>) -> DocumentReference {
        DocumentReference {
            label: label.map(str::to_owned),
            authors: vec!["Smith, J.".to_owned()],
            year: Some(2019),
            ..DocumentReference::default()
        }
    }

    fn marker(entry: DocumentReference, work: &Article) -> CitationMarker {
        let entries = [entry];
        CitationMarker::new(&entries[0], work, &entries, std::iter::empty())
    }

    #[test]
    fn an_entry_is_found_by_its_number_and_by_its_author() {
        let marker = marker(entry(Some("[12]")), &Article::default());
        for sentence in ["As in [12].", "(Smith et al., 2019)", "Smith (2019b)"] {
            assert!(marker.matches(sentence), "{sentence}");
        }
        assert!(!marker.matches("As in [13], and by Smithson (2019)."));
        assert_eq!(
            marker.forms(),
            "“[12]”, “(12)”, a raised “12”, “smith … 2019”"
        );
    }

    #[test]
    fn a_label_that_is_no_number_stands_for_itself() {
        let marker = marker(entry(Some("[Smi19]")), &Article::default());
        assert!(marker.matches("as in [Smi19]"));
        assert!(!marker.matches("as in [19]"), "19 is a year here");
    }

    #[test]
    fn an_entry_without_a_label_is_found_by_author_and_year() {
        let undated = DocumentReference {
            year: None,
            ..entry(None)
        };
        let work = Article {
            authors: vec![Author::person("van der Maaten", "L.")],
            date: PartialDate::new(2008, None, None),
            ..Article::default()
        };
        assert!(marker(undated, &work).matches("Van der Maaten and Hinton (2008) did"));
        assert!(!marker(entry(None), &Article::default()).matches("in [12]"));
    }
}
