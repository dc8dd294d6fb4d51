//! Manages the library's files for a caller: creates, updates and deletes resources, and keeps
//! their versions.
//!
//! A request has two phases. The first one reads, compiles and validates, which takes as long as the
//! caller's input and the library decide: it counts for its principal and is abandoned with its call.
//! The second one writes, and runs to its end. The workspace lock is held from the first read to the
//! last write, and everything relies on the files on disk. This module knows nothing of chains, of
//! models or of the store.

pub(crate) mod actions;
pub(crate) mod disk;
pub(crate) mod edit;
mod errors;
mod extra_fields;
mod request;

use std::{path::PathBuf, sync::Arc};

use deliberate_core::Timestamp;
use deliberate_toolkit::{ToolError, compute};
use serde_json::{Map, Value};

pub use request::{Input, ManageReply, ReplyFormat, ResourceAction, ResourceType};

use crate::{
    engine::Engine,
    library::{LiveLibrary, ProblemSeverity, PromptLibrary},
    model::{LibraryItemKind, LibraryLayer},
    options::LibraryPaths,
};
use disk::{lock::WorkspaceLockGuard, resource_path::ResourceFiles};

/// The context of one request.
pub(crate) struct ManageContext {
    engine: Arc<Engine>,
    now: Timestamp,
    /// The active methodology.
    active_methodology: Option<String>,
}

/// The result of an action.
pub(crate) struct ManageResult {
    reply: ManageReply,
    notes: Vec<String>,
    /// The files that the library must read again.
    changed_paths: Vec<PathBuf>,
    /// Whether the whole library must be read again.
    full_reload: bool,
}

impl ManageResult {
    /// Returns a result that wrote nothing.
    fn without_changes(reply: ManageReply, notes: Vec<String>) -> Self {
        Self {
            reply,
            notes,
            changed_paths: Vec::new(),
            full_reload: false,
        }
    }

    /// Returns a result that wrote or removed these files.
    fn with_changed_paths(
        reply: ManageReply,
        notes: Vec<String>,
        changed_paths: Vec<PathBuf>,
    ) -> Self {
        Self {
            reply,
            notes,
            changed_paths,
            full_reload: false,
        }
    }

    /// Returns a result after which anything may have changed.
    fn with_full_reload(reply: ManageReply) -> Self {
        Self {
            reply,
            notes: Vec::new(),
            changed_paths: Vec::new(),
            full_reload: true,
        }
    }
}

/// A request after its first phase, in which nothing was written.
pub(crate) enum PreparedRequest {
    /// There is nothing to write.
    Done(ManageResult),
    /// The files are valid and are still to be written.
    Write(PendingWrite),
}

/// Writes the files of a request.
type PendingWrite = Box<dyn FnOnce(&ManageContext) -> Result<ManageResult, ToolError> + Send>;

impl PreparedRequest {
    /// Returns a request that still has to write, under the lock that its validation held.
    fn write(
        lock: WorkspaceLockGuard,
        write: impl FnOnce(&ManageContext) -> Result<ManageResult, ToolError> + Send + 'static,
    ) -> Self {
        Self::Write(Box::new(move |context| {
            let _held = lock;
            write(context)
        }))
    }
}

impl From<ManageResult> for PreparedRequest {
    fn from(result: ManageResult) -> Self {
        Self::Done(result)
    }
}

/// Handles a request. A caller that stops waiting ends its validation; a write that was started runs
/// to its end.
pub(crate) async fn handle_request(
    engine: Arc<Engine>,
    now: Timestamp,
    in_use: Option<String>,
    input: Input,
) -> Result<ManageReply, ToolError> {
    let live_library = Arc::clone(&engine.live_library);
    live_library.library().await;
    let context = ManageContext {
        engine,
        now,
        active_methodology: in_use,
    };
    let prepare = move || {
        let prepared = context.dispatch(input);
        (context, prepared)
    };
    let (context, prepared) = compute(prepare).await?;
    match prepared? {
        PreparedRequest::Done(done) => Ok(publish(&live_library, done).await),
        PreparedRequest::Write(write) => {
            let work = tokio::spawn(async move {
                let written = tokio::task::spawn_blocking(move || write(&context)).await;
                let done = written.map_err(|error| {
                    tracing::error!(%error, "managing the library panicked");
                    ToolError::Internal
                })??;
                Ok(publish(&live_library, done).await)
            });
            work.await.map_err(|error| {
                tracing::error!(%error, "managing the library was cancelled");
                ToolError::Internal
            })?
        }
    }
}

/// Has the library read what was changed, and returns the reply.
async fn publish(live_library: &Arc<LiveLibrary>, done: ManageResult) -> ManageReply {
    if done.full_reload {
        live_library.reload_all().await;
    } else if !done.changed_paths.is_empty() {
        live_library.refresh(done.changed_paths).await;
    }
    let mut reply = done.reply;
    if !done.notes.is_empty() {
        reply = reply
            .with_text(&done.notes.join("\n"))
            .with_fact("notes", done.notes);
    }
    reply
}

/// Validates the undeclared fields of a request.
pub(crate) fn check_fields(input: &Input) -> Result<Map<String, Value>, ToolError> {
    extra_fields::check_fields(input.rest.clone(), input.resource_type, input.action)
}

/// Builds the error of a methodology that does not exist or is disabled.
pub(crate) fn unknown_methodology(library: &PromptLibrary, id: &str) -> ToolError {
    let known = library.methodologies.values().filter(|it| it.enabled);
    errors::unknown_name("methodology", id, known.map(|it| it.id.as_str()))
}

/// Builds the reply of a switch.
pub(crate) fn switch_reply(id: &str, name: &str) -> ManageReply {
    ManageReply::new(format!("{name} is now the active methodology.")).with_fact("active", id)
}

impl ManageContext {
    /// Reads and validates, and returns what is left to be written.
    fn dispatch(&self, mut input: Input) -> Result<PreparedRequest, ToolError> {
        let rest = std::mem::take(&mut input.rest);
        input.rest = extra_fields::check_fields(rest, input.resource_type, input.action)?;
        let Some(kind) = input.resource_type.kind() else {
            return self.handle_checkpoint(&input);
        };
        let answer = match input.action {
            ResourceAction::Create => return self.create(kind, &input),
            ResourceAction::Update => return self.update(kind, &input),
            ResourceAction::Delete => return self.delete(kind, &input),
            ResourceAction::Rollback => return self.roll_back(kind, &input),
            ResourceAction::List => self.list(kind, &input),
            ResourceAction::Inspect => self.inspect(kind, &input),
            ResourceAction::Reload => Ok(self.reload(kind)),
            ResourceAction::History => self.list_versions(kind, &input),
            ResourceAction::Compare => self.compare(kind, &input),
            ResourceAction::AnalyzeType => self.analyze_type(kind, &input),
            ResourceAction::AnalyzeGates => self.analyze_gates(kind, &input),
            ResourceAction::Guide => Ok(Self::guide()),
            ResourceAction::Switch | ResourceAction::Clear => Err(errors::invalid_input(
                format!(
                    "{} is not possible for a {}.",
                    input.action.as_str(),
                    kind.as_str()
                ),
                "switch is for a methodology, clear for checkpoints.",
            )),
        };
        answer.map(PreparedRequest::Done)
    }

    /// Reads the whole library again and reports its problems.
    fn reload(&self, kind: LibraryItemKind) -> ManageResult {
        let library = self.engine.live_library.reload();
        let problems: Vec<String> = library
            .problems
            .iter()
            .filter(|problem| problem.kind == kind)
            .map(actions::inspect::problem_line)
            .collect();
        let errors = library
            .problems
            .iter()
            .filter(|problem| problem.kind == kind && problem.weight == ProblemSeverity::Error)
            .count();
        let text = format!(
            "Reloaded: {} of kind {}, {errors} errors, {} warnings.",
            disk::resource_path::resource_ids(&library, kind).len(),
            kind.as_str(),
            problems.len() - errors
        );
        let shown: Vec<String> = problems.into_iter().take(20).collect();
        let reply = ManageReply::new(text)
            .with_text(&shown.join("\n"))
            .with_fact("errors", errors)
            .with_fact("problems", shown);
        // There may be new folders that are not watched yet.
        ManageResult::with_changed_paths(
            reply,
            Vec::new(),
            vec![self.library_paths().workspace.clone()],
        )
    }

    fn library_paths(&self) -> &LibraryPaths {
        &self.engine.options.paths
    }

    fn max_versions(&self) -> usize {
        self.engine.options.limits.max_versions
    }

    /// Reads one resource again, because another process may have changed it, and returns the
    /// library.
    fn refresh_library(
        &self,
        kind: LibraryItemKind,
        id: &str,
    ) -> Result<Arc<PromptLibrary>, ToolError> {
        let live_library = &self.engine.live_library;
        let mut paths = Vec::new();
        if let Some(files) = self.find_in_workspace(kind, id)? {
            paths.push(self.resource_folder(&files)?.join(&files.main_file));
        }
        if let Some((_, origin)) = live_library
            .current()
            .and_then(|library| disk::resource_path::find_origin(&library, kind, id))
            && origin.layer == LibraryLayer::Workspace
        {
            paths.push(self.library_paths().workspace.join(origin.file));
        }
        if paths.is_empty() {
            return Ok(live_library.current().unwrap_or_default());
        }
        Ok(live_library.reload_paths(&paths))
    }

    /// Returns the folder of a workspace resource.
    fn resource_folder(&self, files: &ResourceFiles) -> Result<PathBuf, ToolError> {
        let root = self.ensure_kind_root(files.kind)?;
        Ok(files
            .folder_path
            .iter()
            .fold(root, |here, part| here.join(part)))
    }
}
