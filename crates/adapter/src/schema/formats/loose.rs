//! The form without strictness: the whole schema as it is, but for its top, which must be a
//! plain object for every API.

use serde_json::{Map, Value};

use super::{Form, Undo, WRAPPER, modern::modern, name::safe_field, no_fields};
use crate::schema::{Kind, Parameters, Shape, keywords::type_of_rule, refs::SHELF, words, write};

/// What an API does not take at the top of a schema.
const NOT_AT_TOP: [&str; 9] = [
    "anyOf", "oneOf", "allOf", "enum", "const", "not", "if", "then", "else",
];

/// The parameters as an object every API takes.
pub(super) fn form(parameters: &Parameters) -> Form {
    let mut form = Form {
        schema: Value::Null,
        rules: Vec::new(),
        notes: Vec::new(),
        undo: Undo::default(),
    };
    let root = parameters.resolve(&parameters.root);
    let mut top = match &root.kind {
        Kind::Object { .. } => plain_top(parameters, root, &mut form),
        Kind::Any if root.is_bare() => no_fields(),
        Kind::Schema(Value::Object(fields)) if is_plain(fields) => fields.clone(),
        _ => wrapped(parameters, &mut form),
    };
    for key in ["$schema", "$id"] {
        top.shift_remove(key);
    }
    if !parameters.definitions.is_empty() {
        top.insert(SHELF.to_owned(), parameters.shelf(parameters.draft()));
    }
    form.schema = Value::Object(top);
    if parameters.draft().is_old() {
        form.schema = modern(&form.schema, parameters.draft());
    }
    form
}

fn is_plain(fields: &Map<String, Value>) -> bool {
    let refused = |key: &String| NOT_AT_TOP.contains(&key.as_str()) || key == "$ref";
    fields.get("type").is_some_and(|it| it == "object") && !fields.keys().any(refused)
}

/// An object; the rules that may not stand at the top are told instead.
fn plain_top(parameters: &Parameters, root: &Shape, form: &mut Form) -> Map<String, Value> {
    let mut root = root.clone();
    root.nullable = false;
    root.implied = false;
    let mut lifted = Map::new();
    if let Some(values) = root.choices.take() {
        lifted.insert("enum".to_owned(), Value::Array(values));
    }
    root.constraints.retain(|key, value| {
        let refused = NOT_AT_TOP.contains(&key.as_str()) || type_of_rule(key).is_none();
        if refused {
            lifted.insert(key.clone(), value.clone());
        }
        !refused
    });
    form.rules = words::of_rules(&lifted);
    for key in lifted.keys() {
        form.notes.push(format!(
            "{key} can't stand at the top; it is told in the description"
        ));
    }
    match write::write(&root, parameters.draft()) {
        Value::Object(fields) => fields,
        _ => no_fields(),
    }
}

/// Arguments that are no plain object stand in one field.
fn wrapped(parameters: &Parameters, form: &mut Form) -> Map<String, Value> {
    form.undo.wrapped = true;
    form.notes.push(format!(
        "the schema is no plain object; it stands in the field {WRAPPER}"
    ));
    let mut top = no_fields();
    let held = write::write(&parameters.root, parameters.draft());
    let mut fields = Map::new();
    fields.insert(WRAPPER.to_owned(), held);
    top.insert("properties".to_owned(), Value::Object(fields));
    top.insert("required".to_owned(), vec![WRAPPER].into());
    top.insert("additionalProperties".to_owned(), false.into());
    top
}

/// The same with the names of the top's fields as Anthropic takes them.
pub(super) fn with_safe_fields(mut form: Form) -> Form {
    let Some(top) = form.schema.as_object_mut() else {
        return form;
    };
    let Some(Value::Object(fields)) = top.get("properties") else {
        return form;
    };
    let odd = fields.keys().map(|name| (safe_field(name), name.clone()));
    let renamed: Vec<(String, String)> = odd.filter(|(safe, name)| safe != name).collect();
    if renamed.is_empty() {
        return form;
    }
    let safe = |name: &str| {
        let found = renamed.iter().find(|(_, old)| old == name);
        found.map_or(name, |(new, _)| new.as_str()).to_owned()
    };
    let fields: Map<String, Value> = fields
        .iter()
        .map(|(name, it)| (safe(name), it.clone()))
        .collect();
    let required = top.get("required").and_then(Value::as_array).map(|names| {
        let names = names.iter().filter_map(Value::as_str);
        names
            .map(|name| Value::String(safe(name)))
            .collect::<Value>()
    });
    top.insert("properties".to_owned(), Value::Object(fields));
    if let Some(required) = required {
        top.insert("required".to_owned(), required);
    }
    for (new, old) in &renamed {
        let old: String = old.chars().take(80).collect();
        form.notes.push(format!("the field {old:?} became {new}"));
    }
    form.undo.renamed = renamed;
    form
}
