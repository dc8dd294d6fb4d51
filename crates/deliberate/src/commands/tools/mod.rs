//! `deliberate tools`: lists the tools offered to clients.

mod markdown;

use std::process::ExitCode;

use clap::Args;
use deliberate_toolkit::ToolInfo;
use serde_json::{Value, json};

use super::{CommandContext, table::table};
use crate::wiring::build_app;

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// Print Markdown, with every field of arguments and answers
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print JSON, with the whole schemas
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &ToolsArgs, shell: &mut CommandContext<'_>) -> anyhow::Result<ExitCode> {
    let wired = build_app(shell.loaded)?;
    let tools: Vec<ToolInfo<'_>> = wired.registry.list().collect();
    if args.json {
        let all: Vec<Value> = tools.iter().map(as_json).collect();
        writeln!(shell.output, "{}", serde_json::to_string_pretty(&all)?)?;
    } else if args.markdown {
        markdown::print_page(&tools, shell.output)?;
    } else {
        let mut rows = table(&["tool", "description"]);
        for tool in &tools {
            rows.add_row([tool.meta.name, tool.meta.description]);
        }
        writeln!(shell.output, "{rows}")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(tool: &ToolInfo<'_>) -> Value {
    json!({
        "name": tool.meta.name,
        "title": tool.meta.title,
        "description": tool.meta.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
    })
}
