//! A typed tool result that keeps every field of the original.

use serde_json::{Map, Value};

use super::{
    base64_data,
    part::{ContentPart, EmbeddedContents, PartKind, merge_in_order},
};

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct McpToolResult {
    /// The content parts, in order.
    pub parts: Vec<ContentPart>,
    /// The structured content, if the tool returns it.
    pub structured: Option<Value>,
    /// Whether the tool reports that it failed.
    pub is_error: bool,
    /// The result's `_meta`, which is meant for programs.
    pub meta: Option<Map<String, Value>>,
    /// All other fields, including malformed ones.
    pub extra: Map<String, Value>,
    /// The order of the fields; none if the result was created and not read.
    order: Option<Vec<String>>,
    /// The whole value, if it was not an object.
    raw: Option<Value>,
}

impl McpToolResult {
    /// Creates a result from parts.
    pub fn new(parts: Vec<ContentPart>) -> Self {
        Self {
            parts,
            ..Self::default()
        }
    }

    /// Reads the result of `tools/call`. It never fails: malformed fields are kept in `extra`, and
    /// a result without content has no parts.
    pub fn from_value(result: &Value) -> Self {
        let Value::Object(fields) = result else {
            return Self {
                parts: vec![PartKind::Opaque(result.clone()).into()],
                raw: Some(result.clone()),
                ..Self::default()
            };
        };
        let mut out = Self {
            order: Some(fields.keys().cloned().collect()),
            ..Self::default()
        };
        for (key, value) in fields {
            match (key.as_str(), value) {
                ("content", Value::Array(blocks)) => {
                    out.parts = blocks.iter().map(ContentPart::from_value).collect();
                }
                ("structuredContent", value) => out.structured = Some(value.clone()),
                ("isError", Value::Bool(failed)) => out.is_error = *failed,
                ("_meta", Value::Object(meta)) => out.meta = Some(meta.clone()),
                _ => {
                    out.extra.insert(key.clone(), value.clone());
                }
            }
        }
        out
    }

    /// Writes the result in the protocol's form; a result that was read is written unchanged.
    pub fn to_value(&self) -> Value {
        if let Some(whole) = &self.raw {
            return whole.clone();
        }
        let order = self.order.as_deref().unwrap_or_default();
        // A well-formed field was removed from the other fields when it was read.
        let read = |key: &str| order.iter().any(|it| it == key) && !self.extra.contains_key(key);
        let mut known = Map::new();
        if self.order.is_none() || !self.parts.is_empty() || read("content") {
            let blocks = self.parts.iter().map(ContentPart::to_value).collect();
            known.insert("content".to_owned(), blocks);
        }
        if let Some(value) = &self.structured {
            known.insert("structuredContent".to_owned(), value.clone());
        }
        if self.is_error || read("isError") {
            known.insert("isError".to_owned(), Value::Bool(self.is_error));
        }
        if let Some(meta) = &self.meta {
            known.insert("_meta".to_owned(), Value::Object(meta.clone()));
        }
        merge_in_order(known, &self.extra, order)
    }

    /// Returns all text, one part per line; a part that is not text becomes a short description.
    /// Without parts it is the structured content.
    pub fn text(&self) -> String {
        if let Some(value) = &self.structured
            && self.parts.is_empty()
        {
            return value.to_string();
        }
        let lines: Vec<String> = self.parts.iter().map(ContentPart::to_text).collect();
        lines.join("\n")
    }

    /// Returns the text, if the result is a single text part.
    pub fn single_text(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [
                ContentPart {
                    kind: PartKind::Text(text),
                    ..
                },
            ] => Some(text),
            _ => None,
        }
    }
}

impl ContentPart {
    /// Returns the part as text: its text, or a short description.
    pub fn to_text(&self) -> String {
        match &self.kind {
            PartKind::Text(text) => text.clone(),
            PartKind::Image(it) => media_summary("image", &it.mime, &it.data),
            PartKind::Audio(it) => media_summary("audio", &it.mime, &it.data),
            PartKind::Resource(it) => match &it.contents {
                EmbeddedContents::Text(text) => text.clone(),
                EmbeddedContents::Blob(blob) => {
                    let mime = it.mime.as_deref().unwrap_or("data");
                    let size = base64_data::format_size(base64_data::decoded_size(blob));
                    format!(
                        "[resource {} {}, {size}]",
                        truncate_line(&it.uri),
                        truncate_line(mime)
                    )
                }
            },
            PartKind::Link(it) => {
                let mut line = format!(
                    "[link {}: {}",
                    truncate_line(link_name(&it.name, it.title.as_deref())),
                    truncate_line(&it.uri)
                );
                if let Some(mime) = &it.mime {
                    line = format!("{line}, {}", truncate_line(mime));
                }
                if let Some(size) = it.size {
                    let size = usize::try_from(size).unwrap_or(usize::MAX);
                    line = format!("{line}, {}", base64_data::format_size(size));
                }
                line + "]"
            }
            PartKind::Opaque(value) => {
                let kind = value
                    .get("type")
                    .and_then(Value::as_str)
                    .unwrap_or("content");
                format!("[unknown {}]", truncate_line(kind))
            }
        }
    }
}

fn link_name<'a>(name: &'a str, title: Option<&'a str>) -> &'a str {
    title.unwrap_or(name)
}

fn media_summary(kind: &str, mime: &str, base64: &str) -> String {
    format!(
        "[{kind} {}, {}]",
        truncate_line(mime),
        base64_data::format_size(base64_data::decoded_size(base64))
    )
}

/// Shortens a name from the server to one line, because it becomes part of a line.
fn truncate_line(text: &str) -> String {
    let clean = text
        .chars()
        .map(|it| if it.is_control() { ' ' } else { it });
    clean.take(200).collect()
}
