//! DOIs and arXiv ids, normalized so that equal identifiers compare equal.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A DOI in lower case, without a resolver URL.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(into = "String", try_from = "String")]
#[schemars(with = "String")]
pub struct Doi(String);

/// An arXiv id without its version: `2301.00001` or `hep-th/9901001`.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(into = "String", try_from = "String")]
#[schemars(with = "String")]
pub struct ArxivId(String);

/// No DOI in use is longer.
const MAX_DOI_LEN: usize = 300;

impl Doi {
    /// Parses a DOI, with or without `doi:` or a resolver URL before it.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let lower = text.to_lowercase();
        let bare = strip_resolver(&lower)?;
        let bare = bare.strip_prefix("doi:").unwrap_or(bare).trim();
        let (prefix, suffix) = bare.split_once('/')?;
        let registrant = prefix.strip_prefix("10.")?;
        let (number, part) = registrant.split_once('.').unwrap_or((registrant, "0"));
        let digits = |it: &str| it.split('.').all(|it| !it.is_empty() && all_digits(it));
        let fine = digits(number)
            && digits(part)
            && (4..=9).contains(&number.len())
            && !suffix.is_empty()
            && bare.len() <= MAX_DOI_LEN
            && !bare.chars().any(|it| it.is_whitespace() || it.is_control());
        fine.then(|| Self(bare.to_owned()))
    }

    /// Returns the DOI as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the resolver URL of the DOI.
    pub fn url(&self) -> String {
        format!("https://doi.org/{}", self.0)
    }

    /// Returns the arXiv id if this is a DOI that arXiv assigned.
    pub fn arxiv_id(&self) -> Option<ArxivId> {
        ArxivId::parse(self.0.strip_prefix("10.48550/arxiv.")?)
    }
}

impl ArxivId {
    /// Parses an id, with or without `arXiv:`, a URL before it, or a version.
    pub fn parse(text: &str) -> Option<Self> {
        let lower = text.trim().to_lowercase();
        let bare = strip_prefixes(
            &lower,
            &["https://", "http://"],
            &["www.arxiv.org/", "export.arxiv.org/", "arxiv.org/"],
        );
        let bare = strip_prefixes(bare, &["arxiv:", "arxiv."], &[]);
        let bare = strip_prefixes(bare, &["abs/", "pdf/", "html/"], &[]);
        let bare = bare.strip_suffix(".pdf").unwrap_or(bare).trim();
        let bare = strip_version(bare);
        (is_new_style_id(bare) || is_old_style_id(bare)).then(|| Self(bare.to_owned()))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the URL of the abstract page.
    pub fn url(&self) -> String {
        format!("https://arxiv.org/abs/{}", self.0)
    }

    /// Returns the URL of the PDF.
    pub fn pdf_url(&self) -> String {
        format!("https://arxiv.org/pdf/{}", self.0)
    }

    /// Returns the DOI that arXiv assigns to the paper.
    pub fn doi(&self) -> Doi {
        Doi(format!("10.48550/arxiv.{}", self.0))
    }
}

/// Returns the path after a resolver's address, or nothing for any other URL.
fn strip_resolver(text: &str) -> Option<&str> {
    let address = ["https://", "http://"]
        .iter()
        .find_map(|it| text.strip_prefix(it));
    let resolvers = ["dx.doi.org/", "www.doi.org/", "doi.org/"];
    let behind = |text: &'_ str| {
        resolvers
            .iter()
            .find_map(|it| text.strip_prefix(it).map(str::len))
    };
    match address {
        Some(address) => address.get(address.len() - behind(address)?..),
        None => Some(
            behind(text)
                .and_then(|left| text.get(text.len() - left..))
                .unwrap_or(text),
        ),
    }
}

/// Removes one of the `first` prefixes, then one of the `then` prefixes.
fn strip_prefixes<'a>(text: &'a str, first: &[&str], then: &[&str]) -> &'a str {
    let without = |text: &'a str, any: &[&str]| {
        let found = any.iter().find_map(|it| text.strip_prefix(it));
        found.unwrap_or(text)
    };
    without(without(text, first), then)
}

/// Removes a version: a `v` and digits at the end. A `v` elsewhere is part of an archive's name.
fn strip_version(text: &str) -> &str {
    match text.rsplit_once('v') {
        Some((id, version)) if !version.is_empty() && all_digits(version) && !id.is_empty() => id,
        _ => text,
    }
}

/// Recognizes `2301.00001`: year, month, four or five digits.
fn is_new_style_id(text: &str) -> bool {
    let Some((date, number)) = text.split_once('.') else {
        return false;
    };
    date.len() == 4 && all_digits(date) && matches!(number.len(), 4 | 5) && all_digits(number)
}

/// Recognizes `hep-th/9901001` and `math.gt/0309136`.
fn is_old_style_id(text: &str) -> bool {
    let Some((archive, number)) = text.split_once('/') else {
        return false;
    };
    let letters = |it: char| it.is_ascii_lowercase() || it == '-' || it == '.';
    !archive.is_empty()
        && archive.len() <= 20
        && archive.chars().all(letters)
        && number.len() == 7
        && all_digits(number)
}

fn all_digits(text: &str) -> bool {
    text.chars().all(|it| it.is_ascii_digit())
}

macro_rules! string_id {
    ($name:ident, $what:literal) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::parse(&text).ok_or_else(|| format!("{text:?} is no {}", $what))
            }
        }
    };
}

string_id!(Doi, "DOI");
string_id!(ArxivId, "arXiv id");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_form_of_a_doi() {
        for text in [
            "10.1038/S41586-020-2649-2",
            "doi:10.1038/s41586-020-2649-2",
            "https://doi.org/10.1038/s41586-020-2649-2",
            " http://dx.doi.org/10.1038/s41586-020-2649-2 ",
        ] {
            let doi = Doi::parse(text).map(String::from);
            assert_eq!(doi.as_deref(), Some("10.1038/s41586-020-2649-2"), "{text}");
        }
        for text in [
            "",
            "10.1038",
            "10.1038/",
            "11.1038/x",
            "10.x/y",
            "10.1/x y",
            "hello/10.1038/x",
            "http://10.0.0.5/x.pdf",
            "10.0.0.5/x.pdf",
            "https://10.1038/x",
            "https://example.org/10.1038/x",
        ] {
            assert_eq!(Doi::parse(text), None, "{text}");
        }
    }

    #[test]
    fn one_form_of_an_arxiv_id() {
        for (text, id) in [
            ("2301.00001", "2301.00001"),
            ("arXiv:2301.00001v12", "2301.00001"),
            ("https://arxiv.org/abs/2301.00001v2", "2301.00001"),
            ("http://export.arxiv.org/pdf/2301.00001.pdf", "2301.00001"),
            ("hep-th/9901001", "hep-th/9901001"),
            ("arxiv.org/abs/math.GT/0309136v1", "math.gt/0309136"),
            ("solv-int/9701001v1", "solv-int/9701001"),
            ("10.48550/arXiv.2301.00001", ""),
        ] {
            let found = ArxivId::parse(text).map(String::from).unwrap_or_default();
            assert_eq!(found, id, "{text}");
        }
        let doi = Doi::parse("10.48550/arXiv.2301.00001").and_then(|it| it.arxiv_id());
        assert_eq!(doi.map(String::from).as_deref(), Some("2301.00001"));
        assert_eq!(ArxivId::parse("v1"), None);
        assert_eq!(ArxivId::parse("2301.123"), None);
    }
}
