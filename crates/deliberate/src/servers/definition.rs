//! One entry of a servers file: parsed as leniently as clients write them, with errors that contain
//! no value.

use std::path::{Path, PathBuf};

use deliberate_gateway::GatewayServer;
use deliberate_mcp_client::config::{
    ConfigProblem, ConfiguredServer, ServerConfigError, expand, read_servers,
};
use serde_json::{Map, Value};

use super::{DefinitionSource, ServerDefinition};
use crate::config::{
    Environment, FieldError, LoadedConfig, find_invalid_fields, servers::self_reference,
};

/// Fields that have another meaning in other clients and would grant a permission here.
const DROPPED_FIELDS: &[&str] = &["trust", "sampling"];

/// Below this number, `timeout` of other clients is in seconds.
const TIMEOUT_SECONDS_BELOW: u64 = 1_000;

/// Converts an entry to a server. Returns `None` if it is this program, or the errors.
pub(super) fn load_definition(
    name: &str,
    value: &Value,
    definition_source: &DefinitionSource,
    loaded: &LoadedConfig,
) -> Result<Option<ServerDefinition>, String> {
    let environment = &loaded.environment;
    let fields = value.as_object().ok_or("it is not an object")?;
    let imported = matches!(definition_source, DefinitionSource::Imported(_));
    let ours = self_reference::starts_this_program(fields, environment)
        || self_reference::connects_to_this_program(fields, loaded.settings.http.listen);
    if imported && ours {
        return Ok(None);
    }
    if ours && !self_reference::has_own_settings(fields) {
        return Err(self_reference::SELF_REFERENCE_ERROR.to_owned());
    }
    let fields = if imported {
        convert_fields(fields, definition_source.file(), environment)
    } else {
        fields.clone()
    };
    let configured_server = check_fields(name, &fields, definition_source.file(), environment)?;
    Ok(Some(ServerDefinition {
        server: configured_server,
        fields,
        source: definition_source.clone(),
    }))
}

/// Converts another client's entry to the form of this program, independent of its file.
pub(crate) fn convert_fields(
    fields: &Map<String, Value>,
    file: &Path,
    environment: &Environment,
) -> Map<String, Value> {
    let theirs = fields
        .iter()
        .filter(|(name, value)| !DROPPED_FIELDS.contains(&name.as_str()) && !value.is_null());
    let mut ours: Map<String, Value> = theirs
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let folders = [
        ("${userHome}", environment.home.clone()),
        ("${workspaceFolder}", project_folder(file)),
    ];
    for (variable, folder) in folders {
        if let Some(folder) = folder.as_deref().and_then(Path::to_str) {
            ours.values_mut()
                .for_each(|value| substitute_variable(value, variable, folder));
        }
    }
    if let Some(Value::String(folder)) = ours.get_mut("cwd")
        && !folder.starts_with("${")
    {
        *folder = absolute_folder(folder, file, environment);
    }
    if let Some(time) = ours.shift_remove("timeout").and_then(|it| it.as_u64())
        && time > 0
    {
        let time = if time < TIMEOUT_SECONDS_BELOW {
            time * 1_000
        } else {
            time
        };
        ours.entry("longest_ms").or_insert(time.into());
    }
    ours
}

/// Substitutes one variable in all texts of a value.
fn substitute_variable(value: &mut Value, variable: &str, text: &str) {
    match value {
        Value::String(old) => *old = old.replace(variable, text),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| substitute_variable(item, variable, text)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|member| substitute_variable(member, variable, text)),
        _ => {}
    }
}

/// Returns the project to which `.vscode/mcp.json` or `.cursor/mcp.json` belongs.
fn project_folder(file: &Path) -> Option<PathBuf> {
    let folder = file.parent()?;
    let hidden = folder.file_name()?.to_str()?;
    let project = folder.parent().map(Path::to_owned);
    project.filter(|_| matches!(hidden, ".vscode" | ".cursor"))
}

/// Returns the server that the fields describe, or all their errors.
fn check_fields(
    name: &str,
    fields: &Map<String, Value>,
    file: &Path,
    environment: &Environment,
) -> Result<ConfiguredServer, String> {
    let variables = |name: &str| environment.get(name).map(str::to_owned);
    check_with_variables(name, fields, file, environment, &variables)
}

/// Like `check_fields`, with the variables of another source.
pub(crate) fn check_with_variables(
    name: &str,
    fields: &Map<String, Value>,
    file: &Path,
    environment: &Environment,
    variables: &dyn Fn(&str) -> Option<String>,
) -> Result<ConfiguredServer, String> {
    if let Some(input) = fields.values().find_map(find_input_variable) {
        return Err(format!(
            "it needs `${{input:{input}}}`, which only its own client can ask for; \
             write `${{NAME}}` for an environment variable"
        ));
    }
    let wrong: Vec<String> = find_invalid_fields(fields)
        .into_iter()
        .filter_map(|wrong| match wrong.error {
            // Every client has its own fields.
            FieldError::Unknown(_) => None,
            FieldError::WrongType(what) => Some(format!("`{}`: {what}", wrong.field)),
        })
        .collect();
    if !wrong.is_empty() {
        return Err(wrong.join("; "));
    }
    let mut fields = fields.clone();
    if let Some(Value::String(folder)) = fields.get_mut("cwd") {
        let mut mistakes = Vec::new();
        *folder = expand(folder, "cwd", variables, &mut mistakes);
        if let Some(ConfigProblem { message: what, .. }) = mistakes.pop() {
            return Err(format!("`cwd`: {what}"));
        }
        *folder = absolute_folder(folder, file, environment);
    }
    let one = Map::from_iter([(name.to_owned(), Value::Object(fields))]);
    let read = read_servers(&one, variables).and_then(|mut servers| {
        let server = servers.pop();
        if let Some(server) = &server {
            GatewayServer::from_configured(server.clone())?;
        }
        Ok(server)
    });
    match read {
        Ok(Some(server)) => Ok(server),
        Ok(None) => Err("it cannot be read".to_owned()),
        Err(error) => Err(error_text(&error, name)),
    }
}

/// Returns the errors without the server's name, which the caller adds.
fn error_text(error: &ServerConfigError, name: &str) -> String {
    let start = format!("servers.{name}.");
    let mistakes = error
        .problems
        .iter()
        .map(|mistake| match mistake.path.strip_prefix(&start) {
            Some(field) => format!("`{field}`: {}", mistake.message),
            None => mistake.message.clone(),
        });
    mistakes.collect::<Vec<_>>().join("; ")
}

/// Resolves a folder from the user's home or from the file's folder.
fn absolute_folder(folder: &str, file: &Path, environment: &Environment) -> String {
    let path = match (folder.strip_prefix("~/"), &environment.home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => file.parent().unwrap_or(Path::new("")).join(folder),
    };
    path.to_string_lossy().into_owned()
}

/// Returns the name of an input that VS Code would ask the user for.
fn find_input_variable(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => {
            let (_, rest) = text.split_once("${input:")?;
            let (id, _) = rest.split_once('}')?;
            Some(deliberate_core::truncate_chars(id, 80))
        }
        Value::Array(items) => items.iter().find_map(find_input_variable),
        Value::Object(members) => members.values().find_map(find_input_variable),
        _ => None,
    }
}
