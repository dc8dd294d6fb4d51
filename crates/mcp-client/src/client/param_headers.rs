//! Arguments that a tool's schema wants in headers (`x-mcp-header`, 2026-07-28), so that what
//! stands between can route by them.

use serde_json::Value;

/// Deeper than this nobody puts one.
const MAX_DEPTH: usize = 8;

/// Name and value of each header that these arguments call for.
pub(super) fn collect_headers(schema: &Value, arguments: &Value) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    collect(schema, arguments, 0, &mut headers);
    headers
}

/// What is wrong with the headers that a schema calls for. A tool with such a schema can't be
/// called as its server wants it, and is left out.
pub(super) fn annotation_problem(schema: &Value) -> Option<String> {
    let mut seen = Vec::new();
    if schema.get("x-mcp-header").is_some() {
        return Some("x-mcp-header stands at the root of the schema".to_owned());
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
                Value::String(text) => text.clone(),
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
            return Err("x-mcp-header stands where no header can be made of it".to_owned());
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
            "the x-mcp-header of {name:?} is no name of a header"
        ));
    };
    let kind = property.get("type").and_then(Value::as_str);
    if !matches!(kind, Some("string" | "integer" | "boolean")) {
        return Err(format!("{name:?} has an x-mcp-header but no simple type"));
    }
    let header = header.to_ascii_lowercase();
    if seen.contains(&header) {
        return Err(format!("two parameters want the header {header:?}"));
    }
    seen.push(header);
    Ok(())
}

/// Whether there is an annotation anywhere in here.
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
