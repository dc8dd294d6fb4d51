//! A tool in the form an API of a model takes, and the model's arguments back in the form the
//! tool expects. What a form can't hold is told in the description, and noted.

mod back;
mod loose;
mod modern;
mod name;
mod strict;

use serde_json::{Map, Value, json};

use super::{Parameters, words};

pub use name::{LONGEST_NAME, safe_name};

/// The longest description `OpenAI` takes.
pub const LONGEST_DESCRIPTION: usize = 1024;

/// The longest that is sent to an API which tells no limit.
const LONGEST_ANYWHERE: usize = 10_000;

/// The field that holds arguments which are no plain object.
pub(super) const WRAPPER: &str = "arguments";

/// A tool in the form of one API.
#[derive(Debug, Clone, PartialEq)]
pub struct Exported {
    /// The name the model knows the tool by.
    pub name: String,
    /// The tool as the API takes it.
    pub tool: Value,
    /// What could not be held and was told in the description or changed.
    pub notes: Vec<String>,
    /// Whether the API was asked to hold the model to the schema.
    pub strict: bool,
    undo: Undo,
}

/// What an export did to the arguments.
#[derive(Debug, Clone, PartialEq, Default)]
struct Undo {
    /// They stand inside one field.
    wrapped: bool,
    /// Fields that were renamed: new name, old name.
    renamed: Vec<(String, String)>,
    /// Fields that may be left out were asked for, with null for "left out".
    nulls: Option<Box<Parameters>>,
}

impl Exported {
    /// What the model wrote, as the tool expects it.
    pub fn arguments_back(&self, arguments: &Value) -> Value {
        self.undo.apply(arguments)
    }
}

/// What the APIs share: a schema for the parameters and what could not be put into it.
struct Form {
    schema: Value,
    /// Rules on the arguments as a whole that the schema does not hold.
    rules: Vec<String>,
    notes: Vec<String>,
    undo: Undo,
}

/// For the tools of `OpenAI`'s chat completions.
pub fn openai(name: &str, description: &str, parameters: &Parameters, strict: bool) -> Exported {
    let (form, strict) = form_for_openai(parameters, strict);
    exported(
        name,
        description,
        LONGEST_DESCRIPTION,
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
) -> Exported {
    let (form, strict) = form_for_openai(parameters, strict);
    exported(
        name,
        description,
        LONGEST_DESCRIPTION,
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
pub fn anthropic(name: &str, description: &str, parameters: &Parameters) -> Exported {
    let form = loose::with_safe_fields(loose::form(parameters));
    exported(
        name,
        description,
        LONGEST_ANYWHERE,
        form,
        false,
        |name, description, schema| json!({"name": name, "description": description, "input_schema": schema}),
    )
}

/// For the tools of Langbase's pipes.
pub fn langbase(name: &str, description: &str, parameters: &Parameters) -> Exported {
    let form = loose::form(parameters);
    exported(
        name,
        description,
        LONGEST_DESCRIPTION,
        form,
        false,
        |name, description, schema| {
            json!({"type": "function", "function": {
                "name": name, "description": description, "parameters": schema
            }})
        },
    )
}

fn form_for_openai(parameters: &Parameters, strict: bool) -> (Form, bool) {
    if !strict {
        return (loose::form(parameters), false);
    }
    match strict::form(parameters) {
        Ok(form) => (form, true),
        Err(why) => {
            let mut form = loose::form(parameters);
            form.notes.insert(0, format!("not strict: {why}"));
            (form, false)
        }
    }
}

fn exported(
    name: &str,
    description: &str,
    longest: usize,
    mut form: Form,
    strict: bool,
    put: impl FnOnce(&str, &str, Value) -> Value,
) -> Exported {
    let safe = safe_name(name);
    if safe != name {
        form.notes.push(format!("the name became {safe}"));
    }
    let told = described(description, &form.rules, longest, &mut form.notes);
    Exported {
        tool: put(&safe, &told, form.schema),
        name: safe,
        notes: form.notes,
        strict,
        undo: form.undo,
    }
}

/// The description with the rules at its end. Rules are kept before words.
fn described(text: &str, rules: &[String], longest: usize, notes: &mut Vec<String>) -> String {
    let rules = with_rules(String::new(), rules);
    let rules = words::cut(&rules, longest / 2);
    let room = longest - rules.chars().count() - usize::from(!rules.is_empty());
    if text.chars().count() > room {
        notes.push(format!("the description was cut to {room} characters"));
    }
    let text = words::cut(text, room);
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
fn no_fields() -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("type".to_owned(), "object".into());
    out.insert("properties".to_owned(), Value::Object(Map::new()));
    out
}
