//! Records in a citation style: the bibliography in the style's order, and each work as it is
//! cited in the text.

use std::{panic, sync::LazyLock};

use citationberg::{Locale, LocaleCode, json::Item};
use deliberate_core::Article;
use hayagriva::{
    BibliographyDriver, BibliographyRequest, CitationItem, CitationRequest, Rendered, archive,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{item, output_markup, punctuation_cleanup};
use crate::{
    BibliographyEntry, CitationStyle, MissingField, OutputFormat, citation_key, missing_fields,
    text_normalization,
};

/// The most entries formatted at once.
pub const MAX_ENTRIES: usize = 1_000;

/// How to format.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FormatOptions {
    /// What form the text is to have.
    pub output: OutputFormat,
    /// The language of words like "and" and "edition", as `de-DE`; the style's own if absent.
    pub locale: Option<String>,
}

/// Works in a citation style.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormattedBibliography {
    /// The entries, in the order of the bibliography.
    pub entries: Vec<FormattedEntry>,
}

/// A work in a citation style.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormattedEntry {
    /// Its place among the entries that were given, from 0.
    pub index: usize,
    /// Its citation key.
    pub key: String,
    /// As it stands in the bibliography.
    pub text: String,
    /// As it is cited in the text, `(Doe, 2020)` or `[1]`; in a style of notes, the note.
    pub in_text: String,
    /// What the record lacks for a whole citation. A text with something here has to be shown
    /// with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingField>,
}

/// Why works can't be formatted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CitationError {
    /// More than can be formatted at once.
    #[error("{given} works are more than the {MAX_ENTRIES} that are formatted at once; give fewer")]
    TooMany {
        /// How many there were.
        given: usize,
    },
    /// A locale that nobody knows.
    #[error(
        "no locale is called {given:?}; `en-US`, `en-GB`, `de-DE`, `fr-FR`, `es-ES` and `zh-CN` are among those there are"
    )]
    UnknownLocale {
        /// What was asked for, cut short.
        given: String,
    },
    /// The style does what its processor can't.
    #[error("the style {style:?} can't format these works; try another style")]
    Style {
        /// Its name.
        style: String,
    },
}

static LOCALES: LazyLock<Vec<Locale>> = LazyLock::new(archive::locales);

/// The works in the style.
pub fn format(
    entries: &[BibliographyEntry<'_>],
    style: &CitationStyle,
    options: &FormatOptions,
) -> Result<FormattedBibliography, CitationError> {
    if entries.len() > MAX_ENTRIES {
        return Err(CitationError::TooMany {
            given: entries.len(),
        });
    }
    let locale = options.locale.as_deref().map(parse_locale).transpose()?;
    // The place in the list is the id: two equal records stay two entries.
    let items: Vec<Item> = entries
        .iter()
        .enumerate()
        .map(|(at, it)| item::to_csl_item(&at.to_string(), it.article))
        .collect();
    let mut order: Vec<usize> = (0..items.len()).collect();
    let mut rendered = render(&items, style, locale.as_ref(), &order)?;
    let sorted = bibliography_order(&rendered);
    // The letters of `2020a` and `2020b` go by the order of citing; they have to go by that of
    // the bibliography.
    if sorted.len() == order.len() && sorted != order {
        rendered = render(&items, style, locale.as_ref(), &sorted)?;
        order = sorted;
    }
    let keys = citation_key::citation_keys(entries);
    let mut texts = bibliography(&rendered, options.output);
    // A style without a bibliography says everything in its notes.
    if texts.is_empty() {
        texts = (0..entries.len()).map(|at| (at, None)).collect();
    }
    let formatted = texts.into_iter().filter_map(|(index, text)| {
        let article = entries.get(index)?.article;
        let cited_as = order.iter().position(|it| *it == index)?;
        let cited = &rendered.citations.get(cited_as)?.citation;
        let in_text = mark_missing_date(
            punctuation_cleanup::clean_punctuation(
                &output_markup::render_elements(cited, options.output),
                article,
            ),
            article,
        );
        let text = text.map(|it| {
            mark_missing_date(
                punctuation_cleanup::clean_punctuation(&it, article),
                article,
            )
        });
        Some(FormattedEntry {
            index,
            key: keys.get(index)?.clone(),
            text: text.unwrap_or_else(|| in_text.clone()),
            in_text,
            missing: missing_fields::missing_fields(article),
        })
    });
    Ok(FormattedBibliography {
        entries: formatted.collect(),
    })
}

/// A date that nobody knows is missing, and is not "n.d.", which says that the work has none.
fn mark_missing_date(text: String, article: &Article) -> String {
    if article.date.is_some() || article.title.contains("n.d.") {
        return text;
    }
    text.replace("n.d.", "date missing")
}

/// The texts of the bibliography with the places of their entries, in its order.
fn bibliography(rendered: &Rendered, output: OutputFormat) -> Vec<(usize, Option<String>)> {
    let items = rendered.bibliography.iter().flat_map(|it| &it.items);
    items
        .filter_map(|item| {
            let index = item.key.parse().ok()?;
            let label = item
                .first_field
                .as_ref()
                .map(|it| output_markup::render_element(it, output));
            let content = output_markup::render_elements(&item.content, output);
            let text = [label.unwrap_or_default(), content].join(" ");
            Some((index, text_normalization::non_empty_line(&text)))
        })
        .collect()
}

/// The places of the entries, in the order of the bibliography.
fn bibliography_order(rendered: &Rendered) -> Vec<usize> {
    let items = rendered.bibliography.iter().flat_map(|it| &it.items);
    items.filter_map(|it| it.key.parse().ok()).collect()
}

/// Runs the processor, citing in this order. It may panic on a style it was not made for; that is an error here.
fn render(
    items: &[Item],
    style: &CitationStyle,
    locale: Option<&LocaleCode>,
    order: &[usize],
) -> Result<Rendered, CitationError> {
    let run = || {
        let mut driver = BibliographyDriver::new();
        for (at, item) in order.iter().filter_map(|it| items.get(*it)).enumerate() {
            let cited = vec![CitationItem::with_entry(item)];
            driver.citation(CitationRequest::new(
                cited,
                style.csl(),
                locale.cloned(),
                &LOCALES,
                Some(at + 1),
            ));
        }
        driver.finish(BibliographyRequest::new(
            style.csl(),
            locale.cloned(),
            &LOCALES,
        ))
    };
    panic::catch_unwind(panic::AssertUnwindSafe(run)).map_err(|_| CitationError::Style {
        style: style.name().to_owned(),
    })
}

/// The locale as its file is called: `de` is `de-DE`, `EN-gb` is `en-GB`.
fn parse_locale(given: &str) -> Result<LocaleCode, CitationError> {
    let wanted = given.trim().replace('_', "-").to_lowercase();
    let codes = || LOCALES.iter().filter_map(|it| it.lang.clone());
    let exact = codes().find(|it| it.0.to_lowercase() == wanted);
    let preferred = match wanted.as_str() {
        "en" => Some("en-US"),
        "de" => Some("de-DE"),
        "fr" => Some("fr-FR"),
        "es" => Some("es-ES"),
        "pt" => Some("pt-PT"),
        "zh" => Some("zh-CN"),
        _ => None,
    };
    let by_preference = preferred.map(|it| LocaleCode(it.to_owned()));
    let by_language =
        || codes().find(|it| it.0.to_lowercase().split('-').next() == Some(wanted.as_str()));
    exact
        .or(by_preference)
        .or_else(by_language)
        .ok_or_else(|| CitationError::UnknownLocale {
            given: deliberate_core::truncate_chars(given, 40),
        })
}
