//! The fields of one entry, each looked at by itself, so that every mistake is named. No value is
//! shown: it may be a secret in the wrong place.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::Mistake;

/// What is left of an entry, and where that is.
pub(super) struct Fields<'a> {
    place: String,
    rest: Map<String, Value>,
    mistakes: &'a mut Vec<Mistake>,
}

impl<'a> Fields<'a> {
    /// The fields of this object; nothing, if it is none.
    pub(super) fn of(place: String, value: &Value, mistakes: &'a mut Vec<Mistake>) -> Option<Self> {
        let Value::Object(fields) = value else {
            mistakes.push(Mistake::new(place, "must be an object with fields"));
            return None;
        };
        Some(Self {
            place,
            rest: fields.clone(),
            mistakes,
        })
    }

    /// A text.
    pub(super) fn text(&mut self, names: &[&str]) -> Option<String> {
        self.read(names, "must be a text", |value| match value {
            Value::String(text) => Some(text),
            _ => None,
        })
    }

    /// A list of texts.
    pub(super) fn texts(&mut self, name: &str) -> Vec<String> {
        let texts = self.read(&[name], "must be a list of texts", |value| match value {
            Value::Array(items) => items.into_iter().map(plain).collect(),
            _ => None,
        });
        texts.unwrap_or_default()
    }

    /// Texts by name; numbers and yes-or-no will do.
    pub(super) fn table(&mut self, name: &str) -> BTreeMap<String, String> {
        let must = "must be an object whose fields are texts";
        let table = self.read(&[name], must, |value| match value {
            Value::Object(fields) => fields
                .into_iter()
                .map(|(name, value)| Some((name, plain(value)?)))
                .collect(),
            _ => None,
        });
        table.unwrap_or_default()
    }

    /// A whole number.
    pub(super) fn number<T: TryFrom<u64>>(&mut self, names: &[&str]) -> Option<T> {
        self.read(names, "must be a whole number, 0 or more", |value| {
            T::try_from(value.as_u64()?).ok()
        })
    }

    /// Yes or no.
    pub(super) fn flag(&mut self, name: &str) -> Option<bool> {
        self.read(&[name], "must be true or false", |value| value.as_bool())
    }

    /// The entry in that field.
    pub(super) fn nested(&mut self, name: &str) -> Option<Fields<'_>> {
        let value = self
            .rest
            .shift_remove(name)
            .filter(|value| !value.is_null())?;
        Fields::of(format!("{}.{name}", self.place), &value, self.mistakes)
    }

    /// What nobody asked for.
    pub(super) fn rest(self) -> Map<String, Value> {
        self.rest
    }

    /// The same, as mistakes.
    pub(super) fn refuse_rest(self) {
        for name in self.rest.keys() {
            let place = format!("{}.{name}", self.place);
            self.mistakes.push(Mistake::new(place, "is not known"));
        }
    }

    /// The first of these fields that is there.
    fn read<T>(
        &mut self,
        names: &[&str],
        must: &str,
        read: impl FnOnce(Value) -> Option<T>,
    ) -> Option<T> {
        let mut found = None;
        for name in names {
            let value = self
                .rest
                .shift_remove(*name)
                .filter(|value| !value.is_null());
            found = found.or(value.map(|value| (*name, value)));
        }
        let (name, value) = found?;
        let read = read(value);
        if read.is_none() {
            let place = format!("{}.{name}", self.place);
            self.mistakes.push(Mistake::new(place, must));
        }
        read
    }
}

fn plain(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}
