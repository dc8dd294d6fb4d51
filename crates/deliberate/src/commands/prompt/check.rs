//! `deliberate prompt check`: what is wrong in a workspace, drawn as compilers draw it.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::bail;
use clap::Args;
use deliberate_prompts::{
    Options, Places,
    library::{Finding, Library, Remark, Weight, check},
    model::{Layer, Text},
    template::Renderer,
};
use serde_json::{Value, json};

use super::counted;
use crate::commands::{Shell, terminal::wants_colour};

#[derive(Debug, Args)]
#[command(after_help = "Example: deliberate prompt check ~/prompts")]
pub(super) struct CheckArgs {
    /// The workspace; without it the one that is set
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(
    args: &CheckArgs,
    options: &Options,
    shell: &mut Shell<'_>,
) -> anyhow::Result<ExitCode> {
    let options = match &args.folder {
        Some(folder) => elsewhere(folder, options)?,
        None => options.clone(),
    };
    let (library, findings) = all(&options);
    let own = own(&library);
    let workspace = &options.places.workspace;
    if own == 0 && findings.is_empty() && args.folder.is_some() {
        bail!(
            "there is nothing to check in {}; a workspace has its prompts in `resources/prompts` \
             or `prompts`, beside `gates`, `methodologies`, `styles` and `scripts`",
            workspace.display()
        );
    }
    let errors = of(Weight::Error, &findings);
    if args.json {
        let all = as_json(workspace, own, &findings);
        writeln!(shell.output, "{}", serde_json::to_string_pretty(&all)?)?;
    } else {
        let coloured = wants_colour(&shell.loaded.environment);
        draw(&findings, coloured, shell.output)?;
        writeln!(shell.output, "{}", summary(workspace, own, &findings))?;
    }
    Ok(if errors > 0 {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}

/// Everything there is, and what is wrong with it, templates too.
pub(super) fn all(options: &Options) -> (Library, Vec<Finding>) {
    let renderer = Renderer::new(&options.limits);
    check(options, &|text: &Text| {
        let error = renderer.compile_check(text, "")?;
        Some(Remark {
            weight: Weight::Error,
            line: Some(error.line),
            column: error.column,
            message: error.message,
            help: error.help,
        })
    })
}

/// The options for a workspace that is named here: the folders that are set belong to another.
fn elsewhere(folder: &Path, options: &Options) -> anyhow::Result<Options> {
    if !folder.is_dir() {
        bail!("there is no folder {}", folder.display());
    }
    Ok(Options {
        places: Places {
            workspace: folder.to_owned(),
            ..Places::default()
        },
        ..options.clone()
    })
}

/// How many things the workspace itself holds.
pub(super) fn own(library: &Library) -> usize {
    let layers = library.prompts.values().map(|it| it.origin.layer);
    layers
        .chain(library.gates.values().map(|it| it.origin.layer))
        .chain(library.methodologies.values().map(|it| it.origin.layer))
        .chain(library.styles.values().map(|it| it.origin.layer))
        .chain(library.scripts.values().map(|it| it.origin.layer))
        .filter(|layer| *layer == Layer::Workspace)
        .count()
}

pub(super) fn of(weight: Weight, findings: &[Finding]) -> usize {
    let findings = findings.iter();
    findings.filter(|it| it.problem.weight == weight).count()
}

fn draw(findings: &[Finding], coloured: bool, output: &mut dyn Write) -> anyhow::Result<()> {
    for Finding { problem, source } in findings {
        let drawn = if coloured {
            problem.render_coloured(source.as_deref())
        } else {
            problem.render(source.as_deref())
        };
        writeln!(output, "{}\n", drawn.trim_end())?;
    }
    Ok(())
}

fn summary(workspace: &Path, own: usize, findings: &[Finding]) -> String {
    let (errors, warnings) = (of(Weight::Error, findings), of(Weight::Warning, findings));
    let place = workspace.display();
    if findings.is_empty() && own == 0 {
        return format!("Nothing is in {place} yet. Begin with: deliberate prompt new my_prompt");
    }
    let checked = counted(own, "thing");
    if findings.is_empty() {
        return format!("{checked} checked in {place}, nothing wrong.");
    }
    format!(
        "{checked} in {place}: {}, {}.",
        counted(errors, "error"),
        counted(warnings, "warning")
    )
}

fn as_json(workspace: &Path, own: usize, findings: &[Finding]) -> Value {
    let problems: Vec<&_> = findings.iter().map(|it| &it.problem).collect();
    json!({
        "workspace": workspace,
        "things": own,
        "errors": of(Weight::Error, findings),
        "warnings": of(Weight::Warning, findings),
        "problems": problems,
    })
}
