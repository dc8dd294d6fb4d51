//! `deliberate backup`: a whole copy of the database, whatever else uses it meanwhile.

use std::{
    path::{Path, PathBuf, absolute},
    process::ExitCode,
};

use anyhow::bail;
use clap::Args;
use deliberate_research::{articles::ARTICLE, discovery::QUESTION};
use deliberate_store::{DocumentFilter, Store as _, StoreError};
use deliberate_toolkit::ToolError;
use serde_json::json;

use super::{CommandContext, think::explain_error};
use crate::{
    config::{AppSettings, LoadedConfig},
    wiring::{build_sqlite_store, build_store, research},
};

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The copy; a file that is there is never replaced
    file: PathBuf,
    /// As JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(
    args: &BackupArgs,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let settings = &shell.loaded.settings;
    let path = &settings.database.path;
    if !path.is_file() {
        bail!("there is no database at {} yet", path.display());
    }
    let file = absolute(&args.file)?;
    let original = build_sqlite_store(settings);
    let copied = original.backup_to(&file).await;
    original.close().await;
    copied.map_err(with_hint)?;
    let held = count_contents(&file, settings).await.map_err(with_hint)?;
    let beside = files_outside_backup(shell.loaded);
    if args.json {
        let all = json!({
            "file": file.display().to_string(),
            "sessions": held.sessions,
            "thoughts": held.thoughts,
            "papers": held.papers,
            "questions": held.questions,
            "not_in_it": beside,
        });
        writeln!(shell.output, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(
        shell.output,
        "{} holds {} session(s), {} thought(s), {} paper(s) with their texts, {} saved question(s).",
        file.display(),
        held.sessions,
        held.thoughts,
        held.papers,
        held.questions
    )?;
    if !beside.is_empty() {
        writeln!(
            shell.output,
            "Not in it, keep these as well: {}",
            beside.join(", ")
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

fn with_hint(error: StoreError) -> anyhow::Error {
    explain_error(ToolError::from(error).into())
}

/// How much is in a copy.
struct BackupCounts {
    sessions: u64,
    thoughts: u64,
    papers: u64,
    questions: u64,
}

/// Read from the copy itself: one that can't be read is none.
async fn count_contents(file: &Path, settings: &AppSettings) -> Result<BackupCounts, StoreError> {
    let mut of_copy = settings.clone();
    file.clone_into(&mut of_copy.database.path);
    let copy = build_store(&of_copy);
    let state = copy.info().await?;
    let held = BackupCounts {
        sessions: state.sessions,
        thoughts: state.thoughts,
        papers: copy
            .count_documents(&DocumentFilter::of_kind(ARTICLE))
            .await?,
        questions: copy
            .count_documents(&DocumentFilter::of_kind(QUESTION))
            .await?,
    };
    copy.close().await;
    Ok(held)
}

/// What a user would miss and is kept elsewhere, as far as it is there.
fn files_outside_backup(loaded: &LoadedConfig) -> Vec<String> {
    let research = research::options(loaded).ok();
    let research = research
        .into_iter()
        .flat_map(|it| [it.papers_folder, it.exports_folder]);
    let prompts = loaded.settings.prompts.workspace.clone();
    let all = research.chain(prompts).chain(loaded.file.clone());
    all.filter(|it| it.exists())
        .map(|it| it.display().to_string())
        .collect()
}
