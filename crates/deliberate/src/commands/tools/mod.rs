//! `deliberate tools`.

mod markdown;

use std::process::ExitCode;

use clap::Args;
use deliberate_toolkit::Listing;
use serde_json::{Value, json};

use super::{Shell, table::table};
use crate::wiring::wire;

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// As Markdown, with every field of arguments and answers
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// As JSON, with the whole schemas
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ToolsArgs, shell: &mut Shell<'_>) -> anyhow::Result<ExitCode> {
    let wired = wire(shell.loaded)?;
    let tools: Vec<Listing<'_>> = wired.registry.list().collect();
    if args.json {
        let all: Vec<Value> = tools.iter().map(as_json).collect();
        writeln!(shell.output, "{}", serde_json::to_string_pretty(&all)?)?;
    } else if args.markdown {
        markdown::page(&tools, shell.output)?;
    } else {
        let mut rows = table(&["tool", "what it does"]);
        for tool in &tools {
            rows.add_row([tool.about.name, tool.about.description]);
        }
        writeln!(shell.output, "{rows}")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(tool: &Listing<'_>) -> Value {
    json!({
        "name": tool.about.name,
        "title": tool.about.title,
        "description": tool.about.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
    })
}
