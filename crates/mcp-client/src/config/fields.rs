//! Reads the fields of one entry separately, so that every problem is reported. Values are never
//! shown, because a misplaced value may be a secret.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::ConfigProblem;

/// The fields of an entry that were not read yet, and their path.
pub(super) struct EntryFields<'a> {
    path: String,
    remaining: Map<String, Value>,
    problems: &'a mut Vec<ConfigProblem>,
}

impl<'a> EntryFields<'a> {
    /// Returns the fields of an object; reports a problem and returns none if the value is not an
    /// object.
    pub(super) fn from_value(
        place: String,
        value: &Value,
        mistakes: &'a mut Vec<ConfigProblem>,
    ) -> Option<Self> {
        let Value::Object(fields) = value else {
            mistakes.push(ConfigProblem::new(place, "must be an object"));
            return None;
        };
        Some(Self {
            path: place,
            remaining: fields.clone(),
            problems: mistakes,
        })
    }

    pub(super) fn text(&mut self, names: &[&str]) -> Option<String> {
        self.read(names, "must be a string", |value| match value {
            Value::String(text) => Some(text),
            _ => None,
        })
    }

    pub(super) fn text_list(&mut self, name: &str) -> Vec<String> {
        let texts = self.read(&[name], "must be a list of strings", |value| match value {
            Value::Array(items) => items.into_iter().map(scalar_text).collect(),
            _ => None,
        });
        texts.unwrap_or_default()
    }

    /// Reads an object of strings; numbers and booleans are accepted too.
    pub(super) fn text_map(&mut self, name: &str) -> BTreeMap<String, String> {
        let must = "must be an object whose values are strings";
        let table = self.read(&[name], must, |value| match value {
            Value::Object(fields) => fields
                .into_iter()
                .map(|(name, value)| Some((name, scalar_text(value)?)))
                .collect(),
            _ => None,
        });
        table.unwrap_or_default()
    }

    pub(super) fn number<T: TryFrom<u64>>(&mut self, names: &[&str]) -> Option<T> {
        self.read(names, "must be a whole number, 0 or more", |value| {
            T::try_from(value.as_u64()?).ok()
        })
    }

    pub(super) fn flag(&mut self, name: &str) -> Option<bool> {
        self.read(&[name], "must be true or false", |value| value.as_bool())
    }

    pub(super) fn nested(&mut self, name: &str) -> Option<EntryFields<'_>> {
        let value = self
            .remaining
            .shift_remove(name)
            .filter(|value| !value.is_null())?;
        EntryFields::from_value(format!("{}.{name}", self.path), &value, self.problems)
    }

    /// Returns the fields that were not read.
    pub(super) fn into_remaining(self) -> Map<String, Value> {
        self.remaining
    }

    /// Reports the fields that were not read as problems.
    pub(super) fn reject_remaining(self) {
        for name in self.remaining.keys() {
            let place = format!("{}.{name}", self.path);
            self.problems
                .push(ConfigProblem::new(place, "is not a known field"));
        }
    }

    /// Reads the first of these fields that is present.
    fn read<T>(
        &mut self,
        names: &[&str],
        must: &str,
        read: impl FnOnce(Value) -> Option<T>,
    ) -> Option<T> {
        let mut found = None;
        for name in names {
            let value = self
                .remaining
                .shift_remove(*name)
                .filter(|value| !value.is_null());
            found = found.or(value.map(|value| (*name, value)));
        }
        let (name, value) = found?;
        let read = read(value);
        if read.is_none() {
            let place = format!("{}.{name}", self.path);
            self.problems.push(ConfigProblem::new(place, must));
        }
        read
    }
}

fn scalar_text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}
