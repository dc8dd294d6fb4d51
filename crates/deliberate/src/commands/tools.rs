//! `deliberate tools`.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::Args;
use deliberate_toolkit::Listing;
use serde_json::{Value, json};

use super::{Shell, table::table};
use crate::wiring::wire;

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// As Markdown, with every argument
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
        markdown(&tools, shell.output)?;
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

fn markdown(tools: &[Listing<'_>], output: &mut dyn Write) -> io::Result<()> {
    writeln!(output, "# Tools\n\nMade by `deliberate tools --markdown`.")?;
    for tool in tools {
        let about = tool.about;
        writeln!(output, "\n## {}\n\n{}", about.name, about.description)?;
        rows("argument", tool.input_schema, output)?;
        rows("answer", tool.output_schema, output)?;
    }
    Ok(())
}

/// A table of a schema's properties, if it has any.
fn rows(heading: &str, schema: &Value, output: &mut dyn Write) -> io::Result<()> {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Ok(());
    };
    let required = schema
        .get("required")
        .or_else(|| schema.pointer("/anyOf/0/required"))
        .and_then(Value::as_array);
    writeln!(
        output,
        "\n| {heading} | type | | meaning |\n|---|---|---|---|"
    )?;
    for (name, property) in properties {
        let needed = required.is_some_and(|names| names.iter().any(|needed| needed == name));
        let needed = if needed { "required" } else { "" };
        let meaning = property.get("description").and_then(Value::as_str);
        let meaning = meaning.unwrap_or_default();
        let kind = kind(property);
        writeln!(output, "| `{name}` | {kind} | {needed} | {meaning} |")?;
    }
    Ok(())
}

/// The type and range of a property, in a few words.
fn kind(property: &Value) -> String {
    let kind = match property.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            kinds.join(" or ")
        }
        _ => "any".to_owned(),
    };
    match (property.get("minimum"), property.get("maximum")) {
        (Some(least), Some(most)) => format!("{kind}, {least} to {most}"),
        _ => kind,
    }
}
