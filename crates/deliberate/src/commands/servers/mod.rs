//! `deliberate servers`: upstream MCP servers from a shell.

mod add;
mod approve;
mod arguments;
mod call;
mod file;
mod import;
mod list;
mod login;
mod logout;
mod remove;
mod test;
mod tools;

use std::{io::Write as _, process::ExitCode, sync::Arc};

use anyhow::bail;
use clap::{Args, Subcommand};
use deliberate_gateway::{Gateway, GatewayError};
use deliberate_store::Store;

use super::{
    CommandContext,
    shell_hint::translate_hint,
    table::{escape_control, one_line},
};
use crate::{
    config::LoadedConfig,
    servers::{ServerCatalog, ServerDefinition},
    wiring::{self, gateway},
};

#[derive(Debug, Args)]
pub(crate) struct ServersArgs {
    #[command(subcommand)]
    command: Option<ServersCommand>,
}

#[derive(Debug, Subcommand)]
enum ServersCommand {
    /// List the servers and where each is defined (default)
    List(list::ServersListArgs),
    /// Add a server, or import those of another client
    Add(add::ServersAddArgs),
    /// Remove a server that was added
    Remove(remove::RemoveArgs),
    /// Connect to servers and report their state
    Test(test::TestArgs),
    /// List the tools of a server
    Tools(tools::ServersToolsArgs),
    /// Call a tool of a server
    Call(call::ServersCallArgs),
    /// Approve tools that have changed or look suspicious
    Approve(approve::ApproveArgs),
    /// Log in to a server in a browser
    Login(login::LoginArgs),
    /// Delete the login at a server
    Logout(logout::LogoutArgs),
}

pub(crate) async fn run(
    args: &ServersArgs,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    match &args.command {
        None => list::run(&list::ServersListArgs::default(), shell),
        Some(ServersCommand::List(args)) => list::run(args, shell),
        Some(ServersCommand::Add(args)) => add::run(args, shell),
        Some(ServersCommand::Remove(args)) => remove::run(args, shell),
        Some(ServersCommand::Test(args)) => test::run(args, shell).await,
        Some(ServersCommand::Tools(args)) => tools::run(args, shell).await,
        Some(ServersCommand::Call(args)) => call::run(args, shell).await,
        Some(ServersCommand::Approve(args)) => approve::run(args, shell).await,
        Some(ServersCommand::Login(args)) => login::run(args, shell).await,
        Some(ServersCommand::Logout(args)) => logout::run(args, shell).await,
    }
}

/// Prints skipped servers on standard error, so that standard output stays machine-readable.
fn print_problems(catalogue: &ServerCatalog) -> anyhow::Result<()> {
    let mut stderr = std::io::stderr().lock();
    for problem in &catalogue.problems {
        writeln!(stderr, "warning: {problem}")?;
    }
    Ok(())
}

/// Returns the server of that name, or an error.
fn find_server<'a>(
    catalogue: &'a ServerCatalog,
    name: &str,
) -> anyhow::Result<&'a ServerDefinition> {
    if let Some(known) = catalogue.get(name) {
        return Ok(known);
    }
    let broken = catalogue
        .problems
        .iter()
        .find(|problem| problem.server.as_deref() == Some(name));
    if let Some(problem) = broken {
        bail!(
            "server {name:?} in {} cannot be used: {}",
            problem.file.display(),
            problem.message
        );
    }
    let names = catalogue.servers.iter().map(ServerDefinition::name);
    match deliberate_core::did_you_mean(name, names) {
        Some(nearest) => bail!("there is no server {name:?}; did you mean {nearest:?}?"),
        None => bail!("there is no server {name:?}; `deliberate servers list` shows all"),
    }
}

/// A gateway with the database of its pins, for one command.
struct CommandGateway {
    gateway: Arc<Gateway>,
    store: Arc<dyn Store>,
}

impl CommandGateway {
    /// Builds a gateway to all enabled servers and to those that are named, which are used even if
    /// disabled. Does not connect yet.
    fn new(named: &[&str], catalogue: &ServerCatalog, loaded: &LoadedConfig) -> Self {
        let is_named = |known: &&ServerDefinition| named.contains(&known.name());
        let all = || catalogue.servers.iter();
        // Of two servers that cannot be used together, the named one is used.
        let wanted = all()
            .filter(is_named)
            .chain(all().filter(|known| !known.server.disabled && !named.contains(&known.name())));
        let store = wiring::build_store(&loaded.settings);
        // Errors of a server are reported when it is used.
        let gateway = gateway::build_command_gateway(wanted, &catalogue.logins, store.clone());
        Self { gateway, store }
    }

    /// Stops the servers that were started.
    async fn close(self) {
        self.gateway.stop().await;
        self.store.close().await;
    }
}

/// Returns an error with its hint and the server's last output.
fn explain_error(error: &GatewayError) -> anyhow::Error {
    let mut text = one_line(&error.to_string(), 1_000);
    if let Some(hint) = error.hint() {
        text.push_str(". ");
        text.push_str(&translate_hint(&hint));
    }
    if let Some(said) = stderr_excerpt(error) {
        text.push_str("\nIts last output:\n");
        text.push_str(&escape_control(said.trim_end()));
    }
    anyhow::anyhow!(text)
}

/// Returns the server's last output on standard error.
fn stderr_excerpt(error: &GatewayError) -> Option<&str> {
    match error {
        GatewayError::Server(error) => error.diagnosis.as_deref(),
        _ => None,
    }
}
