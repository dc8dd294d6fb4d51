//! The `batch_process_pdfs` tool: reads the files of a folder, one after the other. Each is
//! committed before the next begins; a file that cannot be read is reported, and the others
//! continue.

use std::{fmt::Write as _, path::Path, sync::Arc};

use deliberate_core::{Change, truncate_chars};
use deliberate_toolkit::{Tool, ToolContext, ToolError, ToolHints, ToolMeta, ToolOutput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    ResearchServices,
    articles::ArticleRepository,
    ingest::{
        IngestRequest,
        batch_job::{BatchItemResult, BatchJob, ProgressShare},
        path_policy::{list_files, open_readable_file, resolve_readable_folder},
    },
    tools::{
        batch_report::{render_batch, render_partial_batch},
        rendering::{escape_markdown, pluralize, tool_meta},
    },
    watch_folder::directory_walk::DirectoryListing,
};

const NAME: &str = "batch_process_pdfs";

/// Files of a folder that are listed.
const MAX_FILES: usize = 20_000;

/// Spare files that may replace those that fail or add nothing.
const MAX_SPARE_FILES: usize = 200;

/// Unreadable folders that are named.
const MAX_UNREADABLE_FOLDERS: usize = 10;

/// The `batch_process_pdfs` tool.
pub(crate) struct BatchProcessPdfs(pub(crate) Arc<ResearchServices>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 4096))]
    directory_path: String,
    #[serde(default = "default_max_files")]
    #[schemars(range(min = 1, max = 100))]
    max_files: usize,
    #[serde(default = "yes")]
    skip_existing: bool,
    /// Progress of the batch.
    #[serde(default, rename = "_leg")]
    #[schemars(skip)]
    leg: Option<BatchJob>,
}

fn default_max_files() -> usize {
    10
}

fn yes() -> bool {
    true
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    results: Vec<BatchItemResult>,
    /// Unread files of the folder, left for another call
    left: usize,
    /// Skipped files and folders
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    #[serde(skip)]
    #[schemars(skip)]
    next: Option<Value>,
}

impl Tool for BatchProcessPdfs {
    type Input = Input;
    type Output = Output;

    fn meta(&self) -> ToolMeta {
        tool_meta(
            NAME,
            "Process a folder",
            "Read the files of a folder into the collection.",
            ToolHints {
                idempotent: true,
                open_world: true,
                ..ToolHints::ADDITIVE
            },
        )
    }

    fn may_run_in_background(&self) -> bool {
        true
    }

    fn next_step(&self, output: &Output) -> Option<Value> {
        output.next.clone()
    }

    fn partial_summary(&self, output: &Output) -> Option<String> {
        Some(render_partial_batch(&output.results))
    }

    async fn run(&self, input: Input, call: &ToolContext) -> Result<ToolOutput<Output>, ToolError> {
        let mut job = match input.leg {
            Some(job) => job,
            None => self.build_job(&input, call).await?,
        };
        let mut changes = Vec::new();
        if let Some((path, share)) = job.take_next() {
            let name = self.display_name(&input.directory_path, &path).await;
            share.report(call, 0.0, &name);
            let skip = input.skip_existing;
            let came = self.process((&path, &name), skip, share, call).await;
            changes = job.record_result(name, came)?;
        }
        let next = job.next_arguments(json!({
            "directory_path": input.directory_path,
            "max_files": input.max_files,
            "skip_existing": input.skip_existing,
        }));
        let said = render_text(&job);
        Ok(ToolOutput {
            output: Output {
                said,
                results: job.done,
                left: job.left,
                notes: job.notes,
                next,
            },
            changes,
            session: None,
        })
    }
}

impl BatchProcessPdfs {
    /// Selects the files to read: unread ones come first, so that repeated calls reach all of them.
    /// Unreadable files and copies are not recorded as read, so spare files take their places.
    async fn build_job(&self, input: &Input, call: &ToolContext) -> Result<BatchJob, ToolError> {
        let folder = &input.directory_path;
        let folder = resolve_readable_folder(self.0.options(), "directory_path", folder).await?;
        let below = list_files(folder.clone(), MAX_FILES).await?;
        let notes = skipped_notes(&folder, &below);
        let files = below.files;
        let mut not_looked_at = files.len();
        let (mut new, mut read) = (Vec::new(), Vec::new());
        for path in files {
            let path = path.to_string_lossy().into_owned();
            if new.len() >= input.max_files + MAX_SPARE_FILES {
                break;
            }
            not_looked_at -= 1;
            if input.skip_existing && self.is_read(&path, call).await? {
                read.push(path);
            } else {
                new.push(path);
            }
        }
        let spare = new.split_off(input.max_files.min(new.len()));
        if spare.is_empty() {
            new.extend(read);
            new.truncate(input.max_files);
        }
        Ok(BatchJob {
            left: not_looked_at + spare.len(),
            spare,
            notes,
            ..BatchJob::new(new)
        })
    }

    /// Whether the file was read before and has the same length.
    async fn is_read(&self, path: &str, call: &ToolContext) -> Result<bool, ToolError> {
        let known = ArticleRepository(call.store())
            .find_by_key("path", path)
            .await?;
        let mut known = known.iter().flat_map(|it| it.record.files());
        let Some(file) = known.find(|it| it.path == path) else {
            return Ok(false);
        };
        let now = tokio::fs::metadata(path).await;
        Ok(now.is_ok_and(|it| it.len() == file.bytes))
    }

    /// The path of a file relative to the folder, because file names may repeat.
    async fn display_name(&self, folder: &str, path: &str) -> String {
        let folder = resolve_readable_folder(self.0.options(), "directory_path", folder).await;
        match folder {
            Ok(folder) => relative_path(&folder, Path::new(path)),
            Err(_) => path.to_owned(),
        }
    }

    async fn process(
        &self,
        (path, name): (&str, &str),
        skip_existing: bool,
        share: ProgressShare,
        call: &ToolContext,
    ) -> Result<(BatchItemResult, Vec<Change>), ToolError> {
        let file = open_readable_file(self.0.options(), "directory_path", path).await?;
        let mut ingest = IngestRequest::for_paper(file, skip_existing);
        ingest.share = share;
        let ingested = ingest.run(&self.0, call).await?;
        let outcome = ingested.outcome.as_str();
        let line = BatchItemResult::from_record(name, outcome, &ingested.record, ingested.notes);
        Ok((line, ingested.changes))
    }
}

fn render_text(job: &BatchJob) -> String {
    let mut said = match job.total() {
        0 => "That folder contains no readable file.".to_owned(),
        _ => render_batch(job),
    };
    if job.left > 0 {
        let _ = write!(
            said,
            "\n\n{} in that folder for another call, which starts with unread files; raise \
             max_files to read more at once.",
            match job.left {
                1 => "1 more file is".to_owned(),
                left => format!("{left} more files are"),
            }
        );
    }
    for note in &job.notes {
        let _ = write!(said, "\n\n{}", escape_markdown(note));
    }
    said
}

/// Notes about the contents of a folder that are not read.
fn skipped_notes(folder: &Path, found: &DirectoryListing) -> Vec<String> {
    let mut notes = Vec::new();
    for shut in found.unreadable.iter().take(MAX_UNREADABLE_FOLDERS) {
        let name = truncate_chars(&relative_path(folder, shut), 200);
        notes.push(format!(
            "The folder {name} cannot be read; check its permissions."
        ));
    }
    if let Some(more) = found
        .unreadable
        .len()
        .checked_sub(MAX_UNREADABLE_FOLDERS)
        .filter(|it| *it > 0)
    {
        notes.push(format!(
            "{} more cannot be read.",
            pluralize(more as u64, "folder")
        ));
    }
    if found.symlinks > 0 {
        notes.push(format!(
            "Skipped: {}. Links in folders are not followed; name the files directly.",
            pluralize(found.symlinks as u64, "link")
        ));
    }
    if found.unsupported > 0 {
        notes.push(format!(
            "Skipped: {} of unsupported types. Supported by file extension: PDF, DOCX, EPUB, HTML, \
             Markdown and plain text.",
            pluralize(found.unsupported as u64, "file")
        ));
    }
    notes
}

/// The path relative to a folder.
fn relative_path(folder: &Path, path: &Path) -> String {
    let below = path.strip_prefix(folder).unwrap_or(path);
    below.to_string_lossy().into_owned()
}
