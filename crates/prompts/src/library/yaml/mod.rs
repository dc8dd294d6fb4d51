//! Parses YAML to a tree with the position of each node.
//!
//! Files are untrusted: the size of the input is bounded, and an alias bomb is rejected before it
//! expands. Knows nothing of what the files mean.

pub(crate) mod deserializer;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::{Number, Value};
use serde_saphyr::{Location, Spanned};

/// A position in a file; line and column count from 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SourcePosition {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl From<Location> for SourcePosition {
    fn from(location: Location) -> Self {
        Self {
            line: u32::try_from(location.line()).unwrap_or(u32::MAX),
            column: u32::try_from(location.column()).unwrap_or(u32::MAX),
        }
    }
}

/// A node of the tree.
#[derive(Debug, Clone)]
pub(crate) struct YamlNode {
    pub(crate) position: SourcePosition,
    pub(crate) value: YamlValue,
}

/// The value of a node.
#[derive(Debug, Clone)]
pub(crate) enum YamlValue {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<YamlNode>),
    Map(Vec<(YamlKey, YamlNode)>),
}

/// The key of a map entry.
#[derive(Debug, Clone)]
pub(crate) struct YamlKey {
    pub(crate) position: SourcePosition,
    pub(crate) name: String,
}

/// A YAML syntax error and its position.
#[derive(Debug)]
pub(crate) struct YamlError {
    pub(crate) position: Option<SourcePosition>,
    pub(crate) message: String,
}

/// Parses a file. An empty file is null.
pub(crate) fn parse(source: &str) -> Result<YamlNode, YamlError> {
    serde_saphyr::from_str_with_options(source, parser_options(source.len())).map_err(|error| {
        YamlError {
            position: error
                .location()
                .filter(|location| *location != Location::UNKNOWN)
                .map(SourcePosition::from),
            message: error_message(&error),
        }
    })
}

/// The deepest nesting. The parser calls itself for every level and takes up to 32 KiB of the stack
/// each time.
const MAX_DEPTH: usize = 40;

/// Returns limits that fit any file written by a person and reject files made to expand.
pub(crate) fn parser_options(bytes: usize) -> serde_saphyr::Options {
    let budget = serde_saphyr::budget! {
        max_events: 100_000,
        max_nodes: 50_000,
        max_depth: MAX_DEPTH,
        max_aliases: 200,
        max_anchors: 200,
        max_documents: 1,
        max_merge_keys: 200,
        max_total_scalar_bytes: bytes.saturating_mul(4).saturating_add(4096),
    };
    let mut limits = serde_saphyr::options::AliasLimits::default();
    limits.max_total_replayed_events = 10_000;
    limits.max_replay_stack_depth = 8;
    serde_saphyr::options! {
        budget: budget,
        alias_limits: limits,
        strict_booleans: true,
        emit_comments: false,
        with_snippet: false,
    }
}

/// Returns the message of a parser error without the position, which is reported separately.
fn error_message(error: &serde_saphyr::Error) -> String {
    let whole = error.without_snippet().to_string();
    let first = whole.lines().next().unwrap_or_default();
    let plain = first
        .rsplit_once(" at line ")
        .map_or(first, |(before, _)| before);
    reword_error(plain.trim().trim_end_matches([',', ':', '.', ' ']))
}

/// Rewords parser errors that refer to the parser's settings, which mean nothing to an author.
pub(crate) fn reword_error(said: &str) -> String {
    const DUPLICATE_KEY: &str = "duplicate mapping key";
    if said.contains("budget breached") || said.contains("alias replay") {
        return "it is too long, too deeply nested, or uses too many aliases".to_owned();
    }
    if let Some((_, rest)) = said.split_once(DUPLICATE_KEY) {
        let rest = rest.split(", set ").next().unwrap_or_default();
        let name = rest.trim_start_matches([':', ' ']);
        return if name.is_empty() {
            "a key occurs twice".to_owned()
        } else {
            format!("the key `{name}` occurs twice")
        };
    }
    said.to_owned()
}

impl YamlNode {
    /// Returns the value of a key, if this is a map that has it.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        self.entry(name).map(|(_, node)| node)
    }

    /// Returns the key and value of an entry, if this is a map that has it.
    pub(crate) fn entry(&self, name: &str) -> Option<(&YamlKey, &Self)> {
        match &self.value {
            YamlValue::Map(entries) => entries
                .iter()
                .find(|(key, _)| key.name == name)
                .map(|(key, node)| (key, node)),
            _ => None,
        }
    }

    /// Returns the items of a list; empty if this is not a list.
    pub(crate) fn items(&self) -> &[Self] {
        match &self.value {
            YamlValue::List(items) => items,
            _ => &[],
        }
    }

    /// Returns the entries of a map; empty if this is not a map.
    pub(crate) fn entries(&self) -> &[(YamlKey, Self)] {
        match &self.value {
            YamlValue::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the text, if this is text.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            YamlValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Converts the tree to JSON without positions.
    pub(crate) fn to_json(&self) -> Value {
        match &self.value {
            YamlValue::Null => Value::Null,
            YamlValue::Bool(it) => Value::Bool(*it),
            YamlValue::Number(it) => Value::Number(it.clone()),
            YamlValue::Text(it) => Value::String(it.clone()),
            YamlValue::List(items) => items.iter().map(Self::to_json).collect(),
            YamlValue::Map(entries) => Value::Object(
                entries
                    .iter()
                    .map(|(key, node)| (key.name.clone(), node.to_json()))
                    .collect(),
            ),
        }
    }

    /// Returns the line on which a text begins: a block scalar begins below its `|`.
    pub(crate) fn text_line(&self, source: &str) -> u32 {
        let line = source
            .lines()
            .nth(usize::try_from(self.position.line.saturating_sub(1)).unwrap_or(0))
            .unwrap_or_default();
        let before = usize::try_from(self.position.column.saturating_sub(1)).unwrap_or(0);
        match line.chars().nth(before) {
            Some('|' | '>') => self.position.line.saturating_add(1),
            _ => self.position.line.max(1),
        }
    }
}

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = Spanned::<YamlValue>::deserialize(deserializer)?;
        Ok(Self {
            position: found.referenced.into(),
            value: found.value,
        })
    }
}

impl<'de> Deserialize<'de> for YamlValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(YamlValueVisitor)
    }
}

struct YamlValueVisitor;

impl<'de> Visitor<'de> for YamlValueVisitor {
    type Value = YamlValue;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_bool<E>(self, it: bool) -> Result<YamlValue, E> {
        Ok(YamlValue::Bool(it))
    }

    fn visit_i64<E>(self, it: i64) -> Result<YamlValue, E> {
        Ok(YamlValue::Number(it.into()))
    }

    fn visit_u64<E>(self, it: u64) -> Result<YamlValue, E> {
        Ok(YamlValue::Number(it.into()))
    }

    fn visit_f64<E>(self, it: f64) -> Result<YamlValue, E> {
        Ok(Number::from_f64(it).map_or_else(|| YamlValue::Text(it.to_string()), YamlValue::Number))
    }

    fn visit_i128<E>(self, it: i128) -> Result<YamlValue, E> {
        Ok(YamlValue::Text(it.to_string()))
    }

    fn visit_u128<E>(self, it: u128) -> Result<YamlValue, E> {
        Ok(YamlValue::Text(it.to_string()))
    }

    fn visit_str<E>(self, it: &str) -> Result<YamlValue, E> {
        Ok(YamlValue::Text(it.to_owned()))
    }

    fn visit_string<E>(self, it: String) -> Result<YamlValue, E> {
        Ok(YamlValue::Text(it))
    }

    fn visit_unit<E>(self) -> Result<YamlValue, E> {
        Ok(YamlValue::Null)
    }

    fn visit_none<E>(self) -> Result<YamlValue, E> {
        Ok(YamlValue::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<YamlValue, D::Error> {
        YamlValue::deserialize(inner)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<YamlValue, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(YamlValue::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<YamlValue, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let name = YamlKey {
                position: key.referenced.into(),
                name: key.value,
            };
            entries.push((name, map.next_value()?));
        }
        Ok(YamlValue::Map(entries))
    }
}
