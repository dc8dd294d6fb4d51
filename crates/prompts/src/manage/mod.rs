//! Changes the library's files for a caller: makes, changes, removes, keeps versions of what was.
//!
//! Everything here works on the disk and may block, so it runs away from the runtime, as one piece
//! that is not interrupted. It holds the workspace's lock while it writes, and goes by what is on
//! the disk. It knows nothing of chains, of models and of the store.

mod analyze;
mod change;
mod checkpoint;
mod delete;
mod difference;
mod document;
mod draft;
mod failure;
mod fields;
mod files;
mod history;
mod inspect;
mod list;
mod listed;
mod lock;
mod place;
mod request;
mod scripts;
mod shape;
mod shipped;
mod stage;
mod steps;
mod users;
mod versions;

use std::{path::PathBuf, sync::Arc};

use deliberate_core::Timestamp;
use deliberate_toolkit::ToolError;
use serde_json::{Map, Value};

pub use request::{Action, Format, Input, ResourceType, Told};

use crate::{
    engine::Engine,
    library::{Library, Weight},
    model::{Kind, Layer},
    options::Places,
};
use place::Thing;

/// Where one call is worked on.
pub(crate) struct Desk {
    engine: Arc<Engine>,
    now: Timestamp,
    /// The methodology in use.
    in_use: Option<String>,
}

/// What a piece of work came to.
struct Done {
    told: Told,
    notes: Vec<String>,
    /// The files that are to be read again.
    touched: Vec<PathBuf>,
    /// Whether everything is.
    whole: bool,
}

impl Done {
    /// Nothing was written.
    fn said(told: Told, notes: Vec<String>) -> Self {
        Self {
            told,
            notes,
            touched: Vec::new(),
            whole: false,
        }
    }

    /// These files were written or removed.
    fn wrote(told: Told, notes: Vec<String>, touched: Vec<PathBuf>) -> Self {
        Self {
            told,
            notes,
            touched,
            whole: false,
        }
    }

    /// Anything may be different.
    fn whole(told: Told) -> Self {
        Self {
            told,
            notes: Vec::new(),
            touched: Vec::new(),
            whole: true,
        }
    }
}

/// Does what a call asks. Once begun it comes to its end, whoever stops waiting for it.
pub(crate) async fn answer(
    engine: Arc<Engine>,
    now: Timestamp,
    in_use: Option<String>,
    input: Input,
) -> Result<Told, ToolError> {
    let work = tokio::spawn(async move {
        let shelf = Arc::clone(&engine.shelf);
        shelf.library().await;
        let desk = Desk {
            engine,
            now,
            in_use,
        };
        let done = tokio::task::spawn_blocking(move || desk.work(input))
            .await
            .map_err(|error| {
                tracing::error!(%error, "managing the library panicked");
                ToolError::Internal
            })??;
        if done.whole {
            shelf.reload_all().await;
        } else if !done.touched.is_empty() {
            shelf.refresh(done.touched).await;
        }
        let mut told = done.told;
        if !done.notes.is_empty() {
            told = told.and(&done.notes.join("\n")).with("notes", done.notes);
        }
        Ok(told)
    });
    work.await.map_err(|error| {
        tracing::error!(%error, "managing the library was stopped");
        ToolError::Internal
    })?
}

/// The fields of a call that are not declared, each known.
pub(crate) fn checked_fields(input: &Input) -> Result<Map<String, Value>, ToolError> {
    fields::checked(input.rest.clone(), input.resource_type, input.action)
}

/// What is said when there is no such methodology, or when it is off.
pub(crate) fn no_such_methodology(library: &Library, id: &str) -> ToolError {
    let known = library.methodologies.values().filter(|it| it.enabled);
    failure::unknown("methodology", id, known.map(|it| it.id.as_str()))
}

/// What is said after a switch.
pub(crate) fn switched(id: &str, name: &str) -> Told {
    Told::new(format!("{name} is in use now.")).with("active", id)
}

impl Desk {
    fn work(&self, mut input: Input) -> Result<Done, ToolError> {
        let rest = std::mem::take(&mut input.rest);
        input.rest = fields::checked(rest, input.resource_type, input.action)?;
        let Some(kind) = input.resource_type.kind() else {
            return self.checkpoint(&input);
        };
        match input.action {
            Action::List => self.list(kind, &input),
            Action::Inspect => self.inspect(kind, &input),
            Action::Create => self.create(kind, &input),
            Action::Update => self.update(kind, &input),
            Action::Delete => self.delete(kind, &input),
            Action::Reload => Ok(self.reload(kind)),
            Action::History => self.versions(kind, &input),
            Action::Rollback => self.roll_back(kind, &input),
            Action::Compare => self.compare(kind, &input),
            Action::AnalyzeType => self.analyze_type(kind, &input),
            Action::AnalyzeGates => self.analyze_gates(kind, &input),
            Action::Guide => Ok(Self::guide()),
            Action::Switch | Action::Clear => Err(failure::refused(
                format!(
                    "{} can't be done to a {}.",
                    input.action.as_str(),
                    kind.as_str()
                ),
                "switch is for a methodology, clear for checkpoints.",
            )),
        }
    }

    /// Reads everything again and says what is wrong.
    fn reload(&self, kind: Kind) -> Done {
        let library = self.engine.shelf.reload();
        let problems: Vec<String> = library
            .problems
            .iter()
            .filter(|problem| problem.kind == kind)
            .map(inspect::in_a_line)
            .collect();
        let errors = library
            .problems
            .iter()
            .filter(|problem| problem.kind == kind && problem.weight == Weight::Error)
            .count();
        let said = format!(
            "Read again: {} of kind {}, {errors} errors, {} warnings.",
            place::ids(&library, kind).len(),
            kind.as_str(),
            problems.len() - errors
        );
        let shown: Vec<String> = problems.into_iter().take(20).collect();
        let told = Told::new(said)
            .and(&shown.join("\n"))
            .with("errors", errors)
            .with("problems", shown);
        // Folders may have come that nobody watches yet.
        Done::wrote(told, Vec::new(), vec![self.places().workspace.clone()])
    }

    fn places(&self) -> &Places {
        &self.engine.options.places
    }

    fn versions_kept(&self) -> usize {
        self.engine.options.limits.versions_kept
    }

    /// The library after another look at one thing, because others may have changed it.
    fn current(&self, kind: Kind, id: &str) -> Result<Arc<Library>, ToolError> {
        let shelf = &self.engine.shelf;
        let mut paths = Vec::new();
        if let Some(thing) = self.in_workspace(kind, id)? {
            paths.push(self.folder_of(&thing)?.join(&thing.main));
        }
        if let Some((_, origin)) = shelf
            .now()
            .and_then(|library| place::spelled(&library, kind, id))
            && origin.layer == Layer::Workspace
        {
            paths.push(self.places().workspace.join(origin.file));
        }
        if paths.is_empty() {
            return Ok(shelf.now().unwrap_or_default());
        }
        Ok(shelf.touch(&paths))
    }

    /// The folder in which a thing of the workspace stands.
    fn folder_of(&self, thing: &Thing) -> Result<PathBuf, ToolError> {
        let root = self.made_root(thing.kind)?;
        Ok(thing.way.iter().fold(root, |here, part| here.join(part)))
    }
}
