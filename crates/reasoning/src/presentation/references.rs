//! Replaces short ids and beginnings of ids in arguments by the ids that they mean.

use deliberate_core::SessionId;
use deliberate_store::{ReferenceKind, Store};
use deliberate_toolkit::{ArgumentIssue, ToolError};
use serde_json::{Map, Value};

use super::is_uuid;

/// The arguments that hold ids, and what they name.
const ID_ARGUMENTS: [(&str, ReferenceKind); 7] = [
    ("graph_id", ReferenceKind::Graph),
    ("thought_id", ReferenceKind::Thought),
    ("branch_id", ReferenceKind::Branch),
    ("node_id", ReferenceKind::Node),
    ("node_ids", ReferenceKind::Node),
    ("terminal_node_ids", ReferenceKind::Node),
    ("checkpoint_id", ReferenceKind::Checkpoint),
];

/// Replaces the references. What cannot be resolved stays as it is, and the tool says that it does
/// not exist.
pub(super) async fn resolve_references(
    mut arguments: Value,
    store: &dyn Store,
) -> Result<Value, ToolError> {
    let Some(fields) = arguments.as_object_mut() else {
        return Ok(arguments);
    };
    resolve_field(fields, "session_id", &[ReferenceKind::Session], None, store).await?;
    let session = text_field(fields, "session_id").map(SessionId::from);
    resolve_field(
        fields,
        "graph_id",
        &[ReferenceKind::Graph],
        session.as_ref(),
        store,
    )
    .await?;
    let session = match (session, text_field(fields, "graph_id")) {
        (None, Some(graph)) => store
            .graph(&graph.into())
            .await?
            .map(|graph| graph.session_id),
        (session, _) => session,
    };
    for (name, kind) in ID_ARGUMENTS {
        resolve_field(fields, name, &[kind], session.as_ref(), store).await?;
    }
    resolve_field(fields, "id", &ReferenceKind::ALL, session.as_ref(), store).await?;
    Ok(arguments)
}

fn text_field<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name)?.as_str()
}

/// Resolves one argument: an id, or a list of them.
async fn resolve_field(
    fields: &mut Map<String, Value>,
    name: &str,
    kinds: &[ReferenceKind],
    session: Option<&SessionId>,
    store: &dyn Store,
) -> Result<(), ToolError> {
    let texts: Vec<&mut Value> = match fields.get_mut(name) {
        Some(Value::Array(items)) => items.iter_mut().collect(),
        Some(value) => vec![value],
        None => return Ok(()),
    };
    for value in texts {
        let Some(text) = value.as_str().filter(|text| !is_uuid(text)) else {
            continue;
        };
        let mut found = Vec::new();
        for kind in kinds {
            found.extend(store.resolve_reference(*kind, session, text).await?);
        }
        match found.as_slice() {
            [id] => *value = id.as_str().into(),
            [] => {}
            _ => {
                let rule = "is the beginning of several ids; give more of it";
                let issue = ArgumentIssue::new(name, rule).with_value(value);
                return Err(ToolError::Invalid(vec![issue]));
            }
        }
    }
    Ok(())
}
