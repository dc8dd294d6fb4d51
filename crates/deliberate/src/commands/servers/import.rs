//! `deliberate servers add --from FILE`: imports the servers of another client.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use serde_json::{Map, Value};

use super::{add::missing_variables, file::ServersFile};
use crate::{
    commands::{
        CommandContext,
        setup::{Dirs, json_config_path},
    },
    config::{LoadedConfig, servers::self_reference},
    servers::convert_fields,
};

/// Source of the entries, and whether they may replace others.
struct ServerImportSource<'a> {
    path: &'a Path,
    force: bool,
}

/// Result for one entry.
enum ServerImportOutcome {
    Added,
    Replaced,
    Unchanged,
    SelfReference,
    Invalid(String),
}

pub(super) fn run(
    from: &Path,
    names: &[String],
    force: bool,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let from = &resolve_source(from, shell.loaded);
    let shown = from.display();
    // Relative folders in the file start at its directory.
    let path = std::path::absolute(from).unwrap_or_else(|_| from.clone());
    let source = ServerImportSource { path: &path, force };
    let found = read_source(from)?;
    let chosen =
        select_servers(&found, names).with_context(|| format!("{shown} cannot be imported"))?;
    let file = ServersFile::open(&shell.loaded.settings)?;
    let mut fates = Vec::new();
    for (name, value) in chosen {
        fates.push((
            name,
            import_server(name, value, &source, &file, shell.loaded),
        ));
    }
    let taken: Vec<&str> = fates
        .iter()
        .filter(|(_, fate)| {
            matches!(
                fate,
                ServerImportOutcome::Added | ServerImportOutcome::Replaced
            )
        })
        .map(|(name, _)| *name)
        .collect();
    if !taken.is_empty() {
        file.write()?;
    }
    let path = file.path().display();
    for (name, fate) in &fates {
        match fate {
            ServerImportOutcome::Added => writeln!(shell.output, "Added {name:?} to {path}.")?,
            ServerImportOutcome::Replaced => {
                writeln!(shell.output, "Replaced {name:?} in {path}.")?;
            }
            ServerImportOutcome::Unchanged => writeln!(
                shell.output,
                "Skipped {name:?}, which is already in {path}; `--force` replaces it."
            )?,
            ServerImportOutcome::SelfReference => {
                writeln!(shell.output, "Skipped {name:?}: it is this program.")?;
            }
            ServerImportOutcome::Invalid(what) => {
                writeln!(shell.output, "Skipped {name:?}: {what}.")?;
            }
        }
    }
    match taken.as_slice() {
        [] => writeln!(shell.output, "Nothing was added.")?,
        names => writeln!(
            shell.output,
            "Next: deliberate servers test {}",
            names.join(" ")
        )?,
    }
    let wrong = fates
        .iter()
        .any(|(_, fate)| matches!(fate, ServerImportOutcome::Invalid(_)));
    Ok(if wrong {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

/// A client's name stands for its file, unless a file of that name exists.
fn resolve_source(from: &Path, loaded: &LoadedConfig) -> PathBuf {
    let file = || {
        let name = from.to_str().filter(|_| !from.exists())?;
        let dirs = Dirs::detect(&loaded.environment).ok()?;
        json_config_path(name, &dirs)
    };
    file().unwrap_or_else(|| from.to_owned())
}

fn read_source(from: &Path) -> anyhow::Result<Map<String, Value>> {
    let shown = from.display();
    match crate::servers::read_file(from) {
        Ok(Some(found)) => Ok(found),
        Ok(None) => bail!("there is no file {shown}"),
        Err(what) => bail!("{shown}: {what}"),
    }
}

/// Returns the servers that are named, or all.
fn select_servers<'a>(
    found: &'a Map<String, Value>,
    names: &'a [String],
) -> anyhow::Result<Vec<(&'a str, &'a Value)>> {
    if names.is_empty() {
        let all = found.iter().map(|(name, value)| (name.as_str(), value));
        return Ok(all.collect());
    }
    let mut chosen = Vec::new();
    for name in names {
        let Some(value) = found.get(name) else {
            let there: Vec<&str> = found.keys().map(String::as_str).collect();
            bail!("it has no server {name:?}; it has {}", there.join(", "));
        };
        chosen.push((name.as_str(), value));
    }
    Ok(chosen)
}

fn import_server(
    name: &str,
    value: &Value,
    from: &ServerImportSource<'_>,
    file: &ServersFile,
    loaded: &LoadedConfig,
) -> ServerImportOutcome {
    let Some(fields) = value.as_object() else {
        return ServerImportOutcome::Invalid("it is not an object".to_owned());
    };
    let environment = &loaded.environment;
    if self_reference::starts_this_program(fields, environment)
        || self_reference::connects_to_this_program(fields, loaded.settings.http.listen)
    {
        return ServerImportOutcome::SelfReference;
    }
    let known = file.has(name);
    if known && !from.force {
        return ServerImportOutcome::Unchanged;
    }
    let fields = convert_fields(fields, from.path, environment);
    if let Err(what) = missing_variables(name, &fields, file, environment) {
        return ServerImportOutcome::Invalid(what);
    }
    file.put(name, fields);
    if known {
        ServerImportOutcome::Replaced
    } else {
        ServerImportOutcome::Added
    }
}
