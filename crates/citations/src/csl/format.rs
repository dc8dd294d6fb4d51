//! Formats records in a citation style: the bibliography in the style's order, and the in-text
//! citation of each work.

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

pub const MAX_ENTRIES: usize = 1_000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FormatOptions {
    pub output: OutputFormat,
    /// The language of words such as "and" and "edition", for example `de-DE`; by default the style's.
    pub locale: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormattedBibliography {
    /// In the order of the bibliography.
    pub entries: Vec<FormattedEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FormattedEntry {
    /// The index among the given entries, from 0.
    pub index: usize,
    pub key: String,
    /// The entry of the bibliography.
    pub text: String,
    /// The in-text citation, `(Doe, 2020)` or `[1]`; in a note style, the note.
    pub in_text: String,
    /// The fields that a complete citation needs and the record lacks. Show them together with the
    /// text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<MissingField>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CitationError {
    #[error("{given} works exceed the limit of {MAX_ENTRIES} per call; give fewer")]
    TooMany { given: usize },
    #[error(
        "there is no locale {given:?}; examples are `en-US`, `en-GB`, `de-DE`, `fr-FR`, `es-ES` and `zh-CN`"
    )]
    UnknownLocale {
        /// The requested locale, truncated.
        given: String,
    },
    /// The style uses a feature that the processor does not support.
    #[error("the style {style:?} can't format these works; try another style")]
    Style { style: String },
}

static LOCALES: LazyLock<Vec<Locale>> = LazyLock::new(archive::locales);

/// Formats the works in the style.
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
    // The index in the list is the id, so two equal records stay two entries.
    let items: Vec<Item> = entries
        .iter()
        .enumerate()
        .map(|(at, it)| item::to_csl_item(&at.to_string(), it.article))
        .collect();
    let mut order: Vec<usize> = (0..items.len()).collect();
    let mut rendered = render(&items, style, locale.as_ref(), &order)?;
    let sorted = bibliography_order(&rendered);
    // The processor assigns the letters of `2020a` and `2020b` in the order of citation; they must
    // follow the order of the bibliography.
    if sorted.len() == order.len() && sorted != order {
        rendered = render(&items, style, locale.as_ref(), &sorted)?;
        order = sorted;
    }
    let keys = citation_key::citation_keys(entries);
    let mut texts = bibliography(&rendered, options.output);
    // A style without a bibliography puts everything into its notes.
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

/// An unknown date is missing. It is not "n.d.", which says that the work has no date.
fn mark_missing_date(text: String, article: &Article) -> String {
    if article.date.is_some() || article.title.contains("n.d.") {
        return text;
    }
    text.replace("n.d.", "date missing")
}

/// The entries of the bibliography with their indexes, in its order.
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

/// The indexes of the entries, in the order of the bibliography.
fn bibliography_order(rendered: &Rendered) -> Vec<usize> {
    let items = rendered.bibliography.iter().flat_map(|it| &it.items);
    items.filter_map(|it| it.key.parse().ok()).collect()
}

/// Runs the processor, citing in this order. A panic on an unsupported style becomes an error.
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

/// Normalizes a locale: `de` is `de-DE`, `EN-gb` is `en-GB`.
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
