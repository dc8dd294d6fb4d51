//! Exports a tool in the form of a model API, and converts the model's arguments back. What a form
//! cannot express is added to the description and noted.

mod non_strict;
mod restore_arguments;
mod strict;
mod tool_name;
mod upgrade_draft;

use serde_json::{Map, Value, json};

use super::{Parameters, constraint_text};

pub use tool_name::{MAX_TOOL_NAME_CHARS, safe_name};

/// The maximum length of a description that `OpenAI` accepts.
pub const MAX_DESCRIPTION_CHARS: usize = 1024;

/// The maximum length of a description for an API without a documented limit.
const MAX_UNLIMITED_CHARS: usize = 10_000;

/// The field that wraps arguments which are not a plain object.
pub(super) const WRAPPER_FIELD: &str = "arguments";

/// A tool in the form of one API.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportedTool {
    /// The name that the model sees.
    pub name: String,
    /// The tool in the API's form.
    pub tool: Value,
    /// What the form could not express and was described or changed.
    pub notes: Vec<String>,
    /// Whether the API enforces the schema.
    pub strict: bool,
    restore: ArgumentRestore,
}

/// The changes of an export that must be reverted in the arguments.
#[derive(Debug, Clone, PartialEq, Default)]
struct ArgumentRestore {
    /// Whether the arguments are wrapped in one field.
    wrapped: bool,
    /// The renamed fields: new name, old name.
    renamed: Vec<(String, String)>,
    /// The parameters, if optional fields became required with null for "left out".
    null_parameters: Option<Box<Parameters>>,
}

impl ExportedTool {
    /// Converts the model's arguments to the form that the tool expects.
    pub fn restore_arguments(&self, arguments: &Value) -> Value {
        self.restore.apply(arguments)
    }
}

/// The parameter schema that the APIs share, and what it could not express.
struct ParameterForm {
    schema: Value,
    /// The rules on the arguments as a whole that the schema does not express.
    rules: Vec<String>,
    notes: Vec<String>,
    restore: ArgumentRestore,
}

/// Exports a tool for `OpenAI`'s chat completions API.
pub fn openai(
    name: &str,
    description: &str,
    parameters: &Parameters,
    strict: bool,
) -> ExportedTool {
    let (form, strict) = openai_form(parameters, strict);
    build_export(
        name,
        description,
        MAX_DESCRIPTION_CHARS,
        form,
        strict,
        |name, description, schema| {
            json!({"type": "function", "function": {
                "name": name, "description": description, "parameters": schema, "strict": strict
            }})
        },
    )
}

/// Exports a tool for `OpenAI`'s responses API.
pub fn openai_responses(
    name: &str,
    description: &str,
    parameters: &Parameters,
    strict: bool,
) -> ExportedTool {
    let (form, strict) = openai_form(parameters, strict);
    build_export(
        name,
        description,
        MAX_DESCRIPTION_CHARS,
        form,
        strict,
        |name, description, schema| {
            json!({
                "type": "function", "name": name, "description": description,
                "parameters": schema, "strict": strict
            })
        },
    )
}

/// Exports a tool for Anthropic's messages API.
pub fn anthropic(name: &str, description: &str, parameters: &Parameters) -> ExportedTool {
    let form = non_strict::with_safe_fields(non_strict::build(parameters));
    build_export(
        name,
        description,
        MAX_UNLIMITED_CHARS,
        form,
        false,
        |name, description, schema| json!({"name": name, "description": description, "input_schema": schema}),
    )
}

/// Exports a tool for Langbase's pipes.
pub fn langbase(name: &str, description: &str, parameters: &Parameters) -> ExportedTool {
    let form = non_strict::build(parameters);
    build_export(
        name,
        description,
        MAX_DESCRIPTION_CHARS,
        form,
        false,
        |name, description, schema| {
            json!({"type": "function", "function": {
                "name": name, "description": description, "parameters": schema
            }})
        },
    )
}

fn openai_form(parameters: &Parameters, strict: bool) -> (ParameterForm, bool) {
    if !strict {
        return (non_strict::build(parameters), false);
    }
    match strict::build(parameters) {
        Ok(form) => (form, true),
        Err(why) => {
            let mut form = non_strict::build(parameters);
            form.notes.insert(0, format!("not strict: {why}"));
            (form, false)
        }
    }
}

fn build_export(
    name: &str,
    description: &str,
    longest: usize,
    mut form: ParameterForm,
    strict: bool,
    put: impl FnOnce(&str, &str, Value) -> Value,
) -> ExportedTool {
    let safe = safe_name(name);
    if safe != name {
        form.notes.push(format!("the name was changed to {safe}"));
    }
    let text = describe_with_rules(description, &form.rules, longest, &mut form.notes);
    ExportedTool {
        tool: put(&safe, &text, form.schema),
        name: safe,
        notes: form.notes,
        strict,
        restore: form.restore,
    }
}

/// Appends the rules to the description. If there is too little room, rules are kept first.
fn describe_with_rules(
    text: &str,
    rules: &[String],
    longest: usize,
    notes: &mut Vec<String>,
) -> String {
    let rules = with_rules(String::new(), rules);
    let rules = constraint_text::truncate_at_word(&rules, longest / 2);
    let room = longest - rules.chars().count() - usize::from(!rules.is_empty());
    if text.chars().count() > room {
        notes.push(format!(
            "the description was shortened to {room} characters"
        ));
    }
    let text = constraint_text::truncate_at_word(text, room);
    match (text.is_empty(), rules.is_empty()) {
        (true, _) => rules,
        (_, true) => text,
        _ => format!("{text}\n{rules}"),
    }
}

/// Appends the rules to a description, in brackets.
fn with_rules(text: String, rules: &[String]) -> String {
    match (text.is_empty(), rules.is_empty()) {
        (_, true) => text,
        (true, false) => format!("({})", rules.join("; ")),
        (false, false) => format!("{text} ({})", rules.join("; ")),
    }
}

fn empty_object() -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("type".to_owned(), "object".into());
    out.insert("properties".to_owned(), Value::Object(Map::new()));
    out
}
