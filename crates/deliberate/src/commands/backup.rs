//! `deliberate backup`: copies the whole database while other processes use it.

use std::{
    path::{Path, PathBuf, absolute},
    process::ExitCode,
};

use anyhow::bail;
use clap::Args;
use deliberate_research::{articles::ARTICLE, discovery::QUESTION};
use deliberate_store::{DocumentFilter, Store as _, StoreError};
use serde_json::json;

use super::CommandContext;
use crate::{
    config::{AppSettings, LoadedConfig},
    wiring::{build_sqlite_store, build_store, research},
};

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The copy; an existing file is never overwritten
    file: PathBuf,
    /// Print JSON
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
    copied?;
    let counts = count_contents(&file, settings).await?;
    let beside = files_outside_backup(shell.loaded);
    if args.json {
        let all = json!({
            "file": file.display().to_string(),
            "sessions": counts.sessions,
            "thoughts": counts.thoughts,
            "papers": counts.papers,
            "questions": counts.questions,
            "not_in_it": beside,
        });
        writeln!(shell.output, "{}", serde_json::to_string_pretty(&all)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(
        shell.output,
        "{} contains {} session(s), {} thought(s), {} paper(s) with their texts, {} saved question(s).",
        file.display(),
        counts.sessions,
        counts.thoughts,
        counts.papers,
        counts.questions
    )?;
    if !beside.is_empty() {
        writeln!(
            shell.output,
            "Not included; back these up too: {}",
            beside.join(", ")
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Number of records in a copy.
struct BackupCounts {
    sessions: u64,
    thoughts: u64,
    papers: u64,
    questions: u64,
}

/// Counts in the copy itself: a copy that cannot be read is no copy.
async fn count_contents(file: &Path, settings: &AppSettings) -> Result<BackupCounts, StoreError> {
    let mut of_copy = settings.clone();
    file.clone_into(&mut of_copy.database.path);
    let copy = build_store(&of_copy);
    let state = copy.info().await?;
    let counts = BackupCounts {
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
    Ok(counts)
}

/// Returns the user's files outside the database that exist.
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
