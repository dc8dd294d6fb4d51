//! Arguments that a tool's schema requests as HTTP headers (`x-mcp-header`, 2026-07-28), so that
//! intermediaries can route by them.

use deliberate_json_schema::marked_integer;
use serde_json::Value;

/// The greatest depth of an annotation; no real schema nests them deeper.
const MAX_DEPTH: usize = 8;

/// Collects the name and value of each header that the schema requests for these arguments.
pub(super) fn collect_headers(schema: &Value, arguments: &Value) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    collect(schema, arguments, 0, &mut headers);
    headers
}

/// Describes what is wrong with the header annotations of a schema. A tool with such a schema
/// cannot be called as its server requires, and is left out.
pub(super) fn annotation_problem(schema: &Value) -> Option<String> {
    let mut seen = Vec::new();
    if schema.get("x-mcp-header").is_some() {
        return Some("x-mcp-header is at the root of the schema".to_owned());
    }
    check(schema, 0, &mut seen).err()
}

fn collect(schema: &Value, arguments: &Value, depth: usize, headers: &mut Vec<(String, String)>) {
    let properties = schema.get("properties").and_then(Value::as_object);
    if depth > MAX_DEPTH {
        return;
    }
    for (name, property) in properties.into_iter().flatten() {
        let Some(value) = arguments.get(name) else {
            continue;
        };
        if let Some(header) = property.get("x-mcp-header").and_then(Value::as_str) {
            let text = match value {
                Value::String(text) => marked_integer(text).unwrap_or(text).to_owned(),
                Value::Bool(yes) => yes.to_string(),
                Value::Number(number) => number.to_string(),
                _ => continue,
            };
            headers.push((header.to_owned(), text));
        }
        collect(property, value, depth + 1, headers);
    }
}

fn check(schema: &Value, depth: usize, seen: &mut Vec<String>) -> Result<(), String> {
    let Some(fields) = schema.as_object() else {
        return Ok(());
    };
    for (keyword, value) in fields {
        if keyword == "properties" {
            for (name, property) in value.as_object().into_iter().flatten() {
                if let Some(header) = property.get("x-mcp-header") {
                    annotation(name, property, header, seen)?;
                }
                if depth < MAX_DEPTH {
                    check(property, depth + 1, seen)?;
                }
            }
        } else if has_any(value, depth) {
            return Err("x-mcp-header is in a place that cannot become a header".to_owned());
        }
    }
    Ok(())
}

fn annotation(
    name: &str,
    property: &Value,
    header: &Value,
    seen: &mut Vec<String>,
) -> Result<(), String> {
    let Some(header) = header.as_str().filter(|header| {
        let fine = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        !header.is_empty() && header.chars().all(fine)
    }) else {
        return Err(format!(
            "the x-mcp-header of {name:?} is not a valid header name"
        ));
    };
    let kind = property.get("type").and_then(Value::as_str);
    if !matches!(kind, Some("string" | "integer" | "boolean")) {
        return Err(format!(
            "{name:?} has an x-mcp-header, but its type is not a simple one"
        ));
    }
    let header = header.to_ascii_lowercase();
    if seen.contains(&header) {
        return Err(format!("two parameters use the header {header:?}"));
    }
    seen.push(header);
    Ok(())
}

/// Returns true if the value contains an annotation at any depth.
fn has_any(value: &Value, depth: usize) -> bool {
    if depth > MAX_DEPTH * 2 {
        return false;
    }
    match value {
        Value::Object(fields) => {
            fields.contains_key("x-mcp-header")
                || fields.values().any(|value| has_any(value, depth + 1))
        }
        Value::Array(items) => items.iter().any(|value| has_any(value, depth + 1)),
        _ => false,
    }
}
