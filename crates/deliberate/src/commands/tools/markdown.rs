//! The reference of the tools as a page: their schemas as tables, a row for every field.

use std::{
    collections::HashSet,
    io::{self, Write},
};

use deliberate_toolkit::ToolInfo;
use serde_json::{Value, json};

/// The answer of a call that waits for its client, the same for every tool.
const NEEDS_REPLY: &str = "needs_reply";
const STILL_RUNNING: &str = "still_running";

/// What the page begins with.
const INTRODUCTION: &str = "\
# Tools

Made by `deliberate tools --markdown`.

In the tables, `config.max_depth` is the field `max_depth` of `config`, `branches[].name` the field
`name` of every item of `branches`, and `counts.*` the value under any name in `counts`. A required
field of an answer is always there, even if it is null; others are left out when they have nothing
to say.
";

/// What is said before the fields of `needs_reply`.
const NEEDS_REPLY_INTRODUCTION: &str = "
## needs_reply

Where there is no model to ask, a tool that thinks answers with this field in place of the others.
The client's own model thinks about each ask and calls `reasoning_resume` with the id and its
replies, one for each ask and in their order. The answer to that is the tool's own, or a further
`needs_reply`.
";

/// What is said before the fields of `still_running`.
const STILL_RUNNING_INTRODUCTION: &str = "
## still_running

A call that takes longer than `limits.answer_within_ms` answers with this field in place of the
others, before its client gives up, and runs on. `reasoning_resume` with the id alone waits for its
answer, as often as needed; also after the server was started again, which then runs the call anew
from its start.
";

/// Prints the page.
pub(super) fn print_page(tools: &[ToolInfo<'_>], output: &mut dyn Write) -> io::Result<()> {
    write!(output, "{INTRODUCTION}{NEEDS_REPLY_INTRODUCTION}")?;
    print_table("field", &needs_reply_schema(), output)?;
    write!(output, "{STILL_RUNNING_INTRODUCTION}")?;
    print_table("field", &still_running_schema(), output)?;
    for tool in tools {
        let about = tool.meta;
        writeln!(output, "\n## {}\n\n{}", about.name, about.description)?;
        print_table("argument", tool.input_schema, output)?;
        print_table("answer", tool.output_schema, output)?;
    }
    Ok(())
}

/// The schema of [`deliberate_toolkit::NeedsReply`].
fn needs_reply_schema() -> Value {
    let message = json!({
        "type": "object",
        "properties": {
            "role": { "enum": ["user", "assistant"], "description": "Who speaks" },
            "text": { "type": "string", "description": "What is said" },
        },
        "required": ["role", "text"],
    });
    let ask = json!({
        "type": "object",
        "properties": {
            "key": { "type": "string", "description": "Names the ask" },
            "system": { "type": "string", "description": "The instructions" },
            "messages": {
                "type": "array",
                "items": message,
                "description": "What it is about: earlier steps, then the question",
            },
            "schema": {
                "type": "object",
                "description": "JSON Schema of the reply, which is an object, or text with one",
            },
        },
        "required": ["key", "system", "messages", "schema"],
    });
    json!({
        "properties": {
            "id": { "type": "string", "description": "Names the call, for `reasoning_resume`" },
            "asks": {
                "type": "array",
                "items": ask,
                "description": "What to think about, a reply for each",
            },
            "next": { "type": "string", "description": "What to do, in a sentence" },
        },
        "required": ["id", "asks", "next"],
    })
}

/// The schema of [`deliberate_toolkit::StillRunning`].
fn still_running_schema() -> Value {
    json!({
        "properties": {
            "id": { "type": "string", "description": "Names the call, for `reasoning_resume`" },
            "doing": { "type": "string", "description": "What it was doing last; left out if nothing is known" },
            "next": { "type": "string", "description": "What to do, in a sentence" },
        },
        "required": ["id", "next"],
    })
}

/// One field of a schema, however deep.
struct SchemaFieldRow {
    name: String,
    kind: String,
    is_required: bool,
    description: String,
}

/// A table of the fields of a schema, if it has any.
fn print_table(heading: &str, schema: &Value, output: &mut dyn Write) -> io::Result<()> {
    let mut rows = Vec::new();
    collect_rows("", schema, &mut rows);
    // Alternatives may have fields of the same name.
    let mut seen = HashSet::new();
    rows.retain(|row| seen.insert(row.name.clone()));
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(
        output,
        "\n| {heading} | type | | meaning |\n|---|---|---|---|"
    )?;
    for row in &rows {
        let required = if row.is_required { "required" } else { "" };
        let (name, kind, meaning) = (&row.name, &row.kind, &row.description);
        writeln!(output, "| `{name}` | {kind} | {required} | {meaning} |")?;
    }
    Ok(())
}

/// Adds the fields of a schema, each followed by its own.
fn collect_rows(before: &str, schema: &Value, rows: &mut Vec<SchemaFieldRow>) {
    let dotted = |name: &str| match before {
        "" => name.to_owned(),
        before => format!("{before}.{name}"),
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        if before.is_empty() && [NEEDS_REPLY, STILL_RUNNING].contains(&name.as_str()) {
            rows.push(SchemaFieldRow {
                name: name.clone(),
                kind: "object".to_owned(),
                is_required: false,
                description: format!("In place of the others: see [{name}](#{name})"),
            });
            continue;
        }
        let name_before = dotted(name);
        rows.push(build_row(
            name_before.clone(),
            property,
            requires(schema, name),
        ));
        collect_rows(&name_before, property, rows);
    }
    if let Some(any) = schema
        .get("additionalProperties")
        .filter(|it| it.is_object())
    {
        let any_name = dotted("*");
        rows.push(build_row(any_name.clone(), any, false));
        collect_rows(&any_name, any, rows);
    }
    if let Some(items) = schema.get("items") {
        collect_rows(&format!("{before}[]"), items, rows);
    }
    for choice in choices(schema) {
        collect_rows(before, choice, rows);
    }
}

fn build_row(name: String, property: &Value, is_required: bool) -> SchemaFieldRow {
    let meaning = property.get("description").and_then(Value::as_str);
    SchemaFieldRow {
        name,
        kind: escape_cell(&describe_type(property)),
        is_required,
        description: escape_cell(meaning.unwrap_or_default()),
    }
}

/// Whether a field is always there, unless the answer is [`NEEDS_REPLY`].
fn requires(schema: &Value, name: &str) -> bool {
    let required = schema.get("required");
    let required = required.or_else(|| schema.pointer("/anyOf/0/required"));
    let required = required.and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|required| required == name))
}

/// What a value may be instead of one thing.
fn choices(schema: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["anyOf", "oneOf", "allOf"].into_iter();
    let lists = lists.filter_map(|key| schema.get(key).and_then(Value::as_array));
    lists.flatten()
}

/// The type of a value and what bounds it, in a few words.
fn describe_type(schema: &Value) -> String {
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        let words: Vec<String> = words.iter().map(format_constant).collect();
        return format!("one of {}", words.join(", "));
    }
    if let Some(word) = schema.get("const") {
        return format_constant(word);
    }
    let names: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if names.is_empty() {
        let kinds: Vec<String> = choices(schema).map(describe_type).collect();
        let kinds = kinds.join(" or ");
        return if kinds.is_empty() {
            "any".to_owned()
        } else {
            kinds
        };
    }
    let kinds: Vec<String> = names
        .iter()
        .map(|name| match schema.get("items") {
            Some(items) if *name == "array" => format!("array of {}", describe_type(items)),
            _ => (*name).to_owned(),
        })
        .collect();
    let bounds: String = names
        .iter()
        .map(|name| describe_bounds(name, schema))
        .collect();
    kinds.join(" or ") + &bounds
}

fn format_constant(word: &Value) -> String {
    match word {
        Value::String(word) => format!("`{word}`"),
        other => other.to_string(),
    }
}

/// What bounds the values of a type, after a comma.
fn describe_bounds(name: &str, schema: &Value) -> String {
    let (least, most, unit) = match name {
        "array" => ("minItems", "maxItems", " items"),
        "string" => ("minLength", "maxLength", " characters"),
        "integer" | "number" => ("minimum", "maximum", ""),
        _ => return String::new(),
    };
    let range = match (schema.get(least), schema.get(most)) {
        (Some(least), Some(most)) => format!(", {least} to {most}{unit}"),
        (Some(least), None) if least == 1 && !unit.is_empty() => ", not empty".to_owned(),
        (Some(least), None) => format!(", at least {least}{unit}"),
        (None, Some(most)) => format!(", at most {most}{unit}"),
        (None, None) => String::new(),
    };
    match schema.get("format").and_then(Value::as_str) {
        Some(format) if name == "string" => format!(", {format}{range}"),
        _ => range,
    }
}

/// Text that stays in its cell.
fn escape_cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', r"\|")
}

#[cfg(test)]
mod tests {
    use deliberate_toolkit::{ClientPrompt, NeedsReply};

    use super::*;

    fn format_rows(schema: &Value) -> Vec<String> {
        let mut output = Vec::new();
        print_table("field", schema, &mut output).unwrap();
        let output = String::from_utf8(output).unwrap();
        output.lines().skip(3).map(str::to_owned).collect()
    }

    #[test]
    fn every_field_has_a_row_with_its_type_and_bounds() {
        let schema = json!({
            "properties": {
                "content": { "type": "string", "minLength": 1, "description": "What\nto | do" },
                "mode": { "type": "string", "enum": ["tree", "got"] },
                "state": { "type": ["string", "null"], "enum": ["open", null] },
                "config": {
                    "anyOf": [
                        {
                            "type": "object",
                            "properties": { "max_depth": { "type": "integer", "minimum": 1 } },
                            "required": ["max_depth"],
                        },
                        { "type": "null" },
                    ],
                },
                "branches": {
                    "type": "array",
                    "maxItems": 9,
                    "items": {
                        "type": "object",
                        "properties": {
                            "at": { "type": "string", "format": "date-time" },
                            "score": { "type": ["number", "null"], "minimum": 0, "maximum": 1 },
                            "tags": { "type": "array", "items": { "type": "string" } },
                        },
                    },
                },
                "counts": { "type": "object", "additionalProperties": { "type": "integer" } },
                "open": { "type": "object", "additionalProperties": true },
                "data": true,
                "needs_reply": { "type": "object", "properties": { "id": {} } },
            },
            "anyOf": [{ "required": ["content"] }, { "required": ["needs_reply"] }],
        });
        let expected = [
            r"| `content` | string, not empty | required | What to \| do |",
            "| `mode` | one of `tree`, `got` |  |  |",
            "| `state` | one of `open`, null |  |  |",
            "| `config` | object or null |  |  |",
            "| `config.max_depth` | integer, at least 1 | required |  |",
            "| `branches` | array of object, at most 9 items |  |  |",
            "| `branches[].at` | string, date-time |  |  |",
            "| `branches[].score` | number or null, 0 to 1 |  |  |",
            "| `branches[].tags` | array of string |  |  |",
            "| `counts` | object |  |  |",
            "| `counts.*` | integer |  |  |",
            "| `open` | object |  |  |",
            "| `data` | any |  |  |",
            "| `needs_reply` | object |  | In place of the others: see [needs_reply](#needs_reply) |",
        ];
        assert_eq!(format_rows(&schema), expected);
        assert_eq!(format_rows(&json!({ "type": "object" })), [] as [&str; 0]);
    }

    /// The names of all fields, as the rows have them.
    fn collect_names(before: &str, value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) if before != "asks[].schema" => {
                for (name, value) in fields {
                    let dot = if before.is_empty() { "" } else { "." };
                    let name = format!("{before}{dot}{name}");
                    found.push(name.clone());
                    collect_names(&name, value, found);
                }
            }
            Value::Array(items) => {
                let items = items.iter();
                items.for_each(|item| collect_names(&format!("{before}[]"), item, found));
            }
            _ => {}
        }
    }

    #[test]
    fn needs_reply_is_explained_as_it_is() {
        let message = serde_json::from_value(json!({ "role": "user", "text": "?" })).unwrap();
        let needs = NeedsReply {
            id: "1".to_owned(),
            asks: vec![ClientPrompt {
                key: "think".to_owned(),
                system: String::new(),
                messages: vec![message],
                schema: json!({ "type": "object" }),
                max_tokens: 1,
                temperature: 0.0,
            }],
            next: String::new(),
        };
        let mut expected = Vec::new();
        collect_names("", &json!(needs), &mut expected);
        let mut rows = Vec::new();
        collect_rows("", &needs_reply_schema(), &mut rows);
        let explained: Vec<String> = rows.into_iter().map(|row| row.name).collect();
        assert_eq!(explained, expected);
    }
}
