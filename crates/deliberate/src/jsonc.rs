//! JSON with comments and trailing commas, as editors keep their settings: read as plain values, or
//! edited so that everything else keeps its order, spelling, comments and spacing. People edit such
//! files by hand and keep them under version control.

use anyhow::bail;
use jsonc_parser::{
    ParseOptions,
    cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode},
    parse_to_serde_value,
};
use serde_json::Value;

/// Some editors begin a file with it. It is not part of the text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Nothing beyond comments and trailing commas: what a client itself would reject is an error.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Reads a text as a value. An empty text is `null`.
pub(crate) fn parse(text: &str) -> anyhow::Result<Value> {
    let text = text.trim_start_matches(BYTE_ORDER_MARK);
    parse_to_serde_value(text, &OPTIONS).or_else(|error| not_json(error.line_display()))
}

/// The parser's message is left out: it adds nothing to the line number.
fn not_json<T>(line: usize) -> anyhow::Result<T> {
    bail!("line {line} is not JSON")
}

/// A file that is edited.
pub(crate) struct JsoncFile {
    begins_with_mark: bool,
    root: CstRootNode,
}

impl JsoncFile {
    /// Parses a file whose root is an object. An empty text counts as an empty object.
    pub(crate) fn parse(text: &str) -> anyhow::Result<(Self, CstObject)> {
        let body = text.trim_start_matches(BYTE_ORDER_MARK);
        let begins_with_mark = body.len() < text.len();
        let body = if body.trim().is_empty() { "{}\n" } else { body };
        let root = match CstRootNode::parse(body, &OPTIONS) {
            Ok(root) => root,
            Err(error) => return not_json(error.line_display()),
        };
        let Some(object) = root.object_value() else {
            bail!("it is not a JSON object");
        };
        let file = Self {
            begins_with_mark,
            root,
        };
        Ok((file, object))
    }

    /// Returns the edited text. Other programs depend on it, so that a text that cannot be parsed is
    /// never returned.
    pub(crate) fn render(&self) -> anyhow::Result<String> {
        let body = self.root.to_string();
        if parse(&body).is_err() {
            bail!("its structure is not understood");
        }
        let mark = if self.begins_with_mark {
            "\u{feff}"
        } else {
            ""
        };
        Ok(format!("{mark}{body}"))
    }
}

/// Finds a member. Of two members with the same name the last one counts, as in most parsers.
pub(crate) fn find_member(object: &CstObject, name: &str) -> Option<CstObjectProp> {
    let members = object.properties();
    members
        .into_iter()
        .rfind(|member| member.decoded_name().as_deref() == Some(name))
}

/// Returns the object under `name`, which is added if it is missing; `None` if there is something
/// else.
pub(crate) fn member_object(object: &CstObject, name: &str) -> Option<CstObject> {
    match find_member(object, name) {
        Some(member) => member.object_value(),
        None => object
            .append(name, CstInputValue::Object(Vec::new()))
            .object_value(),
    }
}

/// Adds a member or replaces its value.
pub(crate) fn set_member(object: &CstObject, name: &str, value: &Value) {
    match find_member(object, name) {
        Some(member) => member.set_value(input_value(value)),
        None => drop(object.append(name, input_value(value))),
    }
}

fn input_value(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input_value).collect()),
        Value::Object(members) => CstInputValue::Object(
            members
                .iter()
                .map(|(name, value)| (name.clone(), input_value(value)))
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_skipped() {
        let text = "\u{feff}{ // why\n  /* one,\n two */ \"a\": [1, 2,\n ], \"b//\": \"/* no */, ]\\\"//\",\n}\n";
        assert_eq!(
            parse(text).unwrap(),
            json!({ "a": [1, 2], "b//": "/* no */, ]\"//" })
        );
        assert_eq!(
            parse(r#"{"a": "x, }", "b": ["\\", "\"", ",]"], "c": 1.5e3}"#).unwrap(),
            json!({ "a": "x, }", "b": ["\\", "\"", ",]"], "c": 1.5e3 })
        );
    }

    #[test]
    fn a_text_that_is_neither_is_an_error_with_its_line() {
        for text in [
            "{\n\"open",
            "{\n'a': 1}",
            "{\na: 1}",
            "{\n\"a\": 1 \"b\": 2}",
            "[\n1 2]",
            "{}\n{}",
            "{\n/*",
            "[\n,]",
            "[\n+1]",
            "[\n0x1]",
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert_eq!(error, "line 2 is not JSON", "{text}");
            assert!(JsoncFile::parse(text).is_err(), "{text}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
    }
}
