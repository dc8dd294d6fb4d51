//! The fields that a call may have beside the declared ones: the fields of a resource and the
//! options of an action. An unknown field is an error that suggests a known one.

use deliberate_core::did_you_mean;
use deliberate_toolkit::ToolError;
use serde_json::{Map, Value};

use super::{
    disk::resource_path::display_input,
    errors::invalid_input,
    request::{ResourceAction, ResourceType},
};
use crate::model::LibraryItemKind;

const PROMPT_FIELDS: &[&str] = &[
    "name",
    "description",
    "category",
    "user_message_template",
    "system_message",
    "arguments",
    "chain_steps",
    "tools",
    "gate_configuration",
    "injection",
    "register_with_mcp",
    "subagent_model",
    "agent_type",
    "execution_hint",
];

const GATE_FIELDS: &[&str] = &[
    "name",
    "description",
    "guidance",
    "type",
    "gate_type",
    "severity",
    "enforcement_mode",
    "pass_criteria",
    "activation",
    "retry_config",
    "evaluation",
];

const METHODOLOGY_FIELDS: &[&str] = &[
    "name",
    "description",
    "type",
    "version_label",
    "enabled",
    "system_prompt_guidance",
    "phases",
    "methodology_gates",
    "gates",
    "execution_steps",
    "quality_indicators",
    "judge_prompt",
    "tool_descriptions",
    "template_suggestions",
    "methodology_elements",
    "argument_suggestions",
    "execution_type_enhancements",
    "template_enhancements",
    "execution_flow",
];

const STYLE_FIELDS: &[&str] = &[
    "name",
    "description",
    "guidance",
    "priority",
    "enabled",
    "enhancement_mode",
    "activation",
    "compatible_frameworks",
];

/// Returns the options of an action beside the fields of a resource.
const fn action_options(action: ResourceAction) -> &'static [&'static str] {
    match action {
        ResourceAction::List => &[
            "search_query",
            "detail",
            "enabled_only",
            "offset",
            "category",
        ],
        ResourceAction::Inspect => &["detail"],
        ResourceAction::Create => &["skip_version", "reason"],
        ResourceAction::Update => &[
            "skip_version",
            "reason",
            "section",
            "section_content",
            "chain_step_operation",
            "chain_step_index",
            "chain_step_data",
            "chain_step_order",
            "index",
            "data",
            "order",
        ],
        ResourceAction::Delete
        | ResourceAction::Rollback
        | ResourceAction::Compare
        | ResourceAction::History
        | ResourceAction::Clear => &["reason", "detail"],
        ResourceAction::Switch => &["persist", "reason"],
        ResourceAction::Guide => &["topic", "goal"],
        ResourceAction::Reload => &["reason"],
        ResourceAction::AnalyzeType | ResourceAction::AnalyzeGates => &[],
    }
}

/// Returns the fields of a kind of resource.
pub(super) const fn resource_fields(kind: LibraryItemKind) -> &'static [&'static str] {
    match kind {
        LibraryItemKind::Prompt => PROMPT_FIELDS,
        LibraryItemKind::Gate => GATE_FIELDS,
        LibraryItemKind::Methodology => METHODOLOGY_FIELDS,
        LibraryItemKind::Style => STYLE_FIELDS,
        LibraryItemKind::Script => &[],
    }
}

/// Validates every field name and converts it to its usual spelling.
pub(super) fn check_fields(
    given: Map<String, Value>,
    about: ResourceType,
    action: ResourceAction,
) -> Result<Map<String, Value>, ToolError> {
    let content = match (about.kind(), action) {
        (Some(kind), ResourceAction::Create | ResourceAction::Update) => resource_fields(kind),
        (None, ResourceAction::Create) => &["name", "description"],
        (None, _) => &["name"],
        _ => &[],
    };
    let known: Vec<&str> = content
        .iter()
        .chain(action_options(action))
        .copied()
        .collect();
    let mut checked = Map::new();
    for (name, value) in given {
        let usual = to_snake_case(&name);
        let usual = canonical_name(about, &usual).unwrap_or(&usual);
        if !known.contains(&usual) {
            return Err(unknown_field(&name, usual, about, action, &known));
        }
        if !value.is_null() {
            checked.insert(usual.to_owned(), value);
        }
    }
    Ok(checked)
}

/// Returns the usual name of an alias.
fn canonical_name(about: ResourceType, name: &str) -> Option<&'static str> {
    match (about.kind(), name) {
        (Some(LibraryItemKind::Methodology), "processing_steps") => Some("phases"),
        (Some(LibraryItemKind::Methodology), "framework_gates") => Some("methodology_gates"),
        (Some(LibraryItemKind::Methodology), "framework_elements") => Some("methodology_elements"),
        (Some(LibraryItemKind::Prompt), "gates") => Some("gate_configuration"),
        (Some(LibraryItemKind::Prompt), "content" | "template") => Some("user_message_template"),
        _ => None,
    }
}

fn unknown_field(
    given: &str,
    usual: &str,
    about: ResourceType,
    action: ResourceAction,
    known: &[&str],
) -> ToolError {
    let own = about.kind().map_or(&[][..], resource_fields);
    let elsewhere = [
        LibraryItemKind::Prompt,
        LibraryItemKind::Gate,
        LibraryItemKind::Methodology,
        LibraryItemKind::Style,
    ]
    .into_iter()
    .find(|kind| resource_fields(*kind).contains(&usual));
    let hint = match (
        own.contains(&usual),
        did_you_mean(usual, known.iter().copied()),
    ) {
        (true, _) => "It is for create and update.".to_owned(),
        (false, Some(near)) => format!("Did you mean `{near}`?"),
        (false, None) => elsewhere.map_or_else(
            || {
                if known.is_empty() {
                    "No other fields are allowed.".to_owned()
                } else {
                    format!("Known are: {}.", known.join(", "))
                }
            },
            |kind| format!("It belongs to a {}.", kind.as_str()),
        ),
    };
    invalid_input(
        format!(
            "`{}` is not a field of {}; nothing was changed.",
            display_input(given),
            action.as_str()
        ),
        hint,
    )
}

/// Converts `userMessageTemplate` to `user_message_template`.
pub(super) fn to_snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len());
    for letter in name.chars().take(200) {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// Converts `prompt_id` to `promptId`.
pub(super) fn to_camel_case(name: &str) -> String {
    let mut camel = String::with_capacity(name.len());
    let mut upper = false;
    for letter in name.chars() {
        if letter == '_' && !camel.is_empty() {
            upper = true;
        } else if std::mem::take(&mut upper) {
            camel.push(letter.to_ascii_uppercase());
        } else {
            camel.push(letter);
        }
    }
    camel
}

/// Returns the text of a field; `None` if it was not given.
pub(super) fn text_field<'f>(
    fields: &'f Map<String, Value>,
    name: &str,
) -> Result<Option<&'f str>, ToolError> {
    match fields.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(invalid_input(
            format!(
                "`{name}` must be text, got {}.",
                display_input(&other.to_string())
            ),
            "Write it in quotes.",
        )),
    }
}

/// Returns whether a boolean field is true.
pub(super) fn bool_field(fields: &Map<String, Value>, name: &str) -> Result<bool, ToolError> {
    match fields.get(name) {
        None => Ok(false),
        Some(Value::Bool(on)) => Ok(*on),
        Some(Value::String(word)) if word == "true" => Ok(true),
        Some(Value::String(word)) if word == "false" => Ok(false),
        Some(other) => Err(invalid_input(
            format!(
                "`{name}` must be true or false, got {}.",
                display_input(&other.to_string())
            ),
            "Write true or false.",
        )),
    }
}

/// Parses a list or an object that was sent as JSON text; returns other values unchanged.
pub(super) fn parse_json_text(value: &Value) -> Value {
    if let Value::String(text) = value
        && text.trim_start().starts_with(['[', '{'])
        && let Ok(inner) = serde_json::from_str(text)
    {
        return inner;
    }
    value.clone()
}
