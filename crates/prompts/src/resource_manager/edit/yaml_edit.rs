//! Edits a YAML file field by field. Lines that an edit does not touch stay as they are, with their
//! comments; only where that fails is the whole file rewritten.
//!
//! Every result is parsed and compared, so that the file always has the intended content.

use crate::library::{reword_error, yaml_options};
use serde_json::{Map, Value};

/// The error of a YAML file that cannot be edited.
#[derive(Debug, thiserror::Error)]
pub(crate) enum YamlEditError {
    #[error("the YAML can't be read: {0}")]
    Invalid(String),
    #[error("the file is not a mapping of names to values")]
    NotAMapping,
    #[error("the value of `{0}` can't be written as YAML")]
    Unwritable(String),
}

/// A YAML file that is being edited.
#[derive(Debug, Clone, Default)]
pub(crate) struct YamlDocument {
    text: String,
    values: Map<String, Value>,
}

impl YamlDocument {
    /// Parses a file; an empty file has no fields.
    pub(crate) fn parse(text: &str) -> Result<Self, YamlEditError> {
        let values = match parse_yaml(text).map_err(YamlEditError::Invalid)? {
            Value::Object(values) => values,
            Value::Null => Map::new(),
            _ => return Err(YamlEditError::NotAMapping),
        };
        Ok(Self {
            text: text.to_owned(),
            values,
        })
    }

    /// Returns the value of a field.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name).filter(|value| !value.is_null())
    }

    /// Returns the text of a field.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_str)
    }

    /// Returns the edited file.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Sets a field.
    pub(crate) fn set(&mut self, name: &str, value: Value) -> Result<(), YamlEditError> {
        if self.values.get(name) == Some(&value) {
            return Ok(());
        }
        let block = render_entry(name, &value)?;
        self.values.insert(name.to_owned(), value);
        let changed = replace_entry(&self.text, name, Some(&block));
        self.set_text(changed)
    }

    /// Removes a field.
    pub(crate) fn remove(&mut self, name: &str) -> Result<(), YamlEditError> {
        if self.values.shift_remove(name).is_none() {
            return Ok(());
        }
        let changed = replace_entry(&self.text, name, None);
        self.set_text(changed)
    }

    /// Uses the edited text if it has the intended content, else rewrites the whole file.
    fn set_text(&mut self, changed: String) -> Result<(), YamlEditError> {
        let says = parse_yaml(&changed).unwrap_or(Value::Bool(false));
        let meant = if self.values.is_empty() && says.is_null() {
            Value::Null
        } else {
            Value::Object(self.values.clone())
        };
        self.text = if says == meant {
            changed
        } else {
            self.values
                .iter()
                .map(|(name, value)| render_entry(name, value))
                .collect::<Result<String, _>>()?
        };
        Ok(())
    }
}

/// Parses untrusted YAML: an alias bomb is rejected before it expands.
pub(crate) fn parse_yaml(text: &str) -> Result<Value, String> {
    serde_saphyr::from_str_with_options(text, yaml_options(text.len())).map_err(|error| {
        let whole = error.without_snippet().to_string();
        reword_error(whole.lines().next().unwrap_or_default())
    })
}

/// Renders a field and its value as YAML lines.
fn render_entry(name: &str, value: &Value) -> Result<String, YamlEditError> {
    let meant = Value::Object(Map::from_iter([(name.to_owned(), value.clone())]));
    let options = serde_saphyr::ser_options! {
        folded_wrap_chars: 1_000_000_000,
        compact_list_indent: false,
    };
    let pretty = serde_saphyr::to_string_with_options(&meant, options).ok();
    let plain = || format!("{}: {value}\n", Value::from(name));
    let mut candidates = pretty
        .into_iter()
        .map(ensure_trailing_newline)
        .chain(std::iter::once_with(plain));
    candidates
        .find(|text| parse_yaml(text).is_ok_and(|says| says == meant))
        .ok_or_else(|| YamlEditError::Unwritable(name.to_owned()))
}

fn ensure_trailing_newline(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Replaces or removes the lines of a field, or appends them at the end.
fn replace_entry(text: &str, name: &str, block: Option<&str>) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let Some(begin) = lines.iter().position(|line| starts_entry(line, name)) else {
        let mut whole = text.to_owned();
        if !whole.is_empty() && !whole.ends_with('\n') {
            whole.push('\n');
        }
        whole.push_str(block.unwrap_or_default());
        return whole;
    };
    let rest = lines.iter().skip(begin + 1);
    let own = rest.clone().take_while(|line| !is_top_level(line)).count();
    // Comments and blank lines before the next field belong to that field.
    let given_back = rest
        .take(own)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .take_while(|line| line.trim().is_empty() || line.starts_with('#'))
        .count();
    let end = begin + 1 + own - given_back;
    let before: String = lines.iter().take(begin).copied().collect();
    let after: String = lines.iter().skip(end).copied().collect();
    format!("{before}{}{after}", block.unwrap_or_default())
}

fn starts_entry(line: &str, name: &str) -> bool {
    let rest = line.strip_prefix(name).or_else(|| {
        let quote = line.chars().next().filter(|it| matches!(it, '"' | '\''))?;
        line.strip_prefix(quote)?
            .strip_prefix(name)?
            .strip_prefix(quote)
    });
    rest.is_some_and(|rest| rest.trim_start_matches(' ').starts_with(':'))
}

/// Returns whether a line begins a top-level entry.
fn is_top_level(line: &str) -> bool {
    line.chars()
        .next()
        .is_some_and(|first| !first.is_whitespace() && !matches!(first, '#' | '-' | ']' | '}'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const SAMPLE_FILE: &str = "\
# about
id: x
name: Old # here
# of the list
arguments:
- {name: a}
- name: b
description: |
  two
  lines

# at the end
category: c
";

    #[test]
    fn only_the_lines_of_the_changed_name_change() {
        let mut document = YamlDocument::parse(SAMPLE_FILE).unwrap();
        document.set("description", json!("one")).unwrap();
        let text = document.into_text();
        assert_eq!(text, SAMPLE_FILE.replace("|\n  two\n  lines\n", "one\n"));
        let mut document = YamlDocument::parse(SAMPLE_FILE).unwrap();
        document.remove("arguments").unwrap();
        document.set("extra", json!([1, { "a": "b: c" }])).unwrap();
        let text = document.into_text();
        assert!(text.contains("# of the list\ndescription: |"), "{text}");
        assert_eq!(
            parse_yaml(&text).unwrap(),
            json!({ "id": "x", "name": "Old", "description": "two\nlines\n", "category": "c",
                    "extra": [1, { "a": "b: c" }] })
        );
    }

    #[test]
    fn a_file_of_another_shape_is_written_anew() {
        let mut document = YamlDocument::parse("{id: x, name: Old,\n description: d}").unwrap();
        document.set("name", json!("New")).unwrap();
        assert_eq!(
            parse_yaml(&document.into_text()).unwrap(),
            json!({ "id": "x", "name": "New", "description": "d" })
        );
        let mut document = YamlDocument::parse("a: &it [1]\nb: *it\n").unwrap();
        document.set("a", json!(2)).unwrap();
        assert_eq!(
            parse_yaml(&document.into_text()).unwrap(),
            json!({ "a": 2, "b": [1] })
        );
    }

    proptest! {
        #[test]
        fn what_is_set_is_read(text in any::<String>(), other in "[ -~\n\t]{0,80}", key in "[a-zA-Z ]{1,8}") {
            let mut document = YamlDocument::parse(SAMPLE_FILE).unwrap();
            let value = json!([{ key: text, "b": other }, text, other]);
            match document.set("arguments", value.clone()) {
                Ok(()) => {
                    let read = parse_yaml(&document.into_text()).unwrap();
                    prop_assert_eq!(&read["arguments"], &value);
                    prop_assert_eq!(&read["name"], &json!("Old"));
                }
                Err(error) => prop_assert!(matches!(error, YamlEditError::Unwritable(_))),
            }
        }
    }
}
