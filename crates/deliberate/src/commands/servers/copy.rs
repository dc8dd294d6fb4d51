//! `deliberate servers add --from FILE`: takes over what another client has.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use serde_json::{Map, Value};

use super::{add::missing_variables, file::ServersFile};
use crate::{
    commands::{
        Shell,
        setup::{Dirs, json_file_of},
    },
    config::{Loaded, ourselves},
    servers::as_ours,
};

/// Where entries are taken from, and whether they may replace others.
struct Source<'a> {
    path: &'a Path,
    force: bool,
}

/// What became of one entry.
enum Fate {
    Taken,
    Replaced,
    Kept,
    Ourselves,
    Wrong(String),
}

pub(super) fn run(
    from: &Path,
    names: &[String],
    force: bool,
    shell: &mut Shell<'_>,
) -> anyhow::Result<ExitCode> {
    let from = &place_of(from, shell.loaded);
    let shown = from.display();
    // Relative folders in it are meant from where it lies.
    let path = std::path::absolute(from).unwrap_or_else(|_| from.clone());
    let source = Source { path: &path, force };
    let found = read(from)?;
    let chosen = choose(&found, names).with_context(|| format!("{shown} can't be taken over"))?;
    let mut file = ServersFile::open(&shell.loaded.settings)?;
    let mut fates = Vec::new();
    for (name, value) in chosen {
        fates.push((name, take(name, value, &source, &mut file, shell.loaded)));
    }
    let taken: Vec<&str> = fates
        .iter()
        .filter(|(_, fate)| matches!(fate, Fate::Taken | Fate::Replaced))
        .map(|(name, _)| *name)
        .collect();
    if !taken.is_empty() {
        file.write()?;
    }
    let path = file.path().display();
    for (name, fate) in &fates {
        match fate {
            Fate::Taken => writeln!(shell.output, "Added {name:?} to {path}.")?,
            Fate::Replaced => writeln!(shell.output, "Replaced {name:?} in {path}.")?,
            Fate::Kept => writeln!(
                shell.output,
                "Left {name:?} as it is in {path}; `--force` replaces it."
            )?,
            Fate::Ourselves => writeln!(shell.output, "Left out {name:?}: it is this program.")?,
            Fate::Wrong(what) => writeln!(shell.output, "Left out {name:?}: {what}.")?,
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
    let wrong = fates.iter().any(|(_, fate)| matches!(fate, Fate::Wrong(_)));
    Ok(if wrong {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

/// A client's name stands for its file, unless there is a file of that name.
fn place_of(from: &Path, loaded: &Loaded) -> PathBuf {
    let file = || {
        let name = from.to_str().filter(|_| !from.exists())?;
        let dirs = Dirs::detect(&loaded.environment).ok()?;
        json_file_of(name, &dirs)
    };
    file().unwrap_or_else(|| from.to_owned())
}

fn read(from: &Path) -> anyhow::Result<Map<String, Value>> {
    let shown = from.display();
    match crate::servers::read_file(from) {
        Ok(Some(found)) => Ok(found),
        Ok(None) => bail!("there is no file {shown}"),
        Err(what) => bail!("{shown}: {what}"),
    }
}

/// Those that are named, or all.
fn choose<'a>(
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

fn take(
    name: &str,
    value: &Value,
    from: &Source<'_>,
    file: &mut ServersFile,
    loaded: &Loaded,
) -> Fate {
    let Some(fields) = value.as_object() else {
        return Fate::Wrong("it is no object".to_owned());
    };
    let environment = &loaded.environment;
    if ourselves::is_started_by(fields, environment)
        || ourselves::is_reached_by(fields, loaded.settings.http.listen)
    {
        return Fate::Ourselves;
    }
    let known = file.has(name);
    if known && !from.force {
        return Fate::Kept;
    }
    let fields = as_ours(fields, from.path, environment);
    if let Err(what) = missing_variables(name, &fields, file, environment) {
        return Fate::Wrong(what);
    }
    file.put(name, fields);
    if known { Fate::Replaced } else { Fate::Taken }
}
