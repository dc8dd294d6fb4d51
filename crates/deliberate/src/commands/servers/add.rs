//! `deliberate servers add`: adds an upstream server.

use std::{cell::RefCell, collections::BTreeSet, path::PathBuf, process::ExitCode};

use anyhow::{Context as _, bail};
use clap::Args;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};

use super::{file::ServersFile, import};
use crate::{
    commands::{CommandContext, setup::parse_variable},
    config::{Environment, servers::self_reference},
    servers::{DefinitionSource, ServerCatalog, check_with_variables},
};

#[derive(Debug, Args)]
#[command(
    override_usage = "deliberate servers add [OPTIONS] <NAME> -- <COMMAND> [ARGS]...\n       \
                      deliberate servers add [OPTIONS] <NAME> <URL>\n       \
                      deliberate servers add --from <FILE> [NAME]...",
    after_help = "Examples:\n  \
        deliberate servers add files -- npx -y @modelcontextprotocol/server-filesystem ~/papers\n  \
        deliberate servers add tickets https://tickets.example.org/mcp \\\n    \
            --header 'Authorization: Bearer ${TICKETS_TOKEN}' --expose 'search_*'\n  \
        deliberate servers add --from cursor\n  \
        deliberate servers add --from ./.mcp.json tickets\n\n\
        `${NAME}` is replaced when the server is used, so that no key needs to be stored in the file."
)]
pub(super) struct ServersAddArgs {
    /// Name of the server, and its URL unless a program is started; with `--from` the names to
    /// import (default: all)
    #[arg(value_name = "NAME")]
    words: Vec<String>,
    /// The program to start, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// An environment variable for the program (repeatable)
    #[arg(long = "env", value_name = "KEY=VALUE", value_parser = parse_variable)]
    env: Vec<(String, SecretString)>,
    /// A variable of this server's environment to pass to the program (repeatable)
    #[arg(long, value_name = "KEY")]
    pass_env: Vec<String>,
    /// A header for every request to the URL (repeatable)
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = parse_header)]
    headers: Vec<(String, SecretString)>,
    /// Working directory of the program
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Tools offered to clients directly: a name, in which `*` matches anything, or `all`
    /// (repeatable)
    #[arg(long, value_name = "TOOL")]
    expose: Vec<String>,
    /// Transport of the URL, if the URL alone does not determine it
    #[arg(long = "type", value_name = "TYPE", value_parser = ["http", "sse", "websocket"])]
    kind: Option<String>,
    /// What the server is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Import the servers of a client, such as `claude-desktop`, `cursor` or `vscode`, or of a file
    /// in its format
    #[arg(long, value_name = "FILE", conflicts_with_all =
        ["command", "env", "pass_env", "headers", "cwd", "expose", "kind", "description"])]
    from: Option<PathBuf>,
    /// Replace a server of the same name
    #[arg(long)]
    force: bool,
}

pub(super) fn run(
    args: &ServersAddArgs,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    if let Some(from) = &args.from {
        return import::run(from, &args.words, args.force, shell);
    }
    let (name, fields) = args.parse_server()?;
    let file = ServersFile::open(&shell.loaded.settings)?;
    reject_taken_name(name, args.force, &file, &ServerCatalog::read(shell.loaded))?;
    let environment = &shell.loaded.environment;
    if self_reference::starts_this_program(&fields, environment)
        && !self_reference::has_own_settings(&fields)
    {
        bail!("{name:?} {}", self_reference::SELF_REFERENCE_ERROR);
    }
    let missing = match missing_variables(name, &fields, &file, environment) {
        Ok(missing) => missing,
        Err(wrong) => bail!("{name:?} cannot be added: {wrong}"),
    };
    file.put(name, fields);
    file.write()?;
    writeln!(shell.output, "Added {name:?} to {}.", file.path().display())?;
    for variable in missing {
        writeln!(
            shell.output,
            "The variable {variable} is not set here; it must be set where the server runs."
        )?;
    }
    writeln!(shell.output, "Next: deliberate servers test {name}")?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the names of variables that are not set, which may be set elsewhere; otherwise all
/// errors.
pub(super) fn missing_variables(
    name: &str,
    fields: &Map<String, Value>,
    file: &ServersFile,
    environment: &Environment,
) -> Result<BTreeSet<String>, String> {
    let missing = RefCell::new(BTreeSet::new());
    let with = |stand_in: &'static str| {
        let missing = &missing;
        move |name: &str| {
            let value = environment.get(name).map(str::to_owned);
            Some(value.unwrap_or_else(|| {
                missing.borrow_mut().insert(name.to_owned());
                stand_in.to_owned()
            }))
        }
    };
    // Only a part of a URL may be missing, or all of it.
    check_with_variables(name, fields, file.path(), environment, &with("1")).or_else(|wrong| {
        check_with_variables(name, fields, file.path(), environment, &with("http://1"))
            .map_err(|_| wrong)
    })?;
    Ok(missing.into_inner())
}

/// Rejects a name that is in use. A server in the settings file would take precedence over the one
/// added here.
fn reject_taken_name(
    name: &str,
    force: bool,
    file: &ServersFile,
    catalogue: &ServerCatalog,
) -> anyhow::Result<()> {
    if let Some(known) = catalogue.get(name)
        && let DefinitionSource::Settings(origin) = &known.source
    {
        bail!("{name:?} is defined in {origin}, which takes precedence; change it there");
    }
    if file.has(name) && !force {
        bail!(
            "{} already has a server {name:?}; `--force` replaces it",
            file.path().display()
        );
    }
    Ok(())
}

impl ServersAddArgs {
    /// Returns the name and the fields from the command line.
    fn parse_server(&self) -> anyhow::Result<(&str, Map<String, Value>)> {
        let (name, fields) = match (self.words.as_slice(), self.command.as_slice()) {
            ([name], [command, args @ ..]) => (name, self.command_fields(command, args)?),
            ([name, url], []) => (name, self.url_fields(name, url)?),
            ([], _) => bail!("the name is missing; use: deliberate servers add NAME -- COMMAND"),
            ([name], []) => bail!(
                "{name:?} needs a program after `--`, or a URL; use: \
                 deliberate servers add {name} -- COMMAND"
            ),
            ([name, ..], _) => bail!(
                "give one name, then either one URL or `--` and a program; use: \
                 deliberate servers add {name} -- COMMAND"
            ),
        };
        let mut fields = fields;
        if let Some(description) = &self.description {
            fields.insert("description".to_owned(), description.clone().into());
        }
        if self.expose.iter().any(|tool| tool == "all") {
            fields.insert("expose".to_owned(), "all".into());
        } else if !self.expose.is_empty() {
            fields.insert("expose".to_owned(), self.expose.clone().into());
        }
        Ok((name, fields))
    }

    fn command_fields(&self, command: &str, args: &[String]) -> anyhow::Result<Map<String, Value>> {
        if !self.headers.is_empty() || self.kind.is_some() {
            bail!("`--header` and `--type` are for URLs, not for programs");
        }
        let mut fields = Map::new();
        fields.insert("command".to_owned(), command.into());
        fields.insert("args".to_owned(), args.into());
        if !self.env.is_empty() {
            fields.insert("env".to_owned(), secrets_to_json(&self.env));
        }
        if !self.pass_env.is_empty() {
            fields.insert("pass_env".to_owned(), self.pass_env.clone().into());
        }
        if let Some(cwd) = &self.cwd {
            let full = std::path::absolute(cwd).context("`--cwd` is not valid")?;
            let text = full.to_str().context("`--cwd` is not valid UTF-8")?;
            fields.insert("cwd".to_owned(), text.into());
        }
        Ok(fields)
    }

    fn url_fields(&self, name: &str, url: &str) -> anyhow::Result<Map<String, Value>> {
        if !url.contains("://") && !url.starts_with("${") {
            bail!(
                "{url:?} is not a URL; a program goes after `--`: \
                 deliberate servers add {name} -- {url}"
            );
        }
        if !self.env.is_empty() || !self.pass_env.is_empty() || self.cwd.is_some() {
            bail!("`--env`, `--pass-env` and `--cwd` are for programs, not for URLs");
        }
        let mut fields = Map::new();
        if let Some(kind) = &self.kind {
            fields.insert("type".to_owned(), kind.clone().into());
        }
        fields.insert("url".to_owned(), url.into());
        if !self.headers.is_empty() {
            fields.insert("headers".to_owned(), secrets_to_json(&self.headers));
        }
        Ok(fields)
    }
}

fn secrets_to_json(pairs: &[(String, SecretString)]) -> Value {
    let pairs = pairs
        .iter()
        .map(|(name, value)| (name.clone(), Value::from(value.expose_secret())));
    Value::Object(pairs.collect())
}

fn parse_header(text: &str) -> Result<(String, SecretString), String> {
    let (name, value) = text
        .split_once(':')
        .filter(|(name, _)| !name.trim().is_empty())
        .ok_or("expected 'NAME: VALUE', such as 'Authorization: Bearer ${TOKEN}'")?;
    Ok((name.trim().to_owned(), SecretString::from(value.trim())))
}
