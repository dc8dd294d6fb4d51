//! The commands of the program, one file each.

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
mod shell_hint;
mod table;
mod terminal;
mod text_drawing;
mod think;
mod token;
mod tools;
mod usage;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::{Parser, Subcommand};
use tokio::runtime::{Builder, Runtime};

use crate::{
    config::{AppSettings, CommonOptions, LoadedConfig, LogLevelSetting},
    logging::{self, LogDelivery, LogFilter},
    telemetry::Telemetry,
};

/// A reasoning server for every MCP client.
///
/// Without a command it serves MCP: a client starts it and communicates over standard input and
/// output; started in a terminal, it serves HTTP. `deliberate setup <client>` adds it to a client,
/// `deliberate think "…"` tries it here.
#[derive(Debug, Parser)]
#[command(name = "deliberate", version, max_term_width = 100)]
pub(crate) struct CliArgs {
    #[command(flatten)]
    options: CommonOptions,
    #[command(subcommand)]
    command: Option<CliCommand>,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Serve MCP to the client that started it, or over HTTP (default)
    Serve(serve::ServeArgs),
    /// Watch a short demo: a tree and a graph, without a model; nothing is kept
    Demo(demo::DemoArgs),
    /// Ask a question and print the answer
    Think(think::ThinkArgs),
    /// Use and manage your prompts
    Prompt(prompt::PromptArgs),
    /// Find, read, question and cite papers
    Papers(papers::PapersArgs),
    /// List, show and search reasoning sessions
    Sessions(sessions::SessionsArgs),
    /// Show what calls cost: tokens, money and time by day, session, tool or model
    Usage(usage::UsageArgs),
    /// Use and manage upstream MCP servers, whose tools are offered to clients
    Servers(servers::ServersArgs),
    /// List the tools offered to clients
    Tools(tools::ToolsArgs),
    /// Show the current settings and where each comes from
    Config(config::ConfigArgs),
    /// Check the database, the provider, the limits and the clients on this machine
    Doctor(doctor::DoctorArgs),
    /// Add deliberate to an MCP client
    Setup(setup::SetupArgs),
    /// Copy the database to a file, even while it is in use
    Backup(backup::BackupArgs),
    /// Import the database of mcp-langbase-reasoning
    Import(import::ImportArgs),
    /// Create a token for an HTTP client
    Token(token::TokenArgs),
    /// Read one file in a separate process that can be killed, and print its content
    #[command(name = READ_FILE, hide = true)]
    ReadFile(read_file::ReadFileArgs),
    /// Print completions for a shell
    Completions(completions::CompletionsArgs),
}

impl CliCommand {
    /// Returns the workspace named on the command line.
    fn workspace(&self) -> Option<&str> {
        match self {
            Self::Serve(args) => args.workspace.as_deref(),
            Self::Prompt(args) => args.workspace.as_deref(),
            _ => None,
        }
    }
}

/// Name of the command with which the program starts itself to read a file.
pub(crate) const READ_FILE: &str = "read-file";

/// Settings and output of every command.
pub(crate) struct CommandContext<'a> {
    pub(crate) loaded: &'a LoadedConfig,
    pub(crate) output: &'a mut dyn Write,
}

pub(crate) fn run(program: CliArgs) -> anyhow::Result<ExitCode> {
    // Not locked, because serving writes from other threads.
    let output = &mut io::stdout();
    // These commands need no settings and must work even if the settings are invalid.
    if let Some(CliCommand::Completions(args)) = &program.command {
        return completions::run(args, output);
    }
    if let Some(CliCommand::Token(args)) = &program.command {
        return token::run(args, output);
    }
    if let Some(CliCommand::ReadFile(args)) = &program.command {
        return Ok(read_file::run(args));
    }
    let mut flags = program.options.flags();
    if let Some(workspace) = program.command.as_ref().and_then(CliCommand::workspace) {
        flags.set("--workspace".to_owned(), "prompts.workspace", workspace);
    }
    let loaded = AppSettings::load(&flags)?;
    let log = &loaded.settings.log;
    let serve = || CliCommand::Serve(serve::ServeArgs::default());
    let command = program.command.unwrap_or_else(serve);
    // In a terminal the answer matters, not the log, unless a level is set.
    let filter = match command {
        CliCommand::Serve(_) => log.filter(),
        _ if loaded.is_default("log.level") => LogFilter {
            level: LogLevelSetting::Warn,
            audit: false,
            ..log.filter()
        },
        _ => log.filter(),
    };
    // Traces cover calls to the server only.
    let telemetry = match command {
        CliCommand::Serve(_) => Telemetry::from_settings(&loaded.settings.telemetry)?,
        _ => None,
    };
    let spans = telemetry.as_ref().map(Telemetry::layer);
    let delivery = match command {
        CliCommand::Serve(_) => LogDelivery::Queued,
        _ => LogDelivery::Direct,
    };
    let log_level = logging::start(filter, log.format, delivery, spans);
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    let shell = &mut CommandContext {
        loaded: &loaded,
        output,
    };
    let ended = match command {
        CliCommand::Serve(args) => {
            let reload_source = serve::reload::ReloadSource { flags, log_level };
            serve::run(&args, &loaded, telemetry, reload_source)
        }
        CliCommand::Demo(args) => build_runtime()?.block_on(demo::run(&args, shell)),
        CliCommand::Think(args) => build_runtime()?.block_on(think::run(&args, shell)),
        CliCommand::Prompt(args) => build_runtime()?.block_on(prompt::run(&args, shell)),
        CliCommand::Papers(args) => build_runtime()?.block_on(papers::run(&args, shell)),
        CliCommand::Sessions(args) => build_runtime()?.block_on(sessions::run(&args, shell)),
        CliCommand::Usage(args) => build_runtime()?.block_on(usage::run(&args, shell)),
        CliCommand::Servers(args) => build_runtime()?.block_on(servers::run(&args, shell)),
        CliCommand::Tools(args) => tools::run(&args, shell),
        CliCommand::Config(args) => config::run(&args, shell),
        CliCommand::Doctor(args) => build_runtime()?.block_on(doctor::run(&args, shell)),
        CliCommand::Setup(args) => {
            let dirs = setup::Dirs::detect(&loaded.environment)?;
            let input = &mut io::stdin().lock();
            let io = &mut setup::SetupIo { input, output };
            setup::run(&args, io, &dirs)
        }
        CliCommand::Backup(args) => build_runtime()?.block_on(backup::run(&args, shell)),
        CliCommand::Import(args) => build_runtime()?.block_on(import::run(&args, shell)),
        CliCommand::Token(args) => token::run(&args, output),
        CliCommand::ReadFile(args) => Ok(read_file::run(&args)),
        CliCommand::Completions(args) => completions::run(&args, output),
    };
    ended.map_err(shell_hint::explain_error)
}

/// Builds a runtime for one short command.
fn build_runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
