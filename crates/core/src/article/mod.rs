//! Bibliographic records: papers, preprints, books and other citable works, with authors and dates.

pub(crate) mod doi_arxiv;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::{ArxivId, Doi};

/// A citable work. An unknown field is `None` or empty, never a placeholder.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Article {
    /// The title.
    pub title: String,
    /// The authors, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub authors: Vec<Author>,
    /// The kind of work.
    pub kind: WorkKind,
    /// The abstract, as plain text.
    #[serde(rename = "abstract", skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Publication date.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<PartialDate>,
    /// The journal, proceedings or book that contains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub venue: Option<String>,
    /// Volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<String>,
    /// Issue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
    /// Pages, as `12-34`, or an article number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<String>,
    /// Publisher, university or institution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publisher: Option<String>,
    /// ISSN of the journal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issn: Option<String>,
    /// ISBN of the book.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isbn: Option<String>,
    /// The DOI.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doi: Option<Doi>,
    /// The arXiv id, no version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arxiv_id: Option<ArxivId>,
    /// `PubMed` id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pmid: Option<String>,
    /// `PubMed` Central id, as `PMC123`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pmcid: Option<String>,
    /// Semantic Scholar id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s2_id: Option<String>,
    /// `OpenAlex` id, as `W123`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openalex_id: Option<String>,
    /// The landing page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Where a source reports a PDF.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pdf_url: Option<String>,
    /// Subjects and keywords.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// The language, as `en`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The citation count; the highest that a source reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub citation_count: Option<u64>,
    /// Whether it was retracted, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retracted: Option<bool>,
    /// Whether it is open access, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_access: Option<bool>,
    /// The sources of the record.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
}

/// An author of a work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Author {
    /// The family name with particles, or an organization's name.
    pub family: String,
    /// Given names or initials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given: Option<String>,
    /// An organization, not a person.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub organisation: bool,
    /// The ORCID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orcid: Option<String>,
}

/// The kind of work.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum WorkKind {
    /// In a journal.
    JournalArticle,
    /// In conference proceedings.
    ConferencePaper,
    /// Not peer reviewed.
    Preprint,
    /// A book.
    Book,
    /// A chapter or other part of a book.
    Chapter,
    /// A thesis.
    Thesis,
    /// A report.
    Report,
    /// Data.
    Dataset,
    /// Software.
    Software,
    /// A web page.
    WebPage,
    /// Lecture notes, a manual, a local file.
    Document,
    /// Unknown.
    #[default]
    Unknown,
}

impl WorkKind {
    /// Returns the name as stored and answered.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A date with at least a year.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(into = "String", try_from = "String")]
#[schemars(with = "String")]
pub struct PartialDate {
    /// The year, 1000 to 9999.
    pub year: u16,
    /// The month, 1 to 12.
    pub month: Option<u8>,
    /// The day, 1 to 31; only with a month.
    pub day: Option<u8>,
}

impl PartialDate {
    /// Creates a date from a plausible year. An impossible day or month is dropped.
    pub fn new(year: i32, month: Option<u8>, day: Option<u8>) -> Option<Self> {
        let year = u16::try_from(year)
            .ok()
            .filter(|it| (1000..=9999).contains(it))?;
        let month = month.filter(|it| (1..=12).contains(it));
        let day = day.filter(|it| month.is_some_and(|month| is_valid_day(year, month, *it)));
        Some(Self { year, month, day })
    }

    /// Parses `2024`, `2024-05` or `2024-05-17`; `/` and `.` may replace `-`, and a time may
    /// follow.
    pub fn parse(text: &str) -> Option<Self> {
        let date = text.trim().split(['T', ' ']).next()?;
        let mut parts = date.split(['-', '/', '.']);
        let year = parts.next()?.parse().ok()?;
        let mut part = || parts.next().and_then(|it| it.parse().ok());
        let month = part();
        Self::new(year, month, part())
    }

    /// Parses a date that a user gave; an impossible month or day makes it invalid.
    pub fn parse_strict(text: &str) -> Option<Self> {
        let date = Self::parse(text)?;
        let parts = text.trim().split(['T', ' ']).next()?.split(['-', '/', '.']);
        let kept = 1 + usize::from(date.month.is_some()) + usize::from(date.day.is_some());
        (parts.count() == kept).then_some(date)
    }

    /// Returns a number that sorts by date: 20240517, with 00 for an unknown part.
    pub fn as_number(self) -> i64 {
        let part = |it: Option<u8>| i64::from(it.unwrap_or(0));
        i64::from(self.year) * 10_000 + part(self.month) * 100 + part(self.day)
    }
}

fn is_valid_day(year: u16, month: u8, day: u8) -> bool {
    let part = |it: u8| i8::try_from(it).ok();
    let known = i16::try_from(year).ok().zip(part(month)).zip(part(day));
    known.is_some_and(|((year, month), day)| jiff::civil::Date::new(year, month, day).is_ok())
}

impl std::fmt::Display for PartialDate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}", self.year)?;
        for part in [self.month, self.day].into_iter().flatten() {
            write!(f, "-{part:02}")?;
        }
        Ok(())
    }
}

impl From<PartialDate> for String {
    fn from(date: PartialDate) -> Self {
        date.to_string()
    }
}

impl TryFrom<String> for PartialDate {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse_strict(&text)
            .ok_or_else(|| format!("{text:?} is no date; write 2024, 2024-05 or 2024-05-17"))
    }
}

impl Article {
    /// Returns the year of publication.
    pub fn year(&self) -> Option<u16> {
        self.date.map(|date| date.year)
    }
}

impl Author {
    /// Creates a person from a family name and a given name.
    pub fn person(family: impl Into<String>, given: impl Into<String>) -> Self {
        let given = given.into();
        Self {
            family: family.into(),
            given: Some(given).filter(|it| !it.trim().is_empty()),
            ..Self::default()
        }
    }

    /// Parses a person's name: `Family, Given`, `Given von Family`, `山田 太郎`.
    pub fn parse(name: &str) -> Self {
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((family, given)) = name.split_once(',') {
            return Self::person(family.trim(), given.trim());
        }
        let words: Vec<&str> = name.split(' ').collect();
        if let [family, given] = words.as_slice()
            && is_eastern(family)
            && is_eastern(given)
        {
            return Self::person(*family, *given);
        }
        // Particles belong to the family name: `Ludwig van Beethoven`.
        let last = words.len().saturating_sub(1);
        let is_particle = |word: &&str| PARTICLES.contains(&word.to_lowercase().as_str());
        let particle = words
            .get(1..last)
            .and_then(|middle| middle.iter().position(is_particle));
        // A name that begins with a particle has no given name: `van der Meer`.
        let small = |word: &&str| word.starts_with(char::is_lowercase) && is_particle(word);
        let alone = words.len() > 1 && words.first().is_some_and(small);
        let split = if alone {
            0
        } else {
            particle.map_or(last, |at| at + 1)
        };
        let (given, family) = words.split_at(split.min(words.len()));
        Self::person(family.join(" "), given.join(" "))
    }

    /// Returns `Given Family`, or the reverse for names that are written that way.
    pub fn full_name(&self) -> String {
        match &self.given {
            Some(given) if is_eastern(&self.family) && is_eastern(given) => {
                format!("{} {given}", self.family)
            }
            Some(given) => format!("{given} {}", self.family),
            None => self.family.clone(),
        }
    }
}

/// Tells whether a name is in Chinese, Korean or Japanese script, which puts the family name
/// first. A name in katakana alone is a foreign one.
fn is_eastern(name: &str) -> bool {
    let family_first = |letter: char| {
        matches!(letter, '\u{3041}'..='\u{309f}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' | '々')
    };
    !name.is_empty() && name.chars().all(family_first)
}

const PARTICLES: &[&str] = &[
    "van", "von", "der", "den", "de", "del", "della", "di", "da", "dos", "du", "la", "le", "ten",
    "ter", "zu", "zur", "bin", "al",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let of = |text: &str| {
            let author = Author::parse(text);
            (author.family, author.given.unwrap_or_default())
        };
        let pair = |family: &str, given: &str| (family.to_owned(), given.to_owned());
        assert_eq!(of("Knuth, Donald E."), pair("Knuth", "Donald E."));
        assert_eq!(of("Donald E. Knuth"), pair("Knuth", "Donald E."));
        assert_eq!(of("Ludwig van  Beethoven"), pair("van Beethoven", "Ludwig"));
        assert_eq!(
            of("Laurens van der Maaten"),
            pair("van der Maaten", "Laurens")
        );
        assert_eq!(of("van der Meer"), pair("van der Meer", ""));
        assert_eq!(of("Al Gore"), pair("Gore", "Al"));
        assert_eq!(of("Plato"), pair("Plato", ""));
        assert_eq!(of("山田 太郎"), pair("山田", "太郎"));
        assert_eq!(of("김 민수"), pair("김", "민수"));
        assert_eq!(of("ジョン スミス"), pair("スミス", "ジョン"));
        assert_eq!(Author::parse("佐々木 さくら").full_name(), "佐々木 さくら");
        assert_eq!(of(""), pair("", ""));
    }

    #[test]
    fn a_date_that_somebody_gives_can_be() {
        for good in ["2024", " 2024-5", "2024/02/29", "2024-05-17T10:00:00Z"] {
            assert!(PartialDate::parse_strict(good).is_some(), "{good}");
        }
        for bad in [
            "2023-02-29",
            "2024-13",
            "2024-00-01",
            "2024-05-17-18",
            "2024-",
            "May",
        ] {
            assert_eq!(PartialDate::parse_strict(bad), None, "{bad}");
        }
    }

    #[test]
    fn dates_keep_what_is_known() {
        let shown = |text: &str| PartialDate::parse(text).map(|date| date.to_string());
        assert_eq!(shown("2024"), Some("2024".to_owned()));
        assert_eq!(shown("2024-5"), Some("2024-05".to_owned()));
        assert_eq!(shown("2024/05/17"), Some("2024-05-17".to_owned()));
        assert_eq!(shown("2024-05-17T10:00:00Z"), Some("2024-05-17".to_owned()));
        assert_eq!(shown("2024-13-40"), Some("2024".to_owned()));
        assert_eq!(shown("2023-02-29"), Some("2023-02".to_owned()));
        assert_eq!(shown("2024-02-29"), Some("2024-02-29".to_owned()));
        assert_eq!(shown("n.d."), None);
        assert_eq!(
            PartialDate::parse("2024-05").map(PartialDate::as_number),
            Some(20_240_500)
        );
    }
}
