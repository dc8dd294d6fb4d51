//! What a model wants called, checked and mended: names that are nearly right, arguments in other
//! shapes, ids that are missing or taken. What can't be mended is said.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::MOST_CALLS;
use crate::{
    Ask, Function, FunctionCall,
    lenient::{self, End},
    shorten::shortened,
};

/// The longest id that is taken as it is.
const MAX_ID_CHARS: usize = 128;
/// The shortest name that is known by its beginning or its end.
const MIN_PART_CHARS: usize = 4;
/// How much of a name that is none is told.
const MAX_NAME_CHARS: usize = 80;
/// How many names are offered instead.
const MAX_OFFERED: usize = 20;

/// Whether something can be called in answer to the ask.
pub(super) fn may_call(ask: &Ask) -> bool {
    !ask.functions.is_empty() && !ask.answer_now
}

/// The calls that can be made, and what is wrong with the others.
pub(super) fn checked(raw: Vec<FunctionCall>, ask: &Ask) -> (Vec<FunctionCall>, Vec<String>) {
    let mut ids = Ids::of(ask);
    let (mut calls, mut faults) = (Vec::new(), Vec::new());
    for call in raw.into_iter().take(MOST_CALLS) {
        match mended(call, &ask.functions) {
            Ok(call) => calls.push(FunctionCall {
                id: ids.own(&call.id),
                ..call
            }),
            Err(fault) if !faults.contains(&fault) => faults.push(fault),
            Err(_) => {}
        }
    }
    (calls, faults)
}

fn mended(call: FunctionCall, functions: &[Function]) -> Result<FunctionCall, String> {
    let Some(name) = meant(&call.name, functions) else {
        let known: Vec<&str> = functions
            .iter()
            .take(MAX_OFFERED)
            .map(|it| it.name.as_str())
            .collect();
        return Err(format!(
            "there is no function {:?}; there are {}",
            shortened(&call.name, MAX_NAME_CHARS),
            known.join(", ")
        ));
    };
    let Some(arguments) = object(call.arguments) else {
        return Err(format!("the arguments of {name} are not one JSON object"));
    };
    Ok(FunctionCall {
        name: name.to_owned(),
        arguments: Value::Object(arguments),
        ..call
    })
}

/// The function a name means: the one that has it, else the only one that nearly has it.
fn meant<'f>(name: &str, functions: &'f [Function]) -> Option<&'f str> {
    if let Some(known) = functions.iter().find(|it| it.name == name) {
        return Some(&known.name);
    }
    let given = bare(name);
    let only = |same: &dyn Fn(&str) -> bool| {
        let mut found = functions.iter().filter(|it| same(&bare(&it.name)));
        match (found.next(), found.next()) {
            (Some(one), None) => Some(one.name.as_str()),
            _ => None,
        }
    };
    if let Some(one) = only(&|known| known == given) {
        return Some(one);
    }
    // A prefix of the server is forgotten, or one of the provider's stands before the name.
    let part_of = |part: &str, whole: &str| {
        part.chars().count() >= MIN_PART_CHARS && (whole.starts_with(part) || whole.ends_with(part))
    };
    only(&|known| part_of(&given, known) || part_of(known, &given))
}

/// A name without what models get wrong: case, and what stands between words.
fn bare(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// The arguments, whichever way they were put.
fn object(arguments: Value) -> Option<Map<String, Value>> {
    match arguments {
        Value::Object(members) => Some(members),
        Value::Null => Some(Map::new()),
        Value::String(text) if text.trim().is_empty() => Some(Map::new()),
        Value::String(text) => match read(&text)? {
            Value::String(_) => None,
            value => object(value),
        },
        Value::Array(mut items) => match items.len() {
            0 => Some(Map::new()),
            1 if items.iter().all(Value::is_object) => items.pop().and_then(object),
            _ => None,
        },
        Value::Bool(_) | Value::Number(_) => None,
    }
}

/// Reads arguments. Half of them are none: what is missing may be what matters.
fn read(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().or_else(|| {
        let whole = !lenient::is_open(text);
        whole.then(|| lenient::read(text, End::Written).ok())?
    })
}

/// The ids of a conversation. Who names no calls gets names that come out the same in every run.
struct Ids {
    taken: BTreeSet<String>,
    made: usize,
}

impl Ids {
    fn of(ask: &Ask) -> Self {
        let earlier = || ask.messages.iter().flat_map(|message| &message.calls);
        Self {
            taken: earlier().map(|call| call.id.clone()).collect(),
            made: earlier().count(),
        }
    }

    fn own(&mut self, id: &str) -> String {
        self.made += 1;
        let sound =
            !id.is_empty() && id.len() <= MAX_ID_CHARS && id.chars().all(|c| c.is_ascii_graphic());
        let base = if sound {
            id.to_owned()
        } else {
            format!("call_{}", self.made)
        };
        let mut own = base.clone();
        let mut number = 1;
        while !self.taken.insert(own.clone()) {
            number += 1;
            own = format!("{base}_{number}");
        }
        own
    }
}
