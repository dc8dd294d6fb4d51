//! `deliberate prompt new`: creates a prompt from a template. Existing files are never changed.

use std::{
    fs::{self, OpenOptions},
    io::{ErrorKind, Write as _},
    path::Path,
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use clap::Args;
use deliberate_prompts::{
    EngineOptions,
    library::{LiveLibrary, PromptLibrary, is_id, is_segment},
    model::{LibraryItemKind, LibraryLayer},
};

use super::load_library;
use crate::commands::CommandContext;

#[derive(Debug, Args)]
#[command(after_help = "Example: deliberate prompt new weekly_report --category writing")]
pub(super) struct PromptNewArgs {
    /// Its id, such as `weekly_report`
    id: String,
    /// Its category
    #[arg(long, default_value = "general")]
    category: String,
    /// Create a chain of two steps
    #[arg(long)]
    chain: bool,
    /// Use it instead of the built-in prompt with that id
    #[arg(long)]
    replace: bool,
}

/// Path below the prompt's folder, and content.
type NewPromptFile = (&'static str, String);

pub(super) fn run(
    args: &PromptNewArgs,
    options: &EngineOptions,
    at: &str,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let (id, category) = (args.id.as_str(), args.category.as_str());
    if !is_id(id) {
        bail!("{id:?} is not a valid id; use letters, digits, `_` and `-`, such as weekly_report");
    }
    if !is_segment(category) {
        bail!("{category:?} is not a valid category; use letters, digits, `_` and `-`");
    }
    let library = load_library(options)?;
    reject_existing(id, args.replace, &library)?;
    let folder = LiveLibrary::new(options).folder(LibraryItemKind::Prompt);
    let folder = folder.join(category).join(id);
    let sheets = if args.chain {
        chain_prompt_files(id, category)
    } else {
        vec![
            ("prompt.yaml", single_prompt_yaml(id, category)),
            ("user-message.md", SINGLE_TEMPLATE.to_owned()),
        ]
    };
    write_files(&folder, &sheets)?;
    let output = &mut *shell.output;
    for (name, _) in &sheets {
        writeln!(output, "Written: {}", folder.join(name).display())?;
    }
    writeln!(
        output,
        "\nEdit it, then:\n  deliberate prompt check{at}\n  deliberate prompt run{at} {id} \"…\""
    )?;
    Ok(ExitCode::SUCCESS)
}

/// A built-in prompt may be replaced with `--replace`; one of the workspace may not.
fn reject_existing(id: &str, replace: bool, library: &PromptLibrary) -> anyhow::Result<()> {
    let known = library.prompts.values();
    let known = known.into_iter().find(|it| it.id.eq_ignore_ascii_case(id));
    match known {
        Some(known) if known.origin.layer == LibraryLayer::Workspace => {
            bail!("there is already a prompt {id:?}, in {}", known.origin.file)
        }
        Some(known) if !replace => bail!(
            "the prompt {:?} is built into the program; `--replace` creates one that is used \
             instead, or choose another id",
            known.id
        ),
        _ => Ok(()),
    }
}

fn write_files(folder: &Path, sheets: &[NewPromptFile]) -> anyhow::Result<()> {
    let above = folder.parent().context("the folder has no parent")?;
    fs::create_dir_all(above).with_context(|| format!("{} cannot be created", above.display()))?;
    match fs::create_dir(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            bail!("{} already exists and was not changed", folder.display());
        }
        made => made.with_context(|| format!("{} cannot be created", folder.display()))?,
    }
    for (name, text) in sheets {
        let path = folder.join(name);
        let written = || -> std::io::Result<()> {
            if let Some(above) = path.parent() {
                fs::create_dir_all(above)?;
            }
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&path)?;
            file.write_all(text.as_bytes())
        };
        written().with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}

const SINGLE_TEMPLATE: &str = "\
Write about {{ topic }}
{%- if audience %} for {{ audience }}{% endif %}.
";

const DRAFT_TEMPLATE: &str =
    "Draft a text about {{ topic }}. Say the most important thing first.\n";

const IMPROVE_TEMPLATE: &str = "\
Improve this draft about {{ topic }}. Keep its meaning, and make it half as long.

{{ draft }}
";

/// All inserted values follow the grammar of ids, so quotes are enough.
fn single_prompt_yaml(id: &str, category: &str) -> String {
    format!(
        "{}userMessageTemplateFile: user-message.md
arguments:
  - name: topic
    type: string
    required: true
    description: What it is about
  - name: audience
    type: string
    description: Who reads it
",
        yaml_header(id, category)
    )
}

fn chain_prompt_files(id: &str, category: &str) -> Vec<NewPromptFile> {
    let main = format!(
        "{}arguments:
  - name: topic
    type: string
    required: true
    description: What it is about
chainSteps:
  - stepName: Draft
    promptId: {id}/draft
    outputMapping: {{draft: output}}
  - stepName: Improve
    promptId: {id}/improve
    inputMapping: {{draft: draft}}
",
        yaml_header(id, category)
    );
    let step = |name: &str, more: &str| {
        format!(
            "{}registerWithMcp: false
userMessageTemplateFile: user-message.md
arguments:
  - {{name: topic, type: string, required: true, description: What it is about}}
{more}",
            yaml_header(name, category)
        )
    };
    let takes_draft =
        "  - {name: draft, type: string, required: true, description: The draft to improve}\n";
    vec![
        ("prompt.yaml", main),
        ("draft/prompt.yaml", step("draft", "")),
        ("draft/user-message.md", DRAFT_TEMPLATE.to_owned()),
        ("improve/prompt.yaml", step("improve", takes_draft)),
        ("improve/user-message.md", IMPROVE_TEMPLATE.to_owned()),
    ]
}

fn yaml_header(id: &str, category: &str) -> String {
    let last = id.rsplit('/').next().unwrap_or(id);
    let words = last.replace(['_', '-'], " ");
    let mut letters = words.trim().chars();
    let first = letters.next().map(|it| it.to_ascii_uppercase());
    let name: String = first.into_iter().chain(letters).collect();
    format!(
        "id: \"{last}\"\nname: \"{name}\"\ncategory: \"{category}\"\n\
         description: Says in one line what this prompt does\n"
    )
}
