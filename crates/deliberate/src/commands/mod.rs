//! The commands, one file each.

mod backup;
mod completions;
mod config;
mod demo;
mod doctor;
mod import;
mod papers;
mod prompt;
mod read_file;
mod serve;
mod servers;
mod sessions;
pub(crate) mod setup;
mod table;
mod terminal;
mod think;
mod token;
mod tools;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::{Parser, Subcommand};
use tokio::runtime::{Builder, Runtime};

use crate::{
    config::{CommonOptions, Loaded, LogLevel, Settings},
    logging::{self, Content},
    telemetry::Telemetry,
};

/// A reasoning server for every MCP client.
///
/// Without a command it serves: an MCP client starts it and talks to it over standard input and
/// output; started in a terminal, it serves HTTP. `deliberate setup <client>` adds it to a client, `deliberate think "…"` tries it here.
#[derive(Debug, Parser)]
#[command(name = "deliberate", version, max_term_width = 100)]
pub(crate) struct Program {
    #[command(flatten)]
    options: CommonOptions,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve MCP: to the client that started it, or over HTTP (the default)
    Serve(serve::ServeArgs),
    /// See it work: a short tree and a short graph, with no model and nothing left behind
    Demo(demo::DemoArgs),
    /// Ask a question and see the thought
    Think(think::ThinkArgs),
    /// Use and look after your prompts
    Prompt(prompt::PromptArgs),
    /// Find, read, question and cite papers
    Papers(papers::PapersArgs),
    /// Look at what was reasoned
    Sessions(sessions::SessionsArgs),
    /// Use and look after other MCP servers, whose tools clients get through this one
    Servers(servers::ServersArgs),
    /// List the tools that clients get
    Tools(tools::ToolsArgs),
    /// Show the settings in force and where each comes from
    Config(config::ConfigArgs),
    /// Check the database, the provider, the limits and the clients on this machine
    Doctor(doctor::DoctorArgs),
    /// Add deliberate to an MCP client
    Setup(setup::SetupArgs),
    /// Copy the database to a file, whatever else runs
    Backup(backup::BackupArgs),
    /// Take over the database of mcp-langbase-reasoning
    Import(import::ImportArgs),
    /// Make a token for a client that comes over HTTP
    Token(token::TokenArgs),
    /// Read one file and write what is in it: the work of a process of its own, that can be stopped
    #[command(name = READ_FILE, hide = true)]
    ReadFile(read_file::ReadFileArgs),
    /// Print completions for a shell
    Completions(completions::CompletionsArgs),
}

impl Command {
    /// The workspace that the command line names.
    fn workspace(&self) -> Option<&str> {
        match self {
            Self::Serve(args) => args.workspace.as_deref(),
            Self::Prompt(args) => args.workspace.as_deref(),
            _ => None,
        }
    }
}

/// The command that the program starts itself with to read a file.
pub(crate) const READ_FILE: &str = "read-file";

/// What every command has at hand.
pub(crate) struct Shell<'a> {
    pub(crate) loaded: &'a Loaded,
    pub(crate) output: &'a mut dyn Write,
}

pub(crate) fn run(program: Program) -> anyhow::Result<ExitCode> {
    // Not locked: serving writes from other threads.
    let output = &mut io::stdout();
    // These need no settings, and must work even when they are wrong.
    if let Some(Command::Completions(args)) = &program.command {
        return completions::run(args, output);
    }
    if let Some(Command::Token(args)) = &program.command {
        return token::run(args, output);
    }
    if let Some(Command::ReadFile(args)) = &program.command {
        return Ok(read_file::run(args));
    }
    let mut flags = program.options.flags();
    if let Some(workspace) = program.command.as_ref().and_then(Command::workspace) {
        flags.set("--workspace".to_owned(), "prompts.workspace", workspace);
    }
    let loaded = Settings::load(&flags)?;
    let log = &loaded.settings.log;
    let serve = || Command::Serve(serve::ServeArgs::default());
    let command = program.command.unwrap_or_else(serve);
    // A person at a terminal wants the answer, not the log; asking for a level is asking for it.
    let level = match command {
        Command::Serve(_) => log.level,
        _ if loaded.is_default("log.level") => LogLevel::Warn,
        _ => log.level,
    };
    let content = if log.content {
        Content::Shown
    } else {
        Content::Hidden
    };
    // Traces are of calls to the server.
    let telemetry = match command {
        Command::Serve(_) => Telemetry::of(&loaded.settings.telemetry)?,
        _ => None,
    };
    let spans = telemetry.as_ref().map(Telemetry::layer);
    logging::start(level, log.format, content, spans);
    let shell = &mut Shell {
        loaded: &loaded,
        output,
    };
    match command {
        Command::Serve(args) => serve::run(&args, &loaded, telemetry),
        Command::Demo(args) => runtime()?.block_on(demo::run(&args, shell)),
        Command::Think(args) => runtime()?.block_on(think::run(&args, shell)),
        Command::Prompt(args) => runtime()?.block_on(prompt::run(&args, shell)),
        Command::Papers(args) => runtime()?.block_on(papers::run(&args, shell)),
        Command::Sessions(args) => runtime()?.block_on(sessions::run(&args, shell)),
        Command::Servers(args) => runtime()?.block_on(servers::run(&args, shell)),
        Command::Tools(args) => tools::run(&args, shell),
        Command::Config(args) => config::run(&args, shell),
        Command::Doctor(args) => runtime()?.block_on(doctor::run(&args, shell)),
        Command::Setup(args) => {
            let dirs = setup::Dirs::detect(&loaded.environment)?;
            let input = &mut io::stdin().lock();
            let io = &mut setup::Io { input, output };
            setup::run(&args, io, &dirs)
        }
        Command::Backup(args) => runtime()?.block_on(backup::run(&args, shell)),
        Command::Import(args) => runtime()?.block_on(import::run(&args, shell)),
        Command::Token(args) => token::run(&args, output),
        Command::ReadFile(args) => Ok(read_file::run(&args)),
        Command::Completions(args) => completions::run(&args, output),
    }
}

/// A runtime for one short command.
fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
