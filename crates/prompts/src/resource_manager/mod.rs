//! Manages the library's files for a caller: creates, updates and deletes resources, and keeps
//! their versions.
//!
//! Everything here works on the disk and may block, so a request runs on a blocking thread, as one
//! uninterrupted unit. It holds the workspace lock while it writes, and relies on the files on
//! disk. This module knows nothing of chains, of models or of the store.

pub(crate) mod actions;
pub(crate) mod disk;
pub(crate) mod edit;
mod errors;
mod extra_fields;
mod request;

use std::{path::PathBuf, sync::Arc};

use deliberate_core::Timestamp;
use deliberate_toolkit::ToolError;
use serde_json::{Map, Value};

pub use request::{Input, ManageReply, ReplyFormat, ResourceAction, ResourceType};

use crate::{
    engine::Engine,
    library::{ProblemSeverity, PromptLibrary},
    model::{LibraryItemKind, LibraryLayer},
    options::LibraryPaths,
};
use disk::resource_path::ResourceFiles;

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

/// Handles a request. Once started it runs to its end, even if the caller stops waiting.
pub(crate) async fn handle_request(
    engine: Arc<Engine>,
    now: Timestamp,
    in_use: Option<String>,
    input: Input,
) -> Result<ManageReply, ToolError> {
    let work = tokio::spawn(async move {
        let live_library = Arc::clone(&engine.live_library);
        live_library.library().await;
        let context = ManageContext {
            engine,
            now,
            active_methodology: in_use,
        };
        let done = tokio::task::spawn_blocking(move || context.dispatch(input))
            .await
            .map_err(|error| {
                tracing::error!(%error, "managing the library panicked");
                ToolError::Internal
            })??;
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
        Ok(reply)
    });
    work.await.map_err(|error| {
        tracing::error!(%error, "managing the library was cancelled");
        ToolError::Internal
    })?
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
    fn dispatch(&self, mut input: Input) -> Result<ManageResult, ToolError> {
        let rest = std::mem::take(&mut input.rest);
        input.rest = extra_fields::check_fields(rest, input.resource_type, input.action)?;
        let Some(kind) = input.resource_type.kind() else {
            return self.handle_checkpoint(&input);
        };
        match input.action {
            ResourceAction::List => self.list(kind, &input),
            ResourceAction::Inspect => self.inspect(kind, &input),
            ResourceAction::Create => self.create(kind, &input),
            ResourceAction::Update => self.update(kind, &input),
            ResourceAction::Delete => self.delete(kind, &input),
            ResourceAction::Reload => Ok(self.reload(kind)),
            ResourceAction::History => self.list_versions(kind, &input),
            ResourceAction::Rollback => self.roll_back(kind, &input),
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
        }
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
