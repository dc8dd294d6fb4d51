//! Writes CSL-JSON for Zotero and pandoc.

use deliberate_core::{Article, Author};
use serde_json::{Map, Value, json};

use super::{RETRACTED, authors};
use crate::{BibliographyEntry, citation_key, csl::item, name_suffix, text_normalization};

pub fn to_csl_json(entries: &[BibliographyEntry<'_>]) -> String {
    let keys = citation_key::citation_keys(entries);
    let items: Vec<Value> = entries
        .iter()
        .zip(&keys)
        .map(|(entry, key)| item(key, entry.article))
        .collect();
    format!("{:#}\n", Value::Array(items))
}

fn item(key: &str, article: &Article) -> Value {
    let mut fields = Map::new();
    fields.insert("id".to_owned(), key.into());
    fields.insert("type".to_owned(), item::csl_type(article).into());
    for (name, value) in item::text_fields(article) {
        fields.insert(name.to_owned(), value.into());
    }
    let names: Vec<Value> = authors(article).map(|it| name(&it)).collect();
    if !names.is_empty() {
        fields.insert("author".to_owned(), names.into());
    }
    if let Some(date) = article.date {
        fields.insert(
            "issued".to_owned(),
            json!({"date-parts": [item::date_parts(date)]}),
        );
    }
    let keywords: Vec<String> = article
        .keywords
        .iter()
        .filter_map(|it| text_normalization::non_empty_line(&it.replace([',', ';'], " ")))
        .collect();
    if !keywords.is_empty() {
        fields.insert("keyword".to_owned(), keywords.join(", ").into());
    }
    if article.retracted == Some(true) {
        fields.insert("status".to_owned(), RETRACTED.to_lowercase().into());
    }
    if let Some(text) = text_normalization::optional_line(article.summary.as_ref()) {
        fields.insert("abstract".to_owned(), text.into());
    }
    Value::Object(fields)
}

fn name(author: &Author) -> Value {
    if author.organisation {
        return json!({"literal": author.family});
    }
    let mut name = Map::new();
    match particle(&author.family) {
        Some((particle, family)) => {
            name.insert("non-dropping-particle".to_owned(), particle.into());
            name.insert("family".to_owned(), family.into());
        }
        None => {
            name.insert("family".to_owned(), author.family.as_str().into());
        }
    }
    if let Some((given, suffix)) = author.given.as_deref().map(name_suffix::split_suffix) {
        name.insert("given".to_owned(), given.into());
        if let Some(suffix) = suffix {
            name.insert("suffix".to_owned(), suffix.into());
        }
    }
    Value::Object(name)
}

/// Splits the leading lower-case words of a family name: `van der` and `Maaten`.
fn particle(family: &str) -> Option<(&str, &str)> {
    let words = family.match_indices(' ').map(|it| it.0);
    let starts_small = |it: &str| it.starts_with(char::is_lowercase);
    let rest_is_large = |at: &usize| family.get(at + 1..).is_some_and(|it| !starts_small(it));
    let at = words.into_iter().find(rest_is_large)?;
    starts_small(family).then_some((family.get(..at)?, family.get(at + 1..)?))
}
