//! `deliberate import`: imports the database of mcp-langbase-reasoning.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::Args;
use deliberate_store::{
    StoreError,
    sqlite::{ImportReport, import_legacy},
};

use super::{CommandContext, table::table};
use crate::{config::AppSettings, wiring::build_store};

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The database of mcp-langbase-reasoning, such as ./data/reasoning.db
    path: PathBuf,
}

pub(crate) async fn run(
    args: &ImportArgs,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    if !args.path.is_file() {
        bail!("there is no file {}", args.path.display());
    }
    let target = &shell.loaded.settings.database.path;
    let report = if is_same_file(&args.path, target) {
        let kept = sibling_path(target, "original");
        let report = import_in_place(target, &kept, &shell.loaded.settings).await?;
        writeln!(shell.output, "The old database is now {}.", kept.display())?;
        report
    } else {
        let store = build_store(&shell.loaded.settings);
        let report = import_legacy(&args.path, store.as_ref()).await;
        store.close().await;
        explain_error(report)?
    };
    print_report(&report, target, shell)
}

/// Imports a database that is at the path of the new one: into a new file first, which then
/// replaces the old one.
async fn import_in_place(
    path: &Path,
    kept: &Path,
    settings: &AppSettings,
) -> anyhow::Result<ImportReport> {
    if kept.exists() {
        bail!("{} already exists; move it first", kept.display());
    }
    let new = sibling_path(path, "importing");
    if new.exists() {
        std::fs::remove_file(&new).with_context(|| format!("removing {}", new.display()))?;
    }
    let mut into_new = settings.clone();
    into_new.database.path.clone_from(&new);
    let target = build_store(&into_new);
    let report = import_legacy(path, target.as_ref()).await;
    target.close().await;
    let report = explain_error(report)?;
    std::fs::rename(path, kept).context("moving the old database aside")?;
    // A log of the old server contains its last rows, and would be taken for the new database's
    // log.
    for log in ["-wal", "-shm"] {
        let (from, to) = (with_suffix(path, log), with_suffix(kept, log));
        if from.exists() {
            std::fs::rename(&from, &to).context("moving the old database's log aside")?;
        }
    }
    std::fs::rename(&new, path).context("moving the new database into place")?;
    Ok(report)
}

fn explain_error(report: Result<ImportReport, StoreError>) -> anyhow::Result<ImportReport> {
    report.map_err(|error| match (&error, error.hint()) {
        // The error concerns the file to import, not the database in use.
        (StoreError::NotOurDatabase { location, reason }, _) => {
            anyhow::anyhow!("{location} cannot be imported: {reason}")
        }
        (_, Some(hint)) => anyhow::anyhow!("{error}. {hint}"),
        (_, None) => error.into(),
    })
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Inserts a word before the extension: `reasoning.db` and `original` give `reasoning.original.db`.
fn sibling_path(path: &Path, word: &str) -> PathBuf {
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    path.with_extension(format!("{word}.{ending}"))
}

fn print_report(
    report: &ImportReport,
    target: &Path,
    shell: &mut CommandContext<'_>,
) -> anyhow::Result<ExitCode> {
    let mut rows = table(&["table", "imported", "already there", "failed"]);
    for kind in &report.tables {
        rows.add_row([
            kind.table.to_owned(),
            kind.imported.to_string(),
            kind.skipped.to_string(),
            kind.failed.to_string(),
        ]);
    }
    writeln!(shell.output, "{rows}\n")?;
    for note in &report.notes {
        writeln!(shell.output, "{note}")?;
    }
    writeln!(shell.output, "Imported into {}.", target.display())?;
    Ok(ExitCode::SUCCESS)
}
