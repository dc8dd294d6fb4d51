//! Splits lists that were sent as one text: models often send `"peat, fire"` instead of a list.
//!
//! Titles, texts and questions may contain commas. A list of free texts is therefore split only if
//! its schema has a mark with the kind of items: `#[schemars(extend("x-separated" = "words"))]`.
//! Clients do not see the mark. A value that was sent as a list is not split.

use deliberate_core::split_person_names;
use serde_json::Value;

const SEPARATED_KEY: &str = "x-separated";

/// Splits a text into the items of a list with this schema.
pub(super) fn split_items(text: &str, schema: &Value) -> Vec<Value> {
    let parts = match schema.get(SEPARATED_KEY).and_then(Value::as_str) {
        Some("words") => split_keywords(text),
        Some("ids") => split_ids(text),
        Some("names") => split_person_names(text, 3),
        // People are mostly searched by their family names alone.
        Some("families") => split_person_names(text, 2),
        _ if schema.get("items").is_some_and(is_closed) => split_at_chars(text, &[',', ';', '\n']),
        _ => Vec::new(),
    };
    if parts.is_empty() {
        return vec![text.into()];
    }
    parts.into_iter().map(Value::from).collect()
}

/// Removes the marks from a schema.
pub(super) fn remove_marks(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.shift_remove(SEPARATED_KEY);
            fields.iter_mut().for_each(|(_, value)| remove_marks(value));
        }
        Value::Array(items) => items.iter_mut().for_each(remove_marks),
        _ => {}
    }
}

/// Tells whether no item can contain a comma: numbers, and enums.
fn is_closed(item: &Value) -> bool {
    let kind = item.get("type").and_then(Value::as_str);
    item.get("enum").is_some() || matches!(kind, Some("integer" | "number"))
}

fn split_at_chars(text: &str, marks: &[char]) -> Vec<String> {
    let parts = text.split(marks).map(str::trim);
    parts
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Splits keywords and tags. A comma after a single letter or digit is part of a word:
/// `1,2-dioxane`.
fn split_keywords(text: &str) -> Vec<String> {
    let apart = text.replace(", ", "\n");
    let mut all = Vec::new();
    for part in split_at_chars(&apart, &[';', '\n']) {
        let inner = split_at_chars(&part, &[',']);
        if inner.len() > 1 && inner.iter().any(|it| it.chars().count() == 1) {
            all.push(part);
        } else {
            all.extend(inner);
        }
    }
    all
}

/// Splits ids, which contain no space: a text with other spaces between its commas is a title. A
/// semicolon may be part of an id.
fn split_ids(text: &str) -> Vec<String> {
    let parts = split_at_chars(&text.replace("; ", "\n"), &[',', '\n']);
    if parts.iter().any(|it| it.contains(char::is_whitespace)) {
        return Vec::new();
    }
    parts
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    use super::super::{ArgumentChecker, arguments_schema, input_schema};
    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Input {
        #[schemars(length(max = 4), inner(length(max = 20)), extend("x-separated" = "words"))]
        tags: Option<Vec<String>>,
        #[schemars(length(min = 2), extend("x-separated" = "ids"))]
        articles: Option<Vec<String>>,
        #[schemars(extend("x-separated" = "names"))]
        authors: Option<Vec<String>>,
        #[schemars(extend("x-separated" = "families"))]
        people: Option<Vec<String>>,
        titles: Option<Vec<String>>,
        days: Option<Vec<u8>>,
        fields: Option<Vec<Field>>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Field {
        Title,
        Year,
    }

    fn read(field: &str, given: &Value) -> Value {
        let checker = ArgumentChecker::new(&arguments_schema::<Input>()).unwrap();
        let mut read = checker.check(json!({ field: given })).unwrap();
        read[field].take()
    }

    #[test]
    fn one_text_is_taken_apart_by_what_the_list_holds() {
        for (field, text, items) in [
            (
                "tags",
                "peat, fire,radio;\nbog",
                json!(["peat", "fire", "radio", "bog"]),
            ),
            (
                "tags",
                "1,2-dioxane, peat fires",
                json!(["1,2-dioxane", "peat fires"]),
            ),
            ("tags", "peat", json!(["peat"])),
            ("tags", "", json!([""])),
            (
                "articles",
                "a2020b, 10.1/x;2",
                json!(["a2020b", "10.1/x;2"]),
            ),
            (
                "authors",
                "Ada Lovelace, C. Babbage",
                json!(["Ada Lovelace", "C. Babbage"]),
            ),
            ("authors", "Lovelace, Ada", json!(["Lovelace, Ada"])),
            (
                "people",
                "Lovelace, Babbage",
                json!(["Lovelace", "Babbage"]),
            ),
            (
                "titles",
                "Peat, fire and radio",
                json!(["Peat, fire and radio"]),
            ),
            ("days", "1,3, 5", json!([1, 3, 5])),
            ("fields", "title, year", json!(["title", "year"])),
        ] {
            assert_eq!(read(field, &text.into()), items, "{field}: {text}");
        }
    }

    #[test]
    fn who_sends_a_list_means_its_items() {
        for (field, list) in [
            ("tags", json!(["peat, fire"])),
            ("articles", json!(["a,b", "c"])),
            ("people", json!(["Lovelace, Ada"])),
        ] {
            assert_eq!(read(field, &list), list, "{field}");
        }
    }

    #[test]
    fn a_title_with_commas_is_no_list_of_ids() {
        let checker = ArgumentChecker::new(&arguments_schema::<Input>()).unwrap();
        let error = checker.check(json!({ "articles": "Peat, fire and radio" }));
        assert!(error.unwrap_err().to_string().contains("at least 2"));
    }

    #[test]
    fn clients_are_not_shown_the_marks() {
        let schema = input_schema::<Input>();
        assert_eq!(
            schema["properties"]["authors"],
            json!({ "type": "array", "items": { "type": "string" } })
        );
        assert!(!schema.to_string().contains(SEPARATED_KEY));
        assert!(
            !crate::answer_schema::<Input>()
                .to_string()
                .contains(SEPARATED_KEY)
        );
    }
}
