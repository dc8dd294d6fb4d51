//! `deliberate servers approve`: shows quarantined tools and approves them after confirmation.

use std::{
    io::{self, BufRead as _, Write},
    process::ExitCode,
};

use anyhow::bail;
use clap::Args;
use deliberate_gateway::{ToolReport, ToolStatus, injection_scan::ScanFinding};

use super::{CommandGateway, explain_error, find_server, tools::needs_approval};
use crate::{
    commands::{
        CommandContext,
        table::{escape_control, one_line},
        terminal::at_terminal,
    },
    servers::ServerCatalog,
};

/// Exit code if the user declined.
const EXIT_DECLINED: u8 = 1;

#[derive(Debug, Args)]
pub(super) struct ApproveArgs {
    /// The server
    name: String,
    /// Approve only this tool
    tool: Option<String>,
    /// Approve without asking
    #[arg(long, short)]
    yes: bool,
}

pub(super) async fn run(
    args: &ApproveArgs,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let catalogue = ServerCatalog::read(shell.loaded);
    let name = find_server(&catalogue, &args.name)?.name();
    let connected = CommandGateway::new(&[name], &catalogue, shell.loaded);
    let outcome = approve(args, name, &connected, shell).await;
    connected.close().await;
    outcome
}

async fn approve(
    args: &ApproveArgs,
    name: &str,
    connected: &CommandGateway,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let look = connected.gateway.inspect(name).await;
    let tools = look.map_err(|error| explain_error(&error))?.tools;
    if let Some(tool) = &args.tool
        && !tools.iter().any(|it| it.name == *tool)
    {
        bail!("{name:?} has no tool {tool:?}; `deliberate servers tools {name}` lists them");
    }
    let wanted = |it: &&ToolReport| args.tool.as_ref().is_none_or(|tool| it.name == *tool);
    let held: Vec<&ToolReport> = tools
        .iter()
        .filter(|it| needs_approval(&it.standing))
        .filter(wanted)
        .collect();
    if held.is_empty() {
        match &args.tool {
            Some(tool) => writeln!(shell.output, "{tool:?} of {name:?} is not quarantined.")?,
            None => writeln!(shell.output, "No tool of {name:?} is quarantined.")?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    for it in &held {
        print_tool(it, shell.output)?;
    }
    if !args.yes {
        if !at_terminal() {
            bail!(
                "nothing was approved, because there is no terminal to ask in; `--yes` approves the tools shown"
            );
        }
        write!(shell.output, "Approve this? [y/N] ")?;
        shell.output.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        if !matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") {
            writeln!(shell.output, "Nothing was approved.")?;
            return Ok(ExitCode::from(EXIT_DECLINED));
        }
    }
    let approved = connected.gateway.approve(name, args.tool.as_deref()).await;
    let approved = approved.map_err(|error| explain_error(&error))?;
    let approved: Vec<String> = approved.iter().map(|tool| one_line(tool, 128)).collect();
    writeln!(shell.output, "Approved: {}.", approved.join(", "))?;
    Ok(ExitCode::SUCCESS)
}

fn print_tool(it: &ToolReport, output: &mut dyn Write) -> io::Result<()> {
    let tool = one_line(&it.name, 128);
    match &it.standing {
        ToolStatus::Changed { diff } => {
            writeln!(
                output,
                "{tool} has changed since it was first used:\n{}\n",
                escape_control(diff)
            )
        }
        ToolStatus::Held => {
            writeln!(
                output,
                "{tool} was added after the server was first used.\n  Its description: {}\n",
                one_line(&it.description, 1_000)
            )
        }
        ToolStatus::Flagged => {
            writeln!(output, "{tool} looks suspicious:")?;
            for finding in &it.findings {
                let ScanFinding { place, what, .. } = finding;
                writeln!(
                    output,
                    "  {}: {}",
                    one_line(place, 120),
                    one_line(what, 300)
                )?;
            }
            writeln!(
                output,
                "  Its description: {}\n",
                one_line(&it.description, 1_000)
            )
        }
        ToolStatus::Unsure => {
            writeln!(
                output,
                "The stored definition of {tool} cannot be read, so changes cannot be detected.\n  \
                 Its description: {}\n",
                one_line(&it.description, 1_000)
            )
        }
        ToolStatus::Fine | ToolStatus::New => Ok(()),
    }
}
