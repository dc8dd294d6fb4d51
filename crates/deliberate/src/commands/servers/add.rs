//! `deliberate servers add`.

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
        `${NAME}` is put in when the server is used, so that no key needs to be written down."
)]
pub(super) struct ServersAddArgs {
    /// The name of the server, and its address if it is none to start; with `--from` the names to
    /// take, all unless given
    #[arg(value_name = "NAME")]
    words: Vec<String>,
    /// The program to start, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// A variable for the program (repeatable)
    #[arg(long = "env", value_name = "KEY=VALUE", value_parser = parse_variable)]
    env: Vec<(String, SecretString)>,
    /// A variable of the server's own environment that the program gets too (repeatable)
    #[arg(long, value_name = "KEY")]
    pass_env: Vec<String>,
    /// A header for every request to the address (repeatable)
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = parse_header)]
    headers: Vec<(String, SecretString)>,
    /// The folder that the program runs in
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Tools that clients get as their own: a name, in which `*` stands for anything, or `all`
    /// (repeatable)
    #[arg(long, value_name = "TOOL")]
    expose: Vec<String>,
    /// How the address is reached, where it does not say so itself
    #[arg(long = "type", value_name = "TYPE", value_parser = ["http", "sse", "websocket"])]
    kind: Option<String>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Take over the servers of a client, such as `claude-desktop`, `cursor` or `vscode`, or of a
    /// file of its kind
    #[arg(long, value_name = "FILE", conflicts_with_all =
        ["command", "env", "pass_env", "headers", "cwd", "expose", "kind", "description"])]
    from: Option<PathBuf>,
    /// Also in place of a server of the same name
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
    let mut file = ServersFile::open(&shell.loaded.settings)?;
    reject_taken_name(name, args.force, &file, &ServerCatalog::read(shell.loaded))?;
    let environment = &shell.loaded.environment;
    if self_reference::starts_this_program(&fields, environment)
        && !self_reference::has_own_settings(&fields)
    {
        bail!("{name:?} {}", self_reference::SELF_REFERENCE_ERROR);
    }
    let missing = match missing_variables(name, &fields, &file, environment) {
        Ok(missing) => missing,
        Err(wrong) => bail!("{name:?} can't be added: {wrong}"),
    };
    file.put(name, fields);
    file.write()?;
    writeln!(shell.output, "Added {name:?} to {}.", file.path().display())?;
    for variable in missing {
        writeln!(
            shell.output,
            "The variable {variable} is not set here; it must be where the server runs."
        )?;
    }
    writeln!(shell.output, "Next: deliberate servers test {name}")?;
    Ok(ExitCode::SUCCESS)
}

/// The names of variables that are not set, which may be so only here; otherwise all that is wrong.
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
    // A part of an address may be missing, or all of it.
    check_with_variables(name, fields, file.path(), environment, &with("1")).or_else(|wrong| {
        check_with_variables(name, fields, file.path(), environment, &with("http://1"))
            .map_err(|_| wrong)
    })?;
    Ok(missing.into_inner())
}

/// A name that is taken is not given away by accident; and what the settings file says counts
/// before what is written here.
fn reject_taken_name(
    name: &str,
    force: bool,
    file: &ServersFile,
    catalogue: &ServerCatalog,
) -> anyhow::Result<()> {
    if let Some(known) = catalogue.get(name)
        && let DefinitionSource::Settings(origin) = &known.source
    {
        bail!(
            "{name:?} is written in {origin}, which counts before what is added; change it there"
        );
    }
    if file.has(name) && !force {
        bail!(
            "{} has a server {name:?} already; `--force` puts this one in its place",
            file.path().display()
        );
    }
    Ok(())
}

impl ServersAddArgs {
    /// The name and the fields that were asked for.
    fn parse_server(&self) -> anyhow::Result<(&str, Map<String, Value>)> {
        let (name, fields) = match (self.words.as_slice(), self.command.as_slice()) {
            ([name], [command, args @ ..]) => (name, self.command_fields(command, args)?),
            ([name, url], []) => (name, self.url_fields(name, url)?),
            ([], _) => bail!("which name? deliberate servers add NAME -- COMMAND"),
            ([name], []) => bail!(
                "what is {name:?}? Give a program after `--`, or an address: \
                 deliberate servers add {name} -- COMMAND"
            ),
            ([name, ..], _) => bail!(
                "one name, and then one address or `--` and a program: \
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
            bail!("`--header` and `--type` are for addresses, not for programs");
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
            let full = std::path::absolute(cwd).context("`--cwd` can't be used")?;
            let text = full.to_str().context("`--cwd` is not valid UTF-8")?;
            fields.insert("cwd".to_owned(), text.into());
        }
        Ok(fields)
    }

    fn url_fields(&self, name: &str, url: &str) -> anyhow::Result<Map<String, Value>> {
        if !url.contains("://") && !url.starts_with("${") {
            bail!(
                "{url:?} is no address; a program goes after `--`: \
                 deliberate servers add {name} -- {url}"
            );
        }
        if !self.env.is_empty() || !self.pass_env.is_empty() || self.cwd.is_some() {
            bail!("`--env`, `--pass-env` and `--cwd` are for programs, not for addresses");
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
