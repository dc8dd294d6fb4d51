//! A tool in the form an API of a model takes, and the model's arguments back in the form the
//! tool expects. What a form can't hold is told in the description, and noted.

mod non_strict;
mod restore_arguments;
mod strict;
mod tool_name;
mod upgrade_draft;

use serde_json::{Map, Value, json};

use super::{Parameters, constraint_text};

pub use tool_name::{MAX_TOOL_NAME_CHARS, safe_name};

/// The longest description `OpenAI` takes.
pub const MAX_DESCRIPTION_CHARS: usize = 1024;

/// The longest that is sent to an API which tells no limit.
const MAX_UNLIMITED_CHARS: usize = 10_000;

/// The field that holds arguments which are no plain object.
pub(super) const WRAPPER_FIELD: &str = "arguments";

/// A tool in the form of one API.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportedTool {
    /// The name the model knows the tool by.
    pub name: String,
    /// The tool as the API takes it.
    pub tool: Value,
    /// What could not be held and was told in the description or changed.
    pub notes: Vec<String>,
    /// Whether the API was asked to hold the model to the schema.
    pub strict: bool,
    restore: ArgumentRestore,
}

/// What an export did to the arguments.
#[derive(Debug, Clone, PartialEq, Default)]
struct ArgumentRestore {
    /// They stand inside one field.
    wrapped: bool,
    /// Fields that were renamed: new name, old name.
    renamed: Vec<(String, String)>,
    /// Fields that may be left out were asked for, with null for "left out".
    null_parameters: Option<Box<Parameters>>,
}

impl ExportedTool {
    /// What the model wrote, as the tool expects it.
    pub fn restore_arguments(&self, arguments: &Value) -> Value {
        self.restore.apply(arguments)
    }
}

/// What the APIs share: a schema for the parameters and what could not be put into it.
struct ParameterForm {
    schema: Value,
    /// Rules on the arguments as a whole that the schema does not hold.
    rules: Vec<String>,
    notes: Vec<String>,
    restore: ArgumentRestore,
}

/// For the tools of `OpenAI`'s chat completions.
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

/// For the tools of `OpenAI`'s responses.
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

/// For the tools of Anthropic's messages.
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

/// For the tools of Langbase's pipes.
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
        form.notes.push(format!("the name became {safe}"));
    }
    let told = describe_with_rules(description, &form.rules, longest, &mut form.notes);
    ExportedTool {
        tool: put(&safe, &told, form.schema),
        name: safe,
        notes: form.notes,
        strict,
        restore: form.restore,
    }
}

/// The description with the rules at its end. Rules are kept before words.
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
        notes.push(format!("the description was cut to {room} characters"));
    }
    let text = constraint_text::truncate_at_word(text, room);
    match (text.is_empty(), rules.is_empty()) {
        (true, _) => rules,
        (_, true) => text,
        _ => format!("{text}\n{rules}"),
    }
}

/// A description with rules in brackets after it.
fn with_rules(text: String, rules: &[String]) -> String {
    match (text.is_empty(), rules.is_empty()) {
        (_, true) => text,
        (true, false) => format!("({})", rules.join("; ")),
        (false, false) => format!("{text} ({})", rules.join("; ")),
    }
}

/// An object with no fields.
fn empty_object() -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("type".to_owned(), "object".into());
    out.insert("properties".to_owned(), Value::Object(Map::new()));
    out
}
