//! Citation styles: by name, or from a user's own `.csl` file.

use std::{fmt, sync::Arc};

use citationberg::{IndependentStyle, LocaleCode};
use hayagriva::archive::ArchivedStyle;
use thiserror::Error;

use super::{style_repair, style_safety};

/// A citation style, ready to format with.
#[derive(Clone)]
pub struct CitationStyle {
    name: String,
    csl: Arc<IndependentStyle>,
}

/// No style has this name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no style {given:?}{}; examples are `ieee`, `apa`, `mla`, `chicago`, `harvard`, `nature`, `vancouver`, `acm` and `ama`", hint(.nearest.as_deref()))]
pub struct UnknownStyle {
    /// The requested name, truncated.
    pub given: String,
    /// The most similar known name.
    pub nearest: Option<String>,
}

/// Why a `.csl` file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StyleError {
    #[error(
        "the style has more than {most} bytes; give a style file from the CSL style repository"
    )]
    TooLong { most: u64 },
    /// It is not a CSL style.
    #[error("the file is not a citation style: {0}; give an independent `.csl` file")]
    Unreadable(String),
    /// It is a dependent style, which only names another one.
    #[error("the style only refers to another one, {parent}; give that one")]
    Dependent {
        /// The style it refers to.
        parent: String,
    },
    /// It would run forever or too long.
    #[error("the style can't be run: {0}")]
    Unsafe(String),
}

fn hint(nearest: Option<&str>) -> String {
    nearest
        .map(|it| format!(", did you mean `{it}`?"))
        .unwrap_or_default()
}

/// Short names and the styles they mean.
const SHORT_NAMES: &[(&str, &str)] = &[
    ("ieee", "ieee"),
    ("apa", "apa"),
    ("mla", "mla"),
    ("chicago", "chicago-author-date"),
    ("chicago-notes", "chicago-notes"),
    ("harvard", "harvard-cite-them-right"),
    ("nature", "nature"),
    ("vancouver", "vancouver"),
    ("acm", "association-for-computing-machinery"),
    ("ama", "american-medical-association"),
    ("acs", "american-chemical-society"),
    ("aps", "american-physics-society"),
    ("aip", "american-institute-of-physics"),
    ("asa", "american-sociological-association"),
    ("apsa", "american-political-science-association"),
    ("asce", "american-society-of-civil-engineers"),
    ("asme", "american-society-of-mechanical-engineers"),
    ("agu", "american-geophysical-union"),
    ("cse", "cse-name-year"),
    ("lncs", "springer-lecture-notes-in-computer-science"),
    ("mdpi", "multidisciplinary-digital-publishing-institute"),
    ("mhra", "modern-humanities-research-association"),
    ("lancet", "the-lancet"),
    ("rsc", "royal-society-of-chemistry"),
    ("turabian", "turabian-author-date"),
    ("iso-690", "iso-690-author-date"),
    ("abnt", "associacao-brasileira-de-normas-tecnicas"),
    ("gost", "gost-r-705-2008-numeric"),
    ("gb-7714", "gb-7714-2015-numeric"),
];

impl CitationStyle {
    /// Finds a style by its short name or its full name in the repository, ignoring case.
    pub fn find(name: &str) -> Result<Self, UnknownStyle> {
        let wanted = name.trim().to_lowercase().replace([' ', '_'], "-");
        let full = SHORT_NAMES
            .iter()
            .find(|it| it.0 == wanted)
            .map_or(wanted.as_str(), |it| it.1);
        let unknown = || UnknownStyle {
            given: deliberate_core::truncate_chars(name, 60),
            nearest: deliberate_core::did_you_mean(&wanted, Self::names()),
        };
        let archived = ArchivedStyle::by_name(full).ok_or_else(unknown)?;
        match archived.get() {
            citationberg::Style::Independent(csl) if csl.bibliography.is_some() => {
                Ok(Self::from_independent(wanted.clone(), csl))
            }
            _ => Err(unknown()),
        }
    }

    fn from_independent(name: String, mut csl: IndependentStyle) -> Self {
        // The guide of Cite Them Right is British; its style does not set the language.
        let is_british = csl.info.id.ends_with("/harvard-cite-them-right");
        if is_british && csl.default_locale.is_none() {
            csl.default_locale = Some(LocaleCode("en-GB".to_owned()));
        }
        style_repair::repair_style(&mut csl);
        Self {
            name,
            csl: Arc::new(csl),
        }
    }

    /// All names, the short ones first.
    pub fn names() -> Vec<&'static str> {
        let mut names: Vec<&str> = SHORT_NAMES.iter().map(|it| it.0).collect();
        // This style has in-text marks only, no bibliography.
        let whole = ArchivedStyle::all()
            .iter()
            .filter(|it| **it != ArchivedStyle::Alphanumeric);
        for style in whole {
            names.extend(
                style
                    .names()
                    .iter()
                    .filter(|it| !SHORT_NAMES.iter().any(|short| short.0 == **it)),
            );
        }
        names
    }

    /// The largest accepted style file; the largest styles in use have about 300 kB.
    pub const MAX_BYTES: u64 = 1_000_000;

    /// Parses a user's own style, in CSL XML.
    pub fn from_csl_xml(xml: &str) -> Result<Self, StyleError> {
        style_safety::check(xml)?;
        let read = citationberg::Style::from_xml(xml).map_err(|err| {
            StyleError::Unreadable(deliberate_core::truncate_chars(&err.to_string(), 200))
        })?;
        let name = read.info().title.value.clone();
        match read {
            citationberg::Style::Independent(csl) => Ok(Self::from_independent(name, csl)),
            citationberg::Style::Dependent(style) => Err(StyleError::Dependent {
                parent: style.parent_link.href,
            }),
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn csl(&self) -> &IndependentStyle {
        &self.csl
    }
}

impl fmt::Debug for CitationStyle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CitationStyle")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
