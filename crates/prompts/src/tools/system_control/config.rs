//! The `config` action: shows the operator's settings. They can only be changed outside: a model
//! must not widen its own permissions.

use deliberate_core::did_you_mean;
use deliberate_toolkit::{ArgumentIssue, ErrorCode, ToolError};
use serde_json::{Map, Value, json};

use super::{
    ControlContext, ControlOperation, OperationResult,
    operation_result::{TextLines, pluralize},
};
use crate::{
    EngineLimits, EngineOptions, GateJudgeKind, engine::engine_error, model::LibraryItemKind,
    process::split_command,
};

pub(super) const OPERATIONS: &[ControlOperation] = &[
    ControlOperation {
        name: "list",
        accepted_fields: &["search_query"],
        run: |desk| Box::pin(async { Ok(list(desk)) }),
    },
    ControlOperation {
        name: "get",
        accepted_fields: &["key"],
        run: |desk| Box::pin(async { get(desk) }),
    },
    ControlOperation {
        name: "set",
        accepted_fields: &["key", "value", "confirm"],
        run: |desk| Box::pin(async { Err(read_only_error(desk)) }),
    },
    ControlOperation {
        name: "validate",
        accepted_fields: &[],
        run: |desk| Box::pin(async { Ok(validate(desk)) }),
    },
    ControlOperation {
        name: "restore",
        accepted_fields: &["key", "confirm"],
        run: |desk| Box::pin(async { Err(read_only_error(desk)) }),
    },
];

/// Returns the settings by key. None of them is secret.
fn setting_values(options: &EngineOptions) -> Map<String, Value> {
    let paths = &options.paths;
    let path = |it: Option<&std::path::PathBuf>| json!(it.map(|it| it.display().to_string()));
    let judge = match options.judge {
        GateJudgeKind::Client => "client",
        GateJudgeKind::Model => "model",
    };
    let mut all = Map::from_iter([
        ("prompts.workspace".to_owned(), path(Some(&paths.workspace))),
        (
            "prompts.prompts_path".to_owned(),
            path(paths.prompts.as_ref()),
        ),
        ("prompts.gates_path".to_owned(), path(paths.gates.as_ref())),
        (
            "prompts.methodologies_path".to_owned(),
            path(paths.methodologies.as_ref()),
        ),
        (
            "prompts.styles_path".to_owned(),
            path(paths.styles.as_ref()),
        ),
        (
            "prompts.scripts_path".to_owned(),
            path(paths.scripts.as_ref()),
        ),
        ("prompts.commands".to_owned(), json!(options.commands)),
        ("prompts.scripts".to_owned(), json!(options.scripts)),
        (
            "prompts.caller_scripts".to_owned(),
            json!(options.caller_scripts),
        ),
        ("prompts.judge".to_owned(), json!(judge)),
        ("prompts.methodology".to_owned(), json!(options.methodology)),
        ("prompts.in_menu".to_owned(), json!(options.list_prompts)),
    ]);
    for (name, value) in limit_values(&options.limits) {
        all.insert(format!("prompts.{name}"), value);
    }
    all
}

/// Returns the limits by name.
pub(super) fn limit_values(limits: &EngineLimits) -> Map<String, Value> {
    let fields = json!({
        "command_bytes": limits.command_bytes,
        "answer_bytes": limits.answer_bytes,
        "rendered_bytes": limits.rendered_bytes,
        "steps": limits.steps,
        "repetitions": limits.repetitions,
        "depth": limits.depth,
        "fuel": limits.fuel,
        "runs_kept": limits.max_runs,
        "versions_kept": limits.max_versions,
        "file_bytes": limits.file_bytes,
        "files": limits.files,
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn list(context: &ControlContext<'_>) -> OperationResult {
    let wanted = context
        .input
        .search_query
        .as_deref()
        .unwrap_or_default()
        .to_lowercase();
    let mut all = setting_values(&context.engine.options);
    all.retain(|key, _| key.contains(&wanted));
    let mut lines = TextLines::default();
    for (key, value) in &all {
        lines.add(format!("{key} = {value}"));
    }
    if all.is_empty() {
        lines.add("no key matches");
    }
    OperationResult::new(lines.into_text(), json!({ "config": all }))
}

fn get(context: &ControlContext<'_>) -> Result<OperationResult, ToolError> {
    let given = context.require_text("key", context.input.key.as_ref())?;
    let all = setting_values(&context.engine.options);
    let whole = format!("prompts.{given}");
    let Some((key, value)) = all
        .get_key_value(given)
        .or_else(|| all.get_key_value(&whole))
    else {
        let mut rule = "is not a key; config list shows the keys".to_owned();
        let known = all.keys().map(String::as_str);
        if let Some(meant) =
            did_you_mean(given, known.clone()).or_else(|| did_you_mean(&whole, known))
        {
            rule = format!("is not a key; did you mean {meant}?");
        }
        return Err(ToolError::Invalid(vec![
            ArgumentIssue::new("key", rule).with_value(&json!(given)),
        ]));
    };
    let fields = json!({ "key": key, "value": value });
    Ok(OperationResult::new(format!("{key} = {value}"), fields))
}

fn read_only_error(context: &ControlContext<'_>) -> ToolError {
    let key = context.input.key.as_deref().unwrap_or_default();
    let known = setting_values(&context.engine.options);
    let key = Some(key)
        .filter(|key| known.contains_key(*key))
        .unwrap_or("prompts.…");
    engine_error(
        ErrorCode::ReadOnly,
        format!(
            "settings can't be changed from here; the operator sets {key} in the settings file, \
             with --set {key}=VALUE or by an environment variable, and restarts the program. \
             Injection rules are in engine.yaml of the workspace and are read at once"
        ),
        "`deliberate config` shows the file, the variables and the source of each value. These \
         can be changed here: framework, gates, injection override.",
    )
}

fn validate(context: &ControlContext<'_>) -> OperationResult {
    let (options, library) = (&context.engine.options, &context.library);
    let mut found: Vec<String> = Vec::new();
    if !options.paths.workspace.is_dir() {
        found.push(
            "prompts.workspace: the folder does not exist yet; it is created with the first \
             resource"
                .to_owned(),
        );
    }
    if let Some(id) = &options.methodology
        && library.methodology(id).is_none()
    {
        found.push(format!(
            "prompts.methodology: there is no enabled methodology {id:?}"
        ));
    }
    for command in &options.commands {
        if let Err(why) = split_command(command) {
            found.push(format!(
                "prompts.commands: {command:?} can't be used: {why}"
            ));
        }
    }
    if options.caller_scripts && !options.commands.is_empty() {
        found.push(
            "prompts.caller_scripts: a call can write a script that an allowed command may run"
                .to_owned(),
        );
    }
    for script in options.scripts.iter().filter(|it| !it.ends_with('*')) {
        if !library.scripts.contains_key(script) {
            found.push(format!("prompts.scripts: there is no script {script:?}"));
        }
    }
    let zero = limit_values(&options.limits)
        .into_iter()
        .filter(|(_, value)| *value == json!(0));
    found.extend(zero.map(|(name, _)| format!("prompts.{name}: is 0, so nothing is allowed")));
    let rules = library.problems.iter();
    let rules =
        rules.filter(|it| it.file.ends_with("engine.yaml") && it.kind == LibraryItemKind::Prompt);
    found.extend(rules.map(super::library_problems::problem_line));
    let mut lines = TextLines::default();
    if found.is_empty() {
        lines.add("The settings are valid.");
    } else {
        lines.add(format!("{}:", pluralize(found.len(), "remark")));
        for remark in &found {
            lines.add(remark);
        }
    }
    OperationResult::new(
        lines.into_text(),
        json!({ "valid": found.is_empty(), "remarks": found }),
    )
}
