//! Marks the results of upstream servers as untrusted, with the signs of prompt injection in them.

use serde_json::{Map, Value, json};

use super::{ScanSeverity, scan_text};

/// The `_meta` key of the mark.
pub(crate) const UNTRUSTED: &str = "deliberate/untrusted";
/// The bytes of a result that are scanned; a scan of more would take noticeably long.
const MAX_SCANNED_BYTES: usize = 64 * 1024;

/// Adds the mark to a result: which server wrote it, and the kinds of signs in its texts.
pub(crate) fn mark_untrusted(result: &mut Value, server: &str) {
    let mut kinds = find_kinds(result);
    kinds.sort_unstable();
    kinds.dedup();
    if !kinds.is_empty() {
        tracing::warn!(server, ?kinds, "a result looks like prompt injection");
    }
    let Some(fields) = result.as_object_mut() else {
        return;
    };
    let meta = fields
        .entry("_meta")
        .or_insert_with(|| Value::Object(Map::new()));
    if let Some(meta) = meta.as_object_mut() {
        let mut mark = json!({ "server": server });
        if let (false, Some(mark)) = (kinds.is_empty(), mark.as_object_mut()) {
            mark.insert("suspicious".to_owned(), json!(kinds));
        }
        meta.insert(UNTRUSTED.to_owned(), mark);
    }
}

fn find_kinds(result: &Value) -> Vec<&'static str> {
    let blocks = result.get("content").and_then(Value::as_array);
    let texts = blocks.into_iter().flatten().filter_map(|block| {
        let text = block
            .get("text")
            .or_else(|| block.pointer("/resource/text"));
        text.and_then(Value::as_str)
    });
    let mut left = MAX_SCANNED_BYTES;
    let mut kinds = Vec::new();
    for text in texts {
        let part = text.split_at(text.floor_char_boundary(left)).0;
        left -= part.len();
        kinds.extend(suspicious_kinds(part));
        if left == 0 {
            break;
        }
    }
    // Long content must not keep the structured content from being scanned.
    let mut texts = String::new();
    if let Some(structure) = result.get("structuredContent") {
        collect_texts(structure, &mut texts);
        kinds.extend(suspicious_kinds(&texts));
    }
    kinds
}

fn suspicious_kinds(text: &str) -> impl Iterator<Item = &'static str> {
    let findings = scan_text("result", text).findings(|_| None).into_iter();
    // A result is data: it may be long, or hold encoded content.
    findings
        .filter(|it| it.severity == ScanSeverity::Refused)
        .filter(|it| !matches!(it.kind, "length" | "gap"))
        .map(|it| it.kind)
}

/// Collects the names and texts of structured content, a line each.
fn collect_texts(value: &Value, texts: &mut String) {
    if texts.len() >= MAX_SCANNED_BYTES {
        return;
    }
    match value {
        Value::String(text) => add_line(text, texts),
        Value::Array(items) => {
            for item in items {
                collect_texts(item, texts);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                add_line(name, texts);
                collect_texts(field, texts);
            }
        }
        _ => {}
    }
}

fn add_line(text: &str, texts: &mut String) {
    let left = MAX_SCANNED_BYTES.saturating_sub(texts.len());
    texts.push_str(text.split_at(text.floor_char_boundary(left)).0);
    texts.push('\n');
}
