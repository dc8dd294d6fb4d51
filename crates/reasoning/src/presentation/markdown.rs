//! Renders an answer as Markdown: the text first, then the result, then everything else.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::{Map, Number, Value};

/// The fields that hold the text of an answer or of an item, in order of preference.
const TEXTS: [&str; 6] = [
    "content",
    "text",
    "synthesis",
    "assessment",
    "excerpt",
    "note",
];

/// The fields that name an item.
const NAMES: [&str; 5] = ["name", "viewpoint", "title", "mode", "kind"];

/// The fields that identify an item.
const IDS: [&str; 5] = ["id", "node_id", "thought_id", "branch_id", "session_id"];

/// Fields that say nothing to a reader, or nothing that the text does not say.
const HIDDEN: [&str; 3] = ["short_ids", "config", "data"];

/// The field with the whole answer of another tool.
const NESTED: &str = "result";

/// Renders the answer. Ids that have a short id are shown by it.
pub(super) fn render_output(output: &Value, short: &BTreeMap<String, String>) -> String {
    let Some(fields) = output.as_object() else {
        return output.to_string();
    };
    let mut page = MarkdownAnswer {
        text: String::new(),
        short,
    };
    if let Some(nested) = fields.get(NESTED).and_then(Value::as_object) {
        page.answer(nested);
        page.text.push_str("\n---\n");
    }
    page.answer(fields);
    page.text.trim().to_owned()
}

struct MarkdownAnswer<'a> {
    text: String,
    short: &'a BTreeMap<String, String>,
}

impl MarkdownAnswer<'_> {
    fn answer(&mut self, fields: &Map<String, Value>) {
        let mut shown = self.lead(fields);
        shown.extend(self.verdict(fields));
        let mut lines = Vec::new();
        for (name, value) in fields {
            if shown.contains(&name.as_str()) || HIDDEN.contains(&name.as_str()) {
                continue;
            }
            match value {
                Value::Object(_) if name == NESTED => {}
                Value::Number(count) if has_list_of(name, count, fields) => {}
                Value::Array(items) if is_item_list(value) => self.items(name, items),
                empty if is_empty(empty) => {}
                Value::Array(items) if items.iter().all(|item| self.is_short(item)) => {
                    lines.push((name, value));
                }
                Value::Array(items) => self.list(name, items),
                Value::Object(inner) if inner.values().any(is_item_list) => {
                    for (name, value) in inner {
                        match value {
                            Value::Array(items) => self.items(name, items),
                            _ => lines.push((name, value)),
                        }
                    }
                }
                _ => lines.push((name, value)),
            }
        }
        if !lines.is_empty() {
            self.text.push('\n');
        }
        for (name, value) in lines {
            let _ = writeln!(self.text, "- {}: {}", label(name), self.inline(value));
        }
    }

    /// Writes the text of the answer and returns the fields that it shows.
    fn lead<'n>(&mut self, fields: &'n Map<String, Value>) -> Vec<&'n str> {
        let found = TEXTS.iter().find_map(|name| {
            let (name, value) = fields.get_key_value(*name)?;
            Some((name.as_str(), value.as_str()?))
        });
        let Some((name, text)) = found else {
            return Vec::new();
        };
        // Only `reasoning_get` has the field; a thought may begin with the word, too.
        let is_diagram = name == "text" && text.starts_with("flowchart ");
        let _ = if is_diagram {
            writeln!(self.text, "```mermaid\n{}\n```", text.trim_end())
        } else {
            writeln!(self.text, "{}", text.trim_end())
        };
        // A text that two fields hold is shown once.
        let same = fields
            .iter()
            .filter(|(_, value)| value.as_str() == Some(text))
            .map(|(name, _)| name.as_str());
        same.chain([name]).collect()
    }

    /// Writes the result with its confidence and doubt.
    fn verdict(&mut self, fields: &Map<String, Value>) -> Vec<&'static str> {
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let mut parts = Vec::new();
        if let Some(answer) = text("answer") {
            parts.push(format!("**Answer:** {answer}"));
        }
        if let Some(confidence) = fields.get("confidence").and_then(Value::as_f64) {
            parts.push(format!("confidence {:.0} %", confidence * 100.0));
        }
        if let Some(point) = text("weakest_point") {
            parts.push(format!("may be wrong: {point}"));
        }
        if !parts.is_empty() {
            let _ = writeln!(self.text, "\n{}", parts.join(" · "));
        }
        vec!["answer", "confidence", "weakest_point"]
    }

    /// Writes a list of objects: a heading for each, its text and its fields.
    fn items(&mut self, name: &str, items: &[Value]) {
        let _ = writeln!(self.text, "\n**{}**\n", capitalized(&label(name)));
        for item in items.iter().filter_map(Value::as_object) {
            self.item(item);
        }
    }

    fn item(&mut self, item: &Map<String, Value>) {
        let id = IDS.iter().find_map(|name| item.get_key_value(*name));
        let title = NAMES
            .iter()
            .find_map(|name| Some((*name, item.get(*name)?.as_str()?)));
        let text = TEXTS
            .iter()
            .find_map(|name| Some((*name, item.get(*name)?.as_str()?)));
        let mut head = Vec::new();
        head.extend(id.map(|(_, id)| self.inline(id)));
        head.extend(title.map(|(_, title)| format!("**{}**", title.trim())));
        let shown = [
            id.map(|(name, _)| name.as_str()),
            title.map(|(name, _)| name),
            text.map(|(name, _)| name),
        ];
        let rest = item.iter().filter(|(name, value)| {
            !shown.contains(&Some(name.as_str())) && !is_empty(value) && !is_nested(value)
        });
        let rest: Vec<String> = rest
            .map(|(name, value)| match value {
                // Its fields say what they are.
                Value::Object(_) => self.inline(value),
                _ => format!("{} {}", label(name), self.inline(value)),
            })
            .collect();
        let rest = rest.join(", ");
        match (head.is_empty(), rest.is_empty()) {
            (_, true) => {}
            (true, false) => head.push(rest),
            (false, false) => head.push(format!("({rest})")),
        }
        let _ = writeln!(self.text, "- {}", head.join(" "));
        for line in text
            .map(|(_, text)| text.trim())
            .unwrap_or_default()
            .lines()
        {
            let _ = writeln!(self.text, "  {line}");
        }
    }

    fn list(&mut self, name: &str, items: &[Value]) {
        let _ = writeln!(self.text, "\n**{}**\n", capitalized(&label(name)));
        for item in items {
            let _ = writeln!(self.text, "- {}", self.inline(item));
        }
    }

    /// Tells whether a value is an id or a number, so that a list of them fits a line.
    fn is_short(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.short.contains_key(text) || super::is_uuid(text),
            Value::Number(_) | Value::Bool(_) => true,
            _ => false,
        }
    }

    fn inline(&self, value: &Value) -> String {
        match value {
            Value::String(text) => match self.short.get(text) {
                Some(short) => format!("`{short}`"),
                None if super::is_uuid(text) => format!("`{text}`"),
                None => text.clone(),
            },
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(|item| self.inline(item)).collect();
                items.join(", ")
            }
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .filter(|(_, value)| !value.is_null())
                    .map(|(name, value)| format!("{} {}", label(name), self.inline(value)));
                fields.collect::<Vec<String>>().join(", ")
            }
            other => other.to_string(),
        }
    }
}

/// Tells whether a value is a list of objects.
fn is_item_list(value: &Value) -> bool {
    let items = value.as_array();
    items.is_some_and(|items| items.iter().any(Value::is_object))
}

/// Tells whether a value is an object of more than numbers.
fn is_nested(value: &Value) -> bool {
    let fields = value.as_object();
    fields.is_some_and(|fields| !fields.values().all(Value::is_number))
}

/// Tells whether a field is the number of ids in a list that is shown: `terminal_nodes` beside
/// `terminal_node_ids`.
fn has_list_of(name: &str, count: &Number, fields: &Map<String, Value>) -> bool {
    let list = name.strip_suffix('s').map(|one| format!("{one}_ids"));
    let list = list.and_then(|list| fields.get(&list)?.as_array());
    list.is_some_and(|ids| !ids.is_empty() && count.as_u64() == u64::try_from(ids.len()).ok())
}

/// Tells whether a value has nothing to show.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// A field name in words.
fn label(name: &str) -> String {
    let name = name.strip_suffix("_id").unwrap_or(name);
    let name = name
        .strip_suffix("_ids")
        .map_or(name.to_owned(), |one| format!("{one}s"));
    name.replace('_', " ")
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ID: &str = "019a0000-0000-7000-8000-000000000001";

    #[test]
    fn an_answer_is_written_to_be_read() {
        let short = BTreeMap::from([(ID.to_owned(), "t1".to_owned())]);
        let output = json!({
            "thought_id": ID, "session_id": "s", "content": "6 × 7 = 42.", "answer": "42",
            "confidence": 0.9, "weakest_point": null, "previous_thought": null,
            "branches": [{ "id": ID, "name": "first", "content": "one\ntwo", "confidence": 0.5 }],
            "strengths": ["short", "right"], "open": [ID], "rationale": "", "gaps": [],
            "references": [{ "from": ID, "reason": "", "type": "supports" }],
        });
        insta::assert_snapshot!(render_output(&output, &short), @r"
        6 × 7 = 42.

        **Answer:** 42 · confidence 90 %

        **Branches**

        - `t1` **first** (confidence 0.5)
          one
          two

        **Strengths**

        - short
        - right

        **References**

        - from `t1`, type supports

        - thought: `t1`
        - session: s
        - open: `t1`
        ");
    }

    #[test]
    fn a_diagram_is_a_diagram_and_data_is_read_as_its_page() {
        let none = BTreeMap::new();
        let diagram = json!({ "kind": "session", "text": "flowchart TD\n  a --> b\n" });
        let text = render_output(&diagram, &none);
        assert!(
            text.starts_with("```mermaid\nflowchart TD\n  a --> b\n```"),
            "{text}"
        );
        let data = json!({ "kind": "thought", "data": { "content": "x" }, "text": "# Thought\n" });
        assert_eq!(render_output(&data, &none), "# Thought\n\n- kind: thought");
    }

    #[test]
    fn the_answer_of_another_tool_comes_first_as_its_own() {
        let output = json!({
            "recommended_mode": "tree", "confidence": 0.9, "decided_by": "rules",
            "result": { "content": "One or two.", "answer": "one", "strengths": ["short"] },
        });
        insta::assert_snapshot!(render_output(&output, &BTreeMap::new()), @r"
        One or two.

        **Answer:** one

        **Strengths**

        - short

        ---

        confidence 90 %

        - recommended mode: tree
        - decided by: rules
        ");
    }

    #[test]
    fn measures_are_listed_and_a_count_beside_its_list_is_not() {
        let output = json!({
            "active_nodes": 2, "active_node_ids": [ID, ID], "terminal_nodes": 0,
            "terminal_node_ids": [], "root_nodes": 70, "root_node_ids": [ID],
            "scores": [{ "node_id": ID, "overall_score": 0.5,
                "breakdown": { "relevance": 0.9, "validity": 0.5 }, "other": { "text": "x" } }],
        });
        insta::assert_snapshot!(render_output(&output, &BTreeMap::new()), @r"
        **Scores**

        - `019a0000-0000-7000-8000-000000000001` (overall score 0.5, relevance 0.9, validity 0.5)

        - active nodes: `019a0000-0000-7000-8000-000000000001`, `019a0000-0000-7000-8000-000000000001`
        - terminal nodes: 0
        - root nodes: 70
        - root nodes: `019a0000-0000-7000-8000-000000000001`
        ");
    }
}
