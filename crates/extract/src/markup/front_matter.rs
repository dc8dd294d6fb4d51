//! The YAML front matter of a Markdown file. Reads the fields that notes and papers have in common,
//! as texts, numbers, lists and persons.

use serde_json::{Map, Value};

use super::html::meta::join_values;
use crate::DocumentMetadata;
use crate::structure::{find_arxiv, find_doi};

/// A longer block, in bytes, is a text that starts with a horizontal rule.
const MAX_BLOCK_BYTES: usize = 100_000;

/// Limits of the values of a field and of the length of a value, in bytes.
const MAX_VALUES: usize = 100;
const MAX_VALUE_BYTES: usize = 20_000;

pub(super) struct FrontMatter {
    pub(super) meta: DocumentMetadata,
    /// The abstract, which such a file has nowhere else.
    pub(super) summary: Option<String>,
}

/// Splits front matter and text; `None` if there is no front matter.
pub(super) fn split_front_matter(text: &str) -> Option<(FrontMatter, &str)> {
    let rest = text.strip_prefix("---")?.trim_start_matches([' ', '\t']);
    let rest = rest.strip_prefix('\n')?;
    let mut length = 0;
    let mut lines = rest.split_inclusive('\n');
    let close = lines.find(|line| {
        let closes = matches!(line.trim_end(), "---" | "...");
        length += if closes { 0 } else { line.len() };
        closes || length > MAX_BLOCK_BYTES
    })?;
    let block = rest.get(..length).filter(|_| length <= MAX_BLOCK_BYTES)?;
    let fields = parse_fields(block)?;
    Some((
        build_front_matter(&fields),
        rest.get(length + close.len()..)?,
    ))
}

/// Parses the fields of a block. A sentence with a colon looks like a field, but its name has
/// spaces.
fn parse_fields(block: &str) -> Option<Map<String, Value>> {
    let budget = serde_saphyr::budget! {
        max_events: 10_000,
        max_nodes: 5_000,
        max_depth: 16,
        max_aliases: 20,
        max_anchors: 20,
        max_documents: 1,
        max_merge_keys: 20,
        max_total_scalar_bytes: 2 * MAX_BLOCK_BYTES,
    };
    let mut aliases = serde_saphyr::options::AliasLimits::default();
    aliases.max_total_replayed_events = 1_000;
    aliases.max_replay_stack_depth = 4;
    let options = serde_saphyr::options! {
        budget: budget,
        alias_limits: aliases,
        emit_comments: false,
        with_snippet: false,
    };
    let read: Map<String, Value> = serde_saphyr::from_str_with_options(block, options).ok()?;
    let named = |it: char| it.is_alphanumeric() || matches!(it, '_' | '-' | '.');
    let plain = read.keys().all(|key| key.chars().all(named));
    let fields = read
        .into_iter()
        .map(|(key, value)| (key.to_lowercase().replace('-', "_"), value));
    let fields: Map<String, Value> = fields.collect();
    (plain && !fields.is_empty()).then_some(fields)
}

/// The texts of a field; of persons their names.
fn field_texts(value: &Value) -> Vec<String> {
    let all = match value {
        Value::Array(items) => items.iter().filter_map(field_text).collect(),
        other => Vec::from_iter(field_text(other)),
    };
    all.into_iter().take(MAX_VALUES).collect()
}

fn field_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(said) => said.split_whitespace().collect::<Vec<_>>().join(" "),
        Value::Number(number) => number.to_string(),
        Value::Object(person) => {
            let part = |name: &str| {
                person
                    .get(name)
                    .filter(|it| it.is_string())
                    .and_then(field_text)
            };
            let parts = || Some(format!("{}, {}", part("family")?, part("given")?));
            part("name").or_else(parts).or_else(|| part("family"))?
        }
        _ => return None,
    };
    (!text.is_empty() && text.len() <= MAX_VALUE_BYTES).then_some(text)
}

/// The texts of the first of these fields that is not empty, and whether it is a list.
fn first_texts(fields: &Map<String, Value>, names: &[&str]) -> Option<(Vec<String>, bool)> {
    names.iter().find_map(|name| {
        let value = fields.get(*name)?;
        let said = field_texts(value);
        (!said.is_empty()).then(|| (said, !value.is_string()))
    })
}

fn first_text(fields: &Map<String, Value>, names: &[&str]) -> Option<String> {
    first_texts(fields, names)?.0.into_iter().next()
}

fn build_front_matter(fields: &Map<String, Value>) -> FrontMatter {
    let authors = first_texts(fields, &["authors", "author"]);
    let keywords = first_texts(fields, &["keywords", "tags", "categories", "subject"]);
    let arxiv = first_text(fields, &["arxiv_id", "arxiv", "eprint"]);
    let meta = DocumentMetadata {
        title: first_text(fields, &["title"]),
        authors: authors.as_ref().and_then(|(names, _)| join_values(names)),
        author_list: match authors {
            Some((names, true)) => names,
            _ => Vec::new(),
        },
        keywords: keywords.and_then(|(words, _)| join_values(&words)),
        published: first_text(fields, &["date", "published", "publication_date", "year"]),
        venue: first_text(fields, &["journal", "venue", "container_title"]),
        language: first_text(fields, &["lang", "language"]),
        doi: first_text(fields, &["doi"]).and_then(|text| find_doi(&text)),
        arxiv_id: arxiv.and_then(|text| find_arxiv(&format!("arxiv:{text}"))),
        ..DocumentMetadata::default()
    };
    FrontMatter {
        meta,
        summary: first_text(fields, &["abstract"]),
    }
}
