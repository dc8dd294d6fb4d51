//! `deliberate servers list`.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::tell_problems;
use crate::{
    commands::{
        Shell,
        table::{one_line, table},
    },
    servers::{Catalogue, Known, exposed, reached},
};

#[derive(Debug, Default, Args)]
pub(super) struct ListArgs {
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ListArgs, shell: &mut Shell<'_>) -> anyhow::Result<ExitCode> {
    let catalogue = Catalogue::read(shell.loaded);
    if args.json {
        let all = json!({
            "servers": catalogue.known.iter().map(as_json).collect::<Vec<_>>(),
            "problems": catalogue.problems.iter().map(|problem| json!({
                "file": problem.file,
                "server": problem.server,
                "what": problem.what,
            })).collect::<Vec<_>>(),
        });
        writeln!(shell.output, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    tell_problems(&catalogue)?;
    if catalogue.known.is_empty() {
        writeln!(
            shell.output,
            "No servers. `deliberate servers add NAME -- COMMAND` adds one, and \
             `deliberate servers add --from cursor` those of another client."
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = table(&["server", "state", "reached by", "exposed", "from"]);
    for known in &catalogue.known {
        let state = if known.listed.disabled { "off" } else { "on" };
        rows.add_row([
            known.name().to_owned(),
            state.to_owned(),
            one_line(&reached(known).by, 80),
            one_line(&exposed(known).unwrap_or_else(|| "–".to_owned()), 60),
            known.place.to_string(),
        ]);
    }
    writeln!(shell.output, "{rows}")?;
    if !shell.loaded.settings.tools.gateway {
        writeln!(
            shell.output,
            "\nClients get none of their tools: `tools.sets` leaves `gateway` out."
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(known: &Known) -> Value {
    let reached = reached(known);
    json!({
        "name": known.name(),
        "enabled": !known.listed.disabled,
        "type": reached.kind,
        "reached_by": reached.by,
        "env": reached.variables,
        "headers": reached.headers,
        "expose": exposed(known),
        "from": known.place.to_string(),
    })
}
