//! Shows the reasoning calls to clients: Markdown meant to be read, small data beside it, and short
//! ids (`t3`, `b2`, `n5`, `c1`, `g1`) that are taken wherever an id is.

mod markdown;
mod references;

use std::{borrow::Cow, collections::BTreeMap};

use deliberate_store::Store;
use deliberate_toolkit::{
    CallPresenter, PresentedOutput, REPLIES_RECORDED, REPLY_RECORDED, ToolError,
};
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use markdown::render_output;

/// The largest number of ids of one answer that get a short id.
const MAX_SHORT_IDS: usize = 200;

/// The fields with the texts that a caller who brought the reply has written itself.
const OWN_TEXTS: [&str; 9] = [
    "content",
    "synthesis",
    "assessment",
    "rationale",
    "improved_reasoning",
    "strengths",
    "weaknesses",
    "recommendations",
    "conflicts_resolved",
];

/// Shows the calls of the reasoning tools.
pub(crate) struct ReasoningPresenter;

impl CallPresenter for ReasoningPresenter {
    fn presents(&self, tool: &str) -> bool {
        tool.starts_with("reasoning_")
    }

    fn resolve_arguments<'a>(
        &'a self,
        arguments: Value,
        store: &'a dyn Store,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(references::resolve_references(arguments, store))
    }

    fn present<'a>(
        &'a self,
        output: &'a Value,
        store: &'a dyn Store,
    ) -> BoxFuture<'a, PresentedOutput> {
        Box::pin(async move {
            let mut ids = Vec::new();
            // Stored data is a page of its own, with the short ids in it.
            if output.get("data").is_none() {
                collect_ids(output, &mut ids);
            }
            // An answer without short ids is still an answer.
            let short = store.short_ids(&ids).await.unwrap_or_default();
            let mut data = output.clone();
            let mut is_receipt = false;
            if let Some(fields) = data.as_object_mut() {
                if fields.shift_remove(REPLY_RECORDED).is_some() {
                    drop_own_texts(fields);
                }
                is_receipt = fields.shift_remove(REPLIES_RECORDED).is_some();
                add_short_ids(fields, &short);
            }
            let mut readable = Cow::Borrowed(&data);
            if is_receipt && let Some(fields) = readable.to_mut().as_object_mut() {
                drop_own_texts(fields);
            }
            // The graph tools take no session, without which a short id means nothing.
            let mut shown = short;
            shown.retain(|_, short| !short.starts_with('g'));
            let text = render_output(&readable, &shown);
            if let Some(fields) = data.as_object_mut()
                && fields.contains_key("data")
            {
                fields.shift_remove("text");
            }
            PresentedOutput { text, data }
        })
    }
}

/// Collects the ids of an answer: they are UUIDs.
fn collect_ids(value: &Value, ids: &mut Vec<String>) {
    match value {
        Value::String(text)
            if is_uuid(text) && ids.len() < MAX_SHORT_IDS && !ids.contains(text) =>
        {
            ids.push(text.clone());
        }
        Value::Array(items) => items.iter().for_each(|item| collect_ids(item, ids)),
        Value::Object(fields) => fields.values().for_each(|field| collect_ids(field, ids)),
        _ => {}
    }
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Removes the texts that the caller wrote itself, at any depth.
fn drop_own_texts(fields: &mut Map<String, Value>) {
    fields.retain(|name, _| !OWN_TEXTS.contains(&name.as_str()));
    for field in fields.values_mut() {
        match field {
            Value::Object(inner) => drop_own_texts(inner),
            Value::Array(items) => {
                for item in items.iter_mut().filter_map(Value::as_object_mut) {
                    drop_own_texts(item);
                }
            }
            _ => {}
        }
    }
}

/// Adds the short ids to the data, each with its id.
fn add_short_ids(fields: &mut Map<String, Value>, short: &BTreeMap<String, String>) {
    if short.is_empty() {
        return;
    }
    let pairs = short
        .iter()
        .map(|(id, short)| (short.clone(), id.as_str().into()));
    fields.insert("short_ids".to_owned(), Value::Object(pairs.collect()));
}
