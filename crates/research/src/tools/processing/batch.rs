//! `batch_process_pdfs`: the files of a folder, one after the other. Each is kept before the next is
//! begun; one that can't be read is reported, and the rest go on.

use std::{fmt::Write as _, path::Path, sync::Arc};

use deliberate_core::{Change, cut_to_chars};
use deliberate_toolkit::{About, Annotations, Call, Outcome, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::{
    job_said::{said_of_job, so_far},
    shown::{about, count, plain},
};
use crate::{
    Lab,
    collect::{
        Library,
        files::{files_below, readable_file, readable_folder},
        ingest::Ingest,
        job::{Job, JobLine, Share},
        walk::Below,
    },
};

const NAME: &str = "batch_process_pdfs";

/// So many files of a folder are looked at.
const MOST_FILES: usize = 20_000;

/// So many files may take the places of those that came to nothing.
const MOST_SPARE: usize = 200;

/// So many folders that can't be looked into are named.
const MOST_SHUT: usize = 10;

/// `batch_process_pdfs`.
pub(crate) struct BatchProcessPdfs(pub(crate) Arc<Lab>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    #[schemars(length(min = 1, max = 4096))]
    directory_path: String,
    #[serde(default = "usual")]
    #[schemars(range(min = 1, max = 100))]
    max_files: usize,
    #[serde(default = "yes")]
    skip_existing: bool,
    /// How far it has come.
    #[serde(default, rename = "_leg")]
    #[schemars(skip)]
    leg: Option<Job>,
}

fn usual() -> usize {
    10
}

fn yes() -> bool {
    true
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    said: String,
    results: Vec<JobLine>,
    /// Files of the folder that were not read yet and are left for another call
    left: usize,
    /// What in the folder was passed over
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    #[serde(skip)]
    #[schemars(skip)]
    next: Option<Value>,
}

impl Tool for BatchProcessPdfs {
    type Input = Input;
    type Output = Output;

    fn about(&self) -> About {
        about(
            NAME,
            "Process a folder",
            "Read the files of a folder into the collection.",
            Annotations {
                idempotent: true,
                open_world: true,
                ..Annotations::ADDS
            },
        )
    }

    fn takes_long(&self) -> bool {
        true
    }

    fn goes_on(&self, output: &Output) -> Option<Value> {
        output.next.clone()
    }

    fn so_far(&self, output: &Output) -> Option<String> {
        Some(so_far(&output.results))
    }

    async fn run(&self, input: Input, call: &Call) -> Result<Outcome<Output>, ToolError> {
        let mut job = match input.leg {
            Some(job) => job,
            None => self.job(&input, call).await?,
        };
        let mut changes = Vec::new();
        if let Some((path, share)) = job.take() {
            let name = self.name(&input.directory_path, &path).await;
            share.tell(call, 0.0, &name);
            let skip = input.skip_existing;
            let came = self.process((&path, &name), skip, share, call).await;
            changes = job.note(name, came)?;
        }
        let next = job.next(json!({
            "directory_path": input.directory_path,
            "max_files": input.max_files,
            "skip_existing": input.skip_existing,
        }));
        let said = said(&job);
        Ok(Outcome {
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
    /// The files to read: those that were not read before come first, so that whoever calls again
    /// gets to all of them. Nobody remembers those that can't be read, nor copies, so others take
    /// their places.
    async fn job(&self, input: &Input, call: &Call) -> Result<Job, ToolError> {
        let folder = &input.directory_path;
        let folder = readable_folder(self.0.options(), "directory_path", folder).await?;
        let below = files_below(folder.clone(), MOST_FILES).await?;
        let notes = passed_over(&folder, &below);
        let files = below.files;
        let mut not_looked_at = files.len();
        let (mut new, mut read) = (Vec::new(), Vec::new());
        for path in files {
            let path = path.to_string_lossy().into_owned();
            if new.len() >= input.max_files + MOST_SPARE {
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
        Ok(Job {
            left: not_looked_at + spare.len(),
            spare,
            notes,
            ..Job::on(new)
        })
    }

    /// Whether the file was read before, and was of the same length.
    async fn is_read(&self, path: &str, call: &Call) -> Result<bool, ToolError> {
        let known = Library(call.store()).by_key("path", path).await?;
        let mut known = known.iter().flat_map(|it| it.kept.files());
        let Some(file) = known.find(|it| it.path == path) else {
            return Ok(false);
        };
        let now = tokio::fs::metadata(path).await;
        Ok(now.is_ok_and(|it| it.len() == file.bytes))
    }

    /// What a file is called: the way to it from the folder, for others may have the same name.
    async fn name(&self, folder: &str, path: &str) -> String {
        let folder = readable_folder(self.0.options(), "directory_path", folder).await;
        match folder {
            Ok(folder) => below(&folder, Path::new(path)),
            Err(_) => path.to_owned(),
        }
    }

    async fn process(
        &self,
        (path, name): (&str, &str),
        skip_existing: bool,
        share: Share,
        call: &Call,
    ) -> Result<(JobLine, Vec<Change>), ToolError> {
        let file = readable_file(self.0.options(), "directory_path", path).await?;
        let mut ingest = Ingest::paper(file, skip_existing);
        ingest.share = share;
        let ingested = ingest.run(&self.0, call).await?;
        let outcome = ingested.what.as_str();
        let line = JobLine::of(name, outcome, &ingested.kept, ingested.notes);
        Ok((line, ingested.changes))
    }
}

fn said(job: &Job) -> String {
    let mut said = match job.total() {
        0 => "There is no file in that folder that can be read.".to_owned(),
        _ => said_of_job(job),
    };
    if job.left > 0 {
        let _ = write!(
            said,
            "\n\n{} in that folder, left for another call: files that were not read yet come \
             first; max_files takes more at once.",
            match job.left {
                1 => "1 more file is".to_owned(),
                left => format!("{left} more files are"),
            }
        );
    }
    for note in &job.notes {
        let _ = write!(said, "\n\n{}", plain(note));
    }
    said
}

/// What to say of what is in a folder and is not read.
fn passed_over(folder: &Path, found: &Below) -> Vec<String> {
    let mut notes = Vec::new();
    for shut in found.shut.iter().take(MOST_SHUT) {
        let name = cut_to_chars(&below(folder, shut), 200);
        notes.push(format!(
            "The folder {name} can't be looked into: check its permissions."
        ));
    }
    if let Some(more) = found.shut.len().checked_sub(MOST_SHUT).filter(|it| *it > 0) {
        notes.push(format!("Nor can {} more.", count(more as u64, "folder")));
    }
    if found.links > 0 {
        notes.push(format!(
            "Left out: {}; links in folders are not followed, name the files themselves.",
            count(found.links as u64, "link")
        ));
    }
    if found.others > 0 {
        notes.push(format!(
            "Left out: {} of kinds that can't be read; PDF, DOCX, EPUB, HTML, Markdown and plain \
             text can, by the endings of their names.",
            count(found.others as u64, "file")
        ));
    }
    notes
}

/// The way from a folder to what is in it.
fn below(folder: &Path, path: &Path) -> String {
    let below = path.strip_prefix(folder).unwrap_or(path);
    below.to_string_lossy().into_owned()
}
