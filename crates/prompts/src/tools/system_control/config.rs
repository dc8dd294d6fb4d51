//! `config`: what the operator set. Read here, changed only where it is written: a model must not
//! widen what it is allowed.

use deliberate_core::nearest;
use deliberate_toolkit::{Issue, ToolError};
use serde_json::{Map, Value, json};

use super::{
    Desk, Done, Operation,
    done::{Lines, count},
};
use crate::{Judge, Limits, Options, engine::failure, model::Kind, run::split};

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "list",
        takes: &["search_query"],
        run: |desk| Box::pin(async { Ok(list(desk)) }),
    },
    Operation {
        name: "get",
        takes: &["key"],
        run: |desk| Box::pin(async { get(desk) }),
    },
    Operation {
        name: "set",
        takes: &["key", "value", "confirm"],
        run: |desk| Box::pin(async { Err(read_only(desk)) }),
    },
    Operation {
        name: "validate",
        takes: &[],
        run: |desk| Box::pin(async { Ok(validate(desk)) }),
    },
    Operation {
        name: "restore",
        takes: &["key", "confirm"],
        run: |desk| Box::pin(async { Err(read_only(desk)) }),
    },
];

/// What is set, by key. None of it is secret.
fn values(options: &Options) -> Map<String, Value> {
    let places = &options.places;
    let path = |it: Option<&std::path::PathBuf>| json!(it.map(|it| it.display().to_string()));
    let judge = match options.judge {
        Judge::Client => "client",
        Judge::Model => "model",
    };
    let mut all = Map::from_iter([
        (
            "prompts.workspace".to_owned(),
            path(Some(&places.workspace)),
        ),
        (
            "prompts.prompts_path".to_owned(),
            path(places.prompts.as_ref()),
        ),
        ("prompts.gates_path".to_owned(), path(places.gates.as_ref())),
        (
            "prompts.methodologies_path".to_owned(),
            path(places.methodologies.as_ref()),
        ),
        (
            "prompts.styles_path".to_owned(),
            path(places.styles.as_ref()),
        ),
        (
            "prompts.scripts_path".to_owned(),
            path(places.scripts.as_ref()),
        ),
        ("prompts.commands".to_owned(), json!(options.commands)),
        ("prompts.scripts".to_owned(), json!(options.scripts)),
        ("prompts.judge".to_owned(), json!(judge)),
        ("prompts.methodology".to_owned(), json!(options.methodology)),
        ("prompts.in_menu".to_owned(), json!(options.in_menu)),
    ]);
    for (name, value) in limits(&options.limits) {
        all.insert(format!("prompts.{name}"), value);
    }
    all
}

/// What may be used up, by name.
pub(super) fn limits(limits: &Limits) -> Map<String, Value> {
    let fields = json!({
        "command_bytes": limits.command_bytes,
        "answer_bytes": limits.answer_bytes,
        "rendered_bytes": limits.rendered_bytes,
        "steps": limits.steps,
        "repetitions": limits.repetitions,
        "depth": limits.depth,
        "fuel": limits.fuel,
        "runs_kept": limits.runs_kept,
        "versions_kept": limits.versions_kept,
        "file_bytes": limits.file_bytes,
        "files": limits.files,
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn list(desk: &Desk<'_>) -> Done {
    let wanted = desk
        .input
        .search_query
        .as_deref()
        .unwrap_or_default()
        .to_lowercase();
    let mut all = values(&desk.engine.options);
    all.retain(|key, _| key.contains(&wanted));
    let mut lines = Lines::default();
    for (key, value) in &all {
        lines.add(format!("{key} = {value}"));
    }
    if all.is_empty() {
        lines.add("no key fits");
    }
    Done::new(lines.end(), json!({ "config": all }))
}

fn get(desk: &Desk<'_>) -> Result<Done, ToolError> {
    let given = desk.needed("key", desk.input.key.as_ref())?;
    let all = values(&desk.engine.options);
    let whole = format!("prompts.{given}");
    let Some((key, value)) = all
        .get_key_value(given)
        .or_else(|| all.get_key_value(&whole))
    else {
        let mut rule = "is no key; config list shows them".to_owned();
        let known = all.keys().map(String::as_str);
        if let Some(meant) = nearest(given, known.clone()).or_else(|| nearest(&whole, known)) {
            rule = format!("is no key; did you mean {meant}?");
        }
        return Err(ToolError::Invalid(vec![
            Issue::new("key", rule).given(&json!(given)),
        ]));
    };
    let fields = json!({ "key": key, "value": value });
    Ok(Done::new(format!("{key} = {value}"), fields))
}

fn read_only(desk: &Desk<'_>) -> ToolError {
    let key = desk.input.key.as_deref().unwrap_or_default();
    let known = values(&desk.engine.options);
    let key = Some(key)
        .filter(|key| known.contains_key(*key))
        .unwrap_or("prompts.…");
    failure(
        "ReadOnly",
        format!(
            "settings can't be changed from here; whoever runs the program sets {key} in its \
             settings file, with --set {key}=VALUE or by an environment variable, and starts it \
             again. Rules of injection stand in engine.yaml of the workspace and are read at once"
        ),
        "`deliberate config` shows the file, the variables and where each value comes from. What \
         can be switched here: framework, gates, injection override.",
    )
}

fn validate(desk: &Desk<'_>) -> Done {
    let (options, library) = (&desk.engine.options, &desk.library);
    let mut found: Vec<String> = Vec::new();
    if !options.places.workspace.is_dir() {
        found.push(
            "prompts.workspace: there is no such folder yet; it is made when something is created"
                .to_owned(),
        );
    }
    if let Some(id) = &options.methodology
        && library.methodology(id).is_none()
    {
        found.push(format!(
            "prompts.methodology: there is no methodology {id:?} that is enabled"
        ));
    }
    for command in &options.commands {
        if let Err(why) = split(command) {
            found.push(format!(
                "prompts.commands: {command:?} can't be used: {why}"
            ));
        }
    }
    for script in options.scripts.iter().filter(|it| !it.ends_with('*')) {
        if !library.scripts.contains_key(script) {
            found.push(format!("prompts.scripts: there is no script {script:?}"));
        }
    }
    let zero = limits(&options.limits)
        .into_iter()
        .filter(|(_, value)| *value == json!(0));
    found.extend(zero.map(|(name, _)| format!("prompts.{name}: is 0, so nothing fits")));
    let rules = library.problems.iter();
    let rules = rules.filter(|it| it.file.ends_with("engine.yaml") && it.kind == Kind::Prompt);
    found.extend(rules.map(super::problems::line));
    let mut lines = Lines::default();
    if found.is_empty() {
        lines.add("The settings are valid.");
    } else {
        lines.add(format!("{}:", count(found.len(), "remark")));
        for remark in &found {
            lines.add(remark);
        }
    }
    Done::new(
        lines.end(),
        json!({ "valid": found.is_empty(), "remarks": found }),
    )
}
