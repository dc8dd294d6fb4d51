//! `deliberate servers tools`: lists the tools of a server.

use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use deliberate_gateway::ToolStatus;

use super::{CommandGateway, explain_error, find_server};
use crate::{
    commands::{
        CommandContext,
        table::{escape_control, one_line, table},
    },
    servers::ServerCatalog,
};

#[derive(Debug, Args)]
pub(super) struct ServersToolsArgs {
    /// The server
    name: String,
    /// Print the JSON Schema of this tool's arguments
    #[arg(long, value_name = "TOOL", conflicts_with = "json")]
    schema: Option<String>,
    /// Print JSON, with the whole definitions
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(
    args: &ServersToolsArgs,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let catalogue = ServerCatalog::read(shell.loaded);
    let name = find_server(&catalogue, &args.name)?.name();
    let connected = CommandGateway::new(&[name], &catalogue, shell.loaded);
    let look = connected.gateway.inspect(name).await;
    connected.close().await;
    let look = look.map_err(|error| explain_error(&error))?;
    let tools = look.tools;
    if let Some(tool) = &args.schema {
        let found = tools.iter().find(|it| it.name == *tool || it.full == *tool);
        let Some(found) = found else {
            let names = tools.iter().map(|it| it.name.as_str());
            match deliberate_core::did_you_mean(tool, names) {
                Some(nearest) => bail!("{name:?} has no tool {tool:?}; did you mean {nearest:?}?"),
                None => bail!("{name:?} has no tool {tool:?}"),
            }
        };
        let text = serde_json::to_string_pretty(&found.input_schema)?;
        writeln!(shell.output, "{}", escape_control(&text))?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.json {
        writeln!(shell.output, "{}", serde_json::to_string_pretty(&tools)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = table(&["tool", "status", "exposed", "description"]);
    for it in &tools {
        let exposed = if it.exposed { "yes" } else { "–" };
        rows.add_row([
            one_line(&it.name, 128),
            status_label(&it.standing).to_owned(),
            exposed.to_owned(),
            one_line(&it.description, 100),
        ]);
    }
    writeln!(shell.output, "{rows}")?;
    if look.left_out > 0 {
        let left_out = look.left_out;
        writeln!(
            shell.output,
            "\n{left_out} more are excluded by `only` and `except`."
        )?;
    }
    for warning in &look.warnings {
        writeln!(shell.output, "\nwarning: {}", one_line(warning, 300))?;
    }
    if tools.iter().any(|it| needs_approval(&it.standing)) {
        writeln!(
            shell.output,
            "\nTools that are changed or flagged cannot be used; \
             `deliberate servers approve {name}` shows why and approves them."
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns whether a tool is quarantined until it is approved.
pub(super) fn needs_approval(standing: &ToolStatus) -> bool {
    matches!(
        standing,
        ToolStatus::Changed { .. } | ToolStatus::Held | ToolStatus::Flagged | ToolStatus::Unsure
    )
}

fn status_label(status: &ToolStatus) -> &'static str {
    match status {
        ToolStatus::Fine => "fine",
        ToolStatus::New => "new",
        ToolStatus::Changed { .. } => "CHANGED",
        ToolStatus::Held => "HELD",
        ToolStatus::Flagged => "FLAGGED",
        ToolStatus::Unsure => "UNSURE",
    }
}
