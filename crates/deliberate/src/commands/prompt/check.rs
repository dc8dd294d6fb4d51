//! `deliberate prompt check`: reports errors in a workspace in the style of a compiler.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::bail;
use clap::Args;
use deliberate_prompts::{
    EngineOptions, LibraryPaths,
    library::{LibraryFinding, ProblemSeverity, PromptLibrary, TemplateProblem, check_workspace},
    model::{LibraryLayer, TemplateSource},
    template::TemplateRenderer,
};
use serde_json::{Value, json};

use super::pluralize;
use crate::commands::{CommandContext, terminal::wants_color};

#[derive(Debug, Args)]
#[command(after_help = "Example: deliberate prompt check ~/prompts")]
pub(super) struct PromptCheckArgs {
    /// The workspace; default: the one in the settings
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    args: &PromptCheckArgs,
    options: &EngineOptions,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let options = match &args.folder {
        Some(folder) => options_for_folder(folder, options)?,
        None => options.clone(),
    };
    let (library, findings) = check_library(&options);
    let own = count_own_resources(&library);
    let workspace = &options.paths.workspace;
    if own == 0 && findings.is_empty() && args.folder.is_some() {
        bail!(
            "there is nothing to check in {}; a workspace has its prompts in `resources/prompts` \
             or `prompts`, beside `gates`, `methodologies`, `styles` and `scripts`",
            workspace.display()
        );
    }
    let errors = count_by_severity(ProblemSeverity::Error, &findings);
    if args.json {
        let all = as_json(workspace, own, &findings);
        writeln!(shell.output, "{}", serde_json::to_string_pretty(&all)?)?;
    } else {
        let coloured = wants_color(&shell.loaded.environment);
        print_findings(&findings, coloured, shell.output)?;
        writeln!(shell.output, "{}", summary(workspace, own, &findings))?;
    }
    Ok(if errors > 0 {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

/// Loads the whole library and returns all findings, including those in templates.
pub(super) fn check_library(options: &EngineOptions) -> (PromptLibrary, Vec<LibraryFinding>) {
    let renderer = TemplateRenderer::new(&options.limits);
    check_workspace(options, &|text: &TemplateSource| {
        let error = renderer.compile_check(text, "")?;
        Some(TemplateProblem {
            severity: ProblemSeverity::Error,
            line: Some(error.line),
            column: error.column,
            message: error.message,
            help: error.help,
        })
    })
}

/// Returns the options for a workspace named here: the folders in the settings belong to another
/// one.
fn options_for_folder(folder: &Path, options: &EngineOptions) -> anyhow::Result<EngineOptions> {
    if !folder.is_dir() {
        bail!("there is no folder {}", folder.display());
    }
    Ok(EngineOptions {
        paths: LibraryPaths {
            workspace: folder.to_owned(),
            ..LibraryPaths::default()
        },
        ..options.clone()
    })
}

/// Returns the number of resources in the workspace itself.
pub(super) fn count_own_resources(library: &PromptLibrary) -> usize {
    let layers = library.prompts.values().map(|it| it.origin.layer);
    layers
        .chain(library.gates.values().map(|it| it.origin.layer))
        .chain(library.methodologies.values().map(|it| it.origin.layer))
        .chain(library.styles.values().map(|it| it.origin.layer))
        .chain(library.scripts.values().map(|it| it.origin.layer))
        .filter(|layer| *layer == LibraryLayer::Workspace)
        .count()
}

pub(super) fn count_by_severity(weight: ProblemSeverity, findings: &[LibraryFinding]) -> usize {
    let findings = findings.iter();
    findings.filter(|it| it.problem.weight == weight).count()
}

fn print_findings(
    findings: &[LibraryFinding],
    coloured: bool,
    output: &mut dyn Write,
) -> anyhow::Result<()> {
    for LibraryFinding { problem, source } in findings {
        let drawn = if coloured {
            problem.render_colored(source.as_deref())
        } else {
            problem.render(source.as_deref())
        };
        writeln!(output, "{}\n", drawn.trim_end())?;
    }
    Ok(())
}

fn summary(workspace: &Path, own: usize, findings: &[LibraryFinding]) -> String {
    let (errors, warnings) = (
        count_by_severity(ProblemSeverity::Error, findings),
        count_by_severity(ProblemSeverity::Warning, findings),
    );
    let place = workspace.display();
    if findings.is_empty() && own == 0 {
        return format!(
            "There is nothing in {place} yet. Create a prompt with: deliberate prompt new my_prompt"
        );
    }
    let checked = pluralize(own, "item");
    if findings.is_empty() {
        return format!("{checked} checked in {place}, no errors.");
    }
    format!(
        "{checked} in {place}: {}, {}.",
        pluralize(errors, "error"),
        pluralize(warnings, "warning")
    )
}

fn as_json(workspace: &Path, own: usize, findings: &[LibraryFinding]) -> Value {
    let problems: Vec<&_> = findings.iter().map(|it| &it.problem).collect();
    json!({
        "workspace": workspace,
        "things": own,
        "errors": count_by_severity(ProblemSeverity::Error, findings),
        "warnings": count_by_severity(ProblemSeverity::Warning, findings),
        "problems": problems,
    })
}
