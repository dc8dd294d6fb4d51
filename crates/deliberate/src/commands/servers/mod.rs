//! `deliberate servers`: other MCP servers from a shell.

mod add;
mod approve;
mod arguments;
mod call;
mod copy;
mod file;
mod list;
mod login;
mod logout;
mod remove;
mod test;
mod tools;

use std::{io::Write as _, process::ExitCode, sync::Arc};

use anyhow::bail;
use clap::{Args, Subcommand};
use deliberate_gateway::{Error, Gateway};
use deliberate_store::Store;

use super::{
    Shell,
    table::{harmless, one_line},
};
use crate::{
    config::Loaded,
    gateway,
    servers::{Catalogue, Known},
    wiring,
};

#[derive(Debug, Args)]
pub(crate) struct ServersArgs {
    #[command(subcommand)]
    command: Option<ServersCommand>,
}

#[derive(Debug, Subcommand)]
enum ServersCommand {
    /// The servers there are, and where each is written (the default)
    List(list::ListArgs),
    /// Add a server, or take over those of another client
    Add(add::AddArgs),
    /// Remove a server that was added
    Remove(remove::RemoveArgs),
    /// Connect to servers and see how they are
    Test(test::TestArgs),
    /// The tools of a server
    Tools(tools::ToolsArgs),
    /// Call a tool of a server
    Call(call::CallArgs),
    /// Allow tools that have changed or look suspicious
    Approve(approve::ApproveArgs),
    /// Log in to a server in a browser
    Login(login::LoginArgs),
    /// Forget the login at a server
    Logout(logout::LogoutArgs),
}

pub(crate) async fn run(args: &ServersArgs, shell: &mut Shell<'_>) -> anyhow::Result<ExitCode> {
    match &args.command {
        None => list::run(&list::ListArgs::default(), shell),
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

/// Tells on standard error what is left out, so that what a program reads stays clean.
fn tell_problems(catalogue: &Catalogue) -> anyhow::Result<()> {
    let mut stderr = std::io::stderr().lock();
    for problem in &catalogue.problems {
        writeln!(stderr, "warning: {problem}")?;
    }
    Ok(())
}

/// The server of that name, or why there is none.
fn find<'a>(catalogue: &'a Catalogue, name: &str) -> anyhow::Result<&'a Known> {
    if let Some(known) = catalogue.get(name) {
        return Ok(known);
    }
    let broken = catalogue
        .problems
        .iter()
        .find(|problem| problem.server.as_deref() == Some(name));
    if let Some(problem) = broken {
        bail!(
            "server {name:?} in {} can't be used: {}",
            problem.file.display(),
            problem.what
        );
    }
    let names = catalogue.known.iter().map(Known::name);
    match deliberate_core::nearest(name, names) {
        Some(nearest) => bail!("there is no server {name:?}; did you mean {nearest:?}?"),
        None => bail!("there is no server {name:?}; `deliberate servers list` shows all"),
    }
}

/// A gateway and the database that its pins are in, for one command.
struct Connected {
    gateway: Arc<Gateway>,
    store: Arc<dyn Store>,
}

impl Connected {
    /// To all servers that are on and to those that are named, which are used even if switched
    /// off. Connects to none of them yet.
    fn to(named: &[&str], catalogue: &Catalogue, loaded: &Loaded) -> Self {
        let is_named = |known: &&Known| named.contains(&known.name());
        let all = || catalogue.known.iter();
        // Of two that can't be used together it is the one that is asked for.
        let wanted = all()
            .filter(is_named)
            .chain(all().filter(|known| !known.listed.disabled && !named.contains(&known.name())));
        let store = wiring::store(&loaded.settings);
        // What is wrong with one is told when it is asked for.
        let (gateway, _) = gateway::to(wanted, &catalogue.logins, store.clone(), true);
        Self { gateway, store }
    }

    /// Ends what was started.
    async fn close(self) {
        self.gateway.stop().await;
        self.store.close().await;
    }
}

/// An error with what to do about it and what the server said last, for people.
fn explained(error: &Error) -> anyhow::Error {
    let mut text = one_line(&error.to_string(), 1_000);
    if let Some(hint) = error.hint() {
        text.push_str(". ");
        text.push_str(&hint);
    }
    if let Some(said) = diagnosis(error) {
        text.push_str("\nIt last wrote:\n");
        text.push_str(&harmless(said.trim_end()));
    }
    anyhow::anyhow!(text)
}

/// What the server last wrote to its standard error.
fn diagnosis(error: &Error) -> Option<&str> {
    match error {
        Error::Server(error) => error.diagnosis.as_deref(),
        _ => None,
    }
}
