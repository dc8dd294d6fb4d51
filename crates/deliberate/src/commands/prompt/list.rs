//! `deliberate prompt list`: lists the prompts.

use std::{process::ExitCode, sync::Arc};

use clap::Args;
use deliberate_prompts::{EngineOptions, model::Prompt};
use serde_json::{Value, json};

use super::{is_part, load_library};
use crate::commands::{
    CommandContext,
    table::{one_line, table},
};

#[derive(Debug, Default, Args)]
#[command(after_help = "Example: deliberate prompt list review")]
pub(super) struct PromptListArgs {
    /// List only prompts with this word in their id, name, category or description
    word: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    args: &PromptListArgs,
    options: &EngineOptions,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let library = load_library(options)?;
    let word = args.word.as_deref().unwrap_or_default().to_lowercase();
    let mut found: Vec<&Arc<Prompt>> = library
        .prompts
        .values()
        .filter(|prompt| matches_word(prompt, &word))
        .collect();
    found.sort_by(|one, other| (&one.category, &one.id).cmp(&(&other.category, &other.id)));
    if args.json {
        let all: Vec<Value> = found.iter().map(|prompt| as_json(prompt)).collect();
        writeln!(shell.output, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if found.is_empty() {
        writeln!(
            shell.output,
            "No prompt contains {:?}. `deliberate prompt list` shows all.",
            args.word.as_deref().unwrap_or_default()
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut rows = table(&["prompt", "category", "arguments", "description"]);
    for prompt in found {
        let chain = if prompt.is_chain() { " (chain)" } else { "" };
        rows.add_row([
            format!("{}{chain}", one_line(&prompt.id, 100)),
            one_line(&prompt.category, 40),
            one_line(&argument_list(prompt), 80),
            one_line(&prompt.description, 100),
        ]);
    }
    writeln!(shell.output, "{rows}")?;
    Ok(ExitCode::SUCCESS)
}

/// Steps of other prompts are listed only when searched for.
fn matches_word(prompt: &Prompt, word: &str) -> bool {
    if word.is_empty() {
        return !is_part(prompt);
    }
    [
        &prompt.id,
        &prompt.name,
        &prompt.category,
        &prompt.description,
    ]
    .iter()
    .any(|text| text.to_lowercase().contains(word))
}

/// Returns the names of the arguments; `?` follows optional ones.
pub(super) fn argument_list(prompt: &Prompt) -> String {
    let names: Vec<String> = prompt
        .arguments
        .iter()
        .map(|it| format!("{}{}", it.name, if it.required { "" } else { "?" }))
        .collect();
    names.join(", ")
}

fn as_json(prompt: &Prompt) -> Value {
    json!({
        "id": prompt.id,
        "name": prompt.name,
        "category": prompt.category,
        "description": prompt.description,
        "chain": prompt.is_chain(),
        "arguments": prompt.arguments,
        "from": prompt.origin.layer,
        "file": prompt.origin.file,
    })
}
