//! The non-strict form: the schema as it is, except that every API requires a plain object at the
//! top.

use serde_json::{Map, Value};

use super::{
    ArgumentRestore, ParameterForm, WRAPPER_FIELD, empty_object, tool_name::safe_field,
    upgrade_draft::upgrade_schema,
};
use crate::schema::{
    Parameters, SchemaShape, ShapeKind, constraint_text, keywords::keyword_type, references::DEFS,
    write,
};

/// The keywords that an API does not accept at the top of a schema.
const FORBIDDEN_AT_TOP: [&str; 9] = [
    "anyOf", "oneOf", "allOf", "enum", "const", "not", "if", "then", "else",
];

/// Builds the parameters as an object that every API accepts.
pub(super) fn build(parameters: &Parameters) -> ParameterForm {
    let mut form = ParameterForm {
        schema: Value::Null,
        rules: Vec::new(),
        notes: Vec::new(),
        restore: ArgumentRestore::default(),
    };
    let root = parameters.resolve(&parameters.root);
    let mut top = match &root.kind {
        ShapeKind::Object { .. } => top_level_object(parameters, root, &mut form),
        ShapeKind::Any if root.is_bare() => empty_object(),
        ShapeKind::Opaque(Value::Object(fields)) if is_plain_object(fields) => fields.clone(),
        _ => wrap_parameters(parameters, &mut form),
    };
    for key in ["$schema", "$id"] {
        top.shift_remove(key);
    }
    if !parameters.definitions.is_empty() {
        top.insert(
            DEFS.to_owned(),
            parameters.definitions_schema(parameters.draft()),
        );
    }
    form.schema = Value::Object(top);
    if parameters.draft().is_legacy() {
        form.schema = upgrade_schema(&form.schema, parameters.draft());
    }
    form
}

fn is_plain_object(fields: &Map<String, Value>) -> bool {
    let refused = |key: &String| FORBIDDEN_AT_TOP.contains(&key.as_str()) || key == "$ref";
    fields.get("type").is_some_and(|it| it == "object") && !fields.keys().any(refused)
}

/// Builds an object; the rules that may not be at the top are described instead.
fn top_level_object(
    parameters: &Parameters,
    root: &SchemaShape,
    form: &mut ParameterForm,
) -> Map<String, Value> {
    let mut root = root.clone();
    root.nullable = false;
    root.implied = false;
    let mut lifted = Map::new();
    if let Some(values) = root.enum_values.take() {
        lifted.insert("enum".to_owned(), Value::Array(values));
    }
    root.constraints.retain(|key, value| {
        let refused = FORBIDDEN_AT_TOP.contains(&key.as_str()) || keyword_type(key).is_none();
        if refused {
            lifted.insert(key.clone(), value.clone());
        }
        !refused
    });
    form.rules = constraint_text::describe_keywords(&lifted);
    for key in lifted.keys() {
        form.notes.push(format!(
            "{key} is not allowed at the top; it is in the description"
        ));
    }
    match write::write_schema(&root, parameters.draft()) {
        Value::Object(fields) => fields,
        _ => empty_object(),
    }
}

/// Wraps arguments that are not a plain object in one field.
fn wrap_parameters(parameters: &Parameters, form: &mut ParameterForm) -> Map<String, Value> {
    form.restore.wrapped = true;
    form.notes.push(format!(
        "the schema is not a plain object; it is wrapped in the field {WRAPPER_FIELD}"
    ));
    let mut top = empty_object();
    let held = write::write_schema(&parameters.root, parameters.draft());
    let mut fields = Map::new();
    fields.insert(WRAPPER_FIELD.to_owned(), held);
    top.insert("properties".to_owned(), Value::Object(fields));
    top.insert("required".to_owned(), vec![WRAPPER_FIELD].into());
    top.insert("additionalProperties".to_owned(), false.into());
    top
}

/// Renames the top-level fields to names that Anthropic accepts.
pub(super) fn with_safe_fields(mut form: ParameterForm) -> ParameterForm {
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
        form.notes
            .push(format!("the field {old:?} was renamed to {new}"));
    }
    form.restore.renamed = renamed;
    form
}
