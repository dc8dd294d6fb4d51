//! `deliberate tools`.

use std::process::ExitCode;

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
    /// As JSON, with the schemas
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
        write!(shell.output, "{}", markdown(&tools))?;
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

fn markdown(tools: &[Listing<'_>]) -> String {
    let mut text = String::from("# Tools\n\nMade by `deliberate tools --markdown`.\n");
    for tool in tools {
        text.push_str(&format!(
            "\n## {}\n\n{}\n",
            tool.about.name, tool.about.description
        ));
        text.push_str("\n| argument | type | | meaning |\n|---|---|---|---|\n");
        text.push_str(&rows(tool.input_schema));
        let answers = rows(tool.output_schema);
        if !answers.is_empty() {
            text.push_str("\n| answer | type | | meaning |\n|---|---|---|---|\n");
            text.push_str(&answers);
        }
    }
    text
}

fn rows(schema: &Value) -> String {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return String::new();
    };
    let required = schema
        .get("required")
        .or_else(|| schema.pointer("/anyOf/0/required"))
        .and_then(Value::as_array);
    let mut text = String::new();
    for (name, property) in properties {
        let needed = required.is_some_and(|names| names.iter().any(|needed| needed == name));
        text.push_str(&format!(
            "| `{name}` | {} | {} | {} |\n",
            kind(property),
            if needed { "required" } else { "" },
            property
                .get("description")
                .and_then(Value::as_str)
                .unwrap_or_default(),
        ));
    }
    text
}

/// The type and range of a property, in a few words.
fn kind(property: &Value) -> String {
    let mut words = match property.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            kinds.join(" or ")
        }
        _ => "any".to_owned(),
    };
    if let (Some(least), Some(most)) = (property.get("minimum"), property.get("maximum")) {
        words.push_str(&format!(", {least} to {most}"));
    }
    words
}
