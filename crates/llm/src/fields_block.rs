//! The JSON object at the end of a free text: how a model is told to write it, and how it is found.

use serde_json::{Map, Value};

use super::json_repair;

/// How many opening braces are tried as the start of the object, from the end of the text.
const MAX_STARTS: usize = 64;

/// Longest text around an object that may be courtesy and not reasoning.
const MAX_COURTESY: usize = 200;

/// How far from its end a text is searched for the object.
const MAX_SEARCHED_BYTES: usize = 16 * 1024;

/// Tells a model to write the fields of `schema` after its text.
pub(crate) fn fields_instruction(schema: &Value) -> String {
    format!(
        "First work it out in plain text. Then, as the last line, write one JSON object with these \
         fields, and nothing after it: {}",
        example(schema)
    )
}

/// Writes a schema as an example object, with the descriptions in the place of values. A small
/// model follows an example better than a JSON Schema.
fn example(schema: &Value) -> String {
    let text = |name: &str| schema.get(name).and_then(Value::as_str).unwrap_or_default();
    let properties = schema.get("properties").and_then(Value::as_object);
    if let Some(properties) = properties {
        let fields: Vec<String> = properties
            .iter()
            .map(|(name, field)| format!("{}: {}", Value::from(name.as_str()), example(field)))
            .collect();
        return format!("{{{}}}", fields.join(", "));
    }
    if let Some(items) = schema.get("items") {
        // The description of a list of texts is that of its items.
        let mut items = items.clone();
        if let (Some(fields), Some(about)) = (items.as_object_mut(), schema.get("description")) {
            fields.entry("description").or_insert_with(|| about.clone());
        }
        return format!("[{}, …]", example(&items));
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        return words
            .into_iter()
            .map(|word| Value::from(word).to_string())
            .collect::<Vec<String>>()
            .join(" or ");
    }
    let description = text("description");
    match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => format!("true or false ({description})"),
        Some("integer" | "number") => {
            let limit = |name: &str| schema.get(name).and_then(Value::as_i64);
            match (limit("minimum"), limit("maximum")) {
                (Some(least), Some(most)) => format!("{least} to {most} ({description})"),
                _ => format!("a number ({description})"),
            }
        }
        _ => Value::from(description).to_string(),
    }
}

/// Splits a model's text into the free text and the object with the fields of `schema`, or with a
/// list of objects that have them. `normalize` rewrites objects in the shape of another server. A
/// text that is one object with the field `text_field` has no free text of its own.
pub(crate) fn split_fields(
    text: &str,
    schema: &Value,
    text_field: &str,
    normalize: impl Fn(Value) -> Value,
) -> (String, Option<Map<String, Value>>) {
    let text = text.trim();
    let properties = schema.get("properties").and_then(Value::as_object);
    let is_property = |name: &str| properties.is_some_and(|known| known.contains_key(name));
    let has_fields = |object: &Map<String, Value>| {
        let mut names = object.keys();
        names.any(|name| name == text_field || is_property(name))
    };
    // A list that the schema itself has is a field like the others.
    let is_list = |object: &Map<String, Value>| {
        let lists = object.iter().filter(|(name, _)| !is_property(name));
        let mut items = lists.filter_map(|(_, list)| list.as_array()).flatten();
        items.any(|item| item.as_object().is_some_and(has_fields))
    };
    let normalized = |object: &Map<String, Value>| match normalize(object.clone().into()) {
        Value::Object(object) => object,
        _ => Map::new(),
    };
    // An object of the reasoning, such as a `package.json`, may have a name in common with the
    // fields. At the end of a text it is more likely the fields, which may have further names.
    let is_known = |object: &Map<String, Value>, is_last: bool| {
        let object = normalized(object);
        let known = object.keys().filter(|name| is_property(name)).count();
        let has_objects = |list: &Value| {
            let items = list.as_array();
            items.is_some_and(|items| items.iter().any(Value::is_object))
        };
        let mut fields = object.iter();
        let has_known_list = fields.any(|(name, list)| is_property(name) && has_objects(list));
        let is_most = has_known_list || known * 2 > object.len();
        let is_enough_at_the_end = is_last && (known > 1 || known * 2 == object.len());
        object.contains_key(text_field)
            || is_list(&object)
            || (known > 0 && (is_most || is_enough_at_the_end))
    };
    // The whole answer is one object, perhaps in the shape of another server.
    if let Some(object) = whole_object(text) {
        return (String::new(), Some(object));
    }
    let Some(block) = last_object(text, is_known) else {
        return (text.to_owned(), None);
    };
    let before = text.get(..block.start).unwrap_or_default();
    let after = text.get(block.end..).unwrap_or_default();
    let words = format!("{}{}", trim_fence(before), trim_after(after));
    let own = block.object.get(text_field).and_then(Value::as_str);
    let own = own.filter(|own| !own.trim().is_empty());
    let has_reasoning = own.is_some() || is_list(&normalized(&block.object));
    // "Sure! {…} Let me know!": the reasoning is inside the object.
    if has_reasoning && words.len() < own.map_or(0, str::len).max(MAX_COURTESY) {
        return (String::new(), Some(block.object));
    }
    (words, Some(block.object))
}

/// The object that the whole text is, with or without a fence around it.
fn whole_object(text: &str) -> Option<Map<String, Value>> {
    let body = text.strip_prefix("```").map_or(text, |fenced| {
        let fenced = fenced.trim_start_matches(|it: char| it.is_ascii_alphanumeric());
        fenced.strip_suffix("```").unwrap_or(fenced).trim()
    });
    // A list of one object is that object.
    let body = body
        .strip_prefix('[')
        .and_then(|list| list.trim_end().strip_suffix(']'))
        .map_or(body, str::trim);
    if !body.starts_with('{') {
        return None;
    }
    if let Ok(Value::Object(object)) = serde_json::from_str(body) {
        return Some(object);
    }
    let (object, end) = parse_object(body)?;
    body.get(end..)?.trim().is_empty().then_some(object)
}

/// An object inside a text.
struct FoundObject {
    start: usize,
    end: usize,
    object: Map<String, Value>,
}

/// Finds the last outermost object for which `is_known` holds. It is also told whether the object
/// ends the text.
fn last_object(
    text: &str,
    is_known: impl Fn(&Map<String, Value>, bool) -> bool,
) -> Option<FoundObject> {
    let from = text.floor_char_boundary(text.len().saturating_sub(MAX_SEARCHED_BYTES));
    let searched = text.get(from..)?;
    let starts = searched.rmatch_indices('{').take(MAX_STARTS);
    let mut found: Option<FoundObject> = None;
    for (start, _) in starts {
        let start = from + start;
        let Some((object, length)) = text.get(start..).and_then(parse_object) else {
            continue;
        };
        let end = start + length;
        // An object before the one that was found may be its neighbor in a list of a larger one.
        let encloses_found = found.as_ref().is_none_or(|it| end > it.start);
        let after = text.get(end..).unwrap_or_default();
        let is_last = after.trim_matches(['`', ' ', '\n', '\r']).is_empty();
        if encloses_found && is_known(&object, is_last) {
            found = Some(FoundObject { start, end, object });
        }
    }
    found
}

/// Parses the object at the start of a text and returns its length in bytes. An object that is not
/// strict JSON is repaired if it extends to the end of the text.
fn parse_object(text: &str) -> Option<(Map<String, Value>, usize)> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    if let Some(Ok(Value::Object(object))) = stream.next() {
        return Some((object, stream.byte_offset()));
    }
    let body = text.trim_end().trim_end_matches("```").trim_end();
    if closing_brace(body) != Some(body.len().checked_sub(1)?) {
        return None;
    }
    let termination = json_repair::Termination::Complete;
    match json_repair::parse_with_end(body, termination) {
        Ok(Value::Object(object)) => Some((object, body.len())),
        _ => None,
    }
}

/// Returns the position of the brace that closes the one at the start of a text. Braces in quoted
/// strings do not count.
fn closing_brace(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Removes the opening fence and the label before a block of fields.
fn trim_fence(text: &str) -> &str {
    let text = text.trim_end();
    let unlabeled = text.strip_suffix("json").unwrap_or(text);
    // A fence at the end opens the block, unless it closes one of the reasoning.
    let text = match unlabeled.strip_suffix("```") {
        Some(before) if before.matches("```").count() % 2 == 0 => before.trim_end(),
        _ => text,
    };
    // A bullet and "Now the JSON object:" belong to the object, not to the reasoning.
    let mut text = text;
    while let Some((before, last)) = text.rsplit_once('\n') {
        if !announces_fields(last.trim()) {
            break;
        }
        text = before.trim_end();
    }
    text
}

/// Tells whether a line before the object only introduces it.
fn announces_fields(line: &str) -> bool {
    let is_bullet = line.chars().all(|letter| matches!(letter, '-' | '*'));
    let words = line.to_lowercase();
    let names_form = words.contains("json") || words.contains("format");
    is_bullet || (line.ends_with([':', '*']) && names_form)
}

/// Returns the words after a block of fields, without its closing fence.
fn trim_after(text: &str) -> String {
    let words = text.trim_start().trim_start_matches("```").trim();
    // A short comment on the object says nothing about the problem.
    if words.is_empty() || (words.len() < MAX_COURTESY && words.contains("JSON")) {
        return String::new();
    }
    format!("\n\n{words}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({ "type": "object", "properties": {
            "answer": { "type": ["string", "null"], "description": "the result" },
            "confidence_percent": { "type": "integer", "minimum": 0, "maximum": 100,
                "description": "how sure" },
            "list": { "type": "array", "items": { "properties": {
                "answer": { "type": "string", "description": "a" },
            } } },
        } })
    }

    #[test]
    fn the_instruction_shows_an_example_of_the_fields() {
        assert_eq!(
            fields_instruction(&schema()),
            "First work it out in plain text. Then, as the last line, write one JSON object with these \
             fields, and nothing after it: {\"answer\": \"the result\", \"confidence_percent\": 0 to 100 (how sure), \
             \"list\": [{\"answer\": \"a\"}, …]}"
        );
    }

    #[test]
    fn an_object_of_the_reasoning_stays_in_it() {
        for text in [
            r#"Use this: {"answer": "app", "version": "1", "x": 2} and run it."#,
            r#"Like so: {"answer": "app", "version": "1"} in the JSON file, and so on for long."#,
        ] {
            let (words, fields) = split_fields(text, &schema(), "thought", |it| it);
            assert_eq!((words.as_str(), fields), (text, None));
        }
    }

    #[test]
    fn text_and_fields_are_split_wherever_the_fields_stand() {
        for (text, words) in [
            ("2 + 2 = 4.\n\n{\"answer\": \"4\"}", "2 + 2 = 4."),
            (
                "2 + 2 = 4.\n```json\n{\"answer\": \"4\"}\n```",
                "2 + 2 = 4.",
            ),
            ("2 + 2 = 4.\n```\n{\"answer\": \"4\"}\n```\n", "2 + 2 = 4."),
            ("{\"answer\": \"4\"}\n\n2 + 2 = 4.", "2 + 2 = 4."),
            (
                "It is **4**\n2. **The required format:**\n   - {\"answer\": \"4\"}",
                "It is **4**",
            ),
            (
                "Use {\"answer\": 1, \"version\": 2, \"x\": 3} and run it. {\"answer\": \"4\"}",
                "Use {\"answer\": 1, \"version\": 2, \"x\": 3} and run it.",
            ),
            ("{\"answer\": \"4\"}", ""),
            ("```json\n{\"answer\": \"4\"}\n```", ""),
            (
                "A set {1, 2} and {\"x\": 1}. {\"answer\": \"4\",}",
                "A set {1, 2} and {\"x\": 1}.",
            ),
            (
                r#"\frac{1}{2} of {{8}} in fn f() { 4 } is {"answer": "4"}"#,
                r"\frac{1}{2} of {{8}} in fn f() { 4 } is",
            ),
            (
                r#"\frac{8}{2} = 4, so {{ x }} and {% y %} are 4. {"answer": "4",}"#,
                r"\frac{8}{2} = 4, so {{ x }} and {% y %} are 4.",
            ),
            (
                r#"Of { x | x > 3 and the rest. {"answer": "4"}"#,
                "Of { x | x > 3 and the rest.",
            ),
            (
                "So:\n{\"answer\": \"4\", \"list\": [{\"answer\": \"5\"}]}",
                "So:",
            ),
            (
                "So:\n{\"answer\": \"4\", \"list\": [{\"answer\": \"5\"}],}",
                "So:",
            ),
            (
                "Code:\n```python\nd = {'answer': 1}\n```\n{\"answer\": \"4\"}",
                "Code:\n```python\nd = {'answer': 1}\n```",
            ),
        ] {
            let (found, fields) = split_fields(text, &schema(), "thought", |it| it);
            assert_eq!(found.trim(), words, "{text}");
            assert_eq!(fields.unwrap()["answer"], "4", "{text}");
        }
    }

    #[test]
    fn a_text_without_fields_is_left_as_it_is() {
        for text in [
            "2 + 2 = 4.",
            "The set {x}.",
            "{\"unknown\": 1} is an object",
            "",
        ] {
            let (found, fields) = split_fields(text, &schema(), "thought", |it| it);
            assert_eq!(found, text);
            assert_eq!(fields, None, "{text}");
        }
    }

    #[test]
    fn reasoning_inside_the_object_is_found_there() {
        let text = "Sure!\n{\"thought\": \"2 + 2 = 4, so it is 4.\", \"answer\": \"4\"}";
        let (found, fields) = split_fields(text, &schema(), "thought", |it| it);
        assert_eq!(found, "");
        assert_eq!(fields.unwrap()["thought"], "2 + 2 = 4, so it is 4.");
    }

    #[test]
    fn a_list_of_all_items_is_found_whole_in_the_words_around_it() {
        let items = json!([{ "answer": "4" }, { "answer": "5" }]);
        let list = json!({ "items": items, "remark": { "x": 1 } });
        for text in [
            format!("Sure! Here it is: {list} Does that help?"),
            format!("Sure!\n```json\n{list:#}\n```"),
        ] {
            let (found, fields) = split_fields(&text, &schema(), "thought", |it| it);
            assert_eq!(found, "", "{text}");
            assert_eq!(fields.unwrap()["items"], items, "{text}");
        }
        let reasoning = "2 + 2 is 4, and 2 + 3 is 5. ".repeat(10);
        let text = format!("{reasoning}\n{list}");
        let (found, fields) = split_fields(&text, &schema(), "thought", |it| it);
        assert_eq!(found, reasoning.trim());
        assert_eq!(fields.unwrap()["items"], items);
    }

    #[test]
    fn a_list_in_the_shape_of_another_server_is_found_too() {
        let rewrite = |mut value: Value| {
            for item in value["views"].as_array_mut().into_iter().flatten() {
                *item = json!({ "answer": item["result"] });
            }
            value
        };
        let text = r#"Sure! {"views": [{"result": "4"}, {"result": "5"}]} Does that help?"#;
        let (found, fields) = split_fields(text, &schema(), "thought", rewrite);
        assert_eq!(found, "");
        assert_eq!(fields.unwrap()["views"][1]["result"], "5");
    }

    #[test]
    fn of_two_objects_the_last_one_is_taken() {
        let text = r#"First {"answer": "5"}, but no. {"answer": "4"}"#;
        let (found, fields) = split_fields(text, &schema(), "thought", |it| it);
        assert_eq!(found, r#"First {"answer": "5"}, but no."#);
        assert_eq!(fields.unwrap()["answer"], "4");
    }
}
