//! `deliberate servers list`: lists the configured servers.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::print_problems;
use crate::{
    commands::{
        CommandContext,
        table::{one_line, table},
    },
    servers::{ServerCatalog, ServerDefinition, describe_endpoint, describe_exposed_tools},
};

#[derive(Debug, Default, Args)]
pub(super) struct ServersListArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    args: &ServersListArgs,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let catalogue = ServerCatalog::read(shell.loaded);
    if args.json {
        let all = json!({
            "servers": catalogue.servers.iter().map(as_json).collect::<Vec<_>>(),
            "problems": catalogue.problems.iter().map(|problem| json!({
                "file": problem.file,
                "server": problem.server,
                "what": problem.message,
            })).collect::<Vec<_>>(),
        });
        writeln!(shell.output, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    print_problems(&catalogue)?;
    if catalogue.servers.is_empty() {
        writeln!(
            shell.output,
            "No servers. `deliberate servers add NAME -- COMMAND` adds one, and \
             `deliberate servers add --from cursor` imports those of another client."
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = table(&["server", "state", "connection", "exposed", "from"]);
    for known in &catalogue.servers {
        let state = if known.server.disabled { "off" } else { "on" };
        rows.add_row([
            known.name().to_owned(),
            state.to_owned(),
            one_line(&describe_endpoint(known).target, 80),
            one_line(
                &describe_exposed_tools(known).unwrap_or_else(|| "–".to_owned()),
                60,
            ),
            known.source.to_string(),
        ]);
    }
    writeln!(shell.output, "{rows}")?;
    if !shell.loaded.settings.tools.gateway {
        writeln!(
            shell.output,
            "\nTheir tools are not offered to clients: `tools.sets` does not include `gateway`."
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(known: &ServerDefinition) -> Value {
    let reached = describe_endpoint(known);
    json!({
        "name": known.name(),
        "enabled": !known.server.disabled,
        "type": reached.kind,
        "reached_by": reached.target,
        "env": reached.variables,
        "headers": reached.headers,
        "expose": describe_exposed_tools(known),
        "from": known.source.to_string(),
    })
}
