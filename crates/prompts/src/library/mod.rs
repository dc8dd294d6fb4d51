//! The library: the items read from the files, as one immutable snapshot.
//!
//! A new snapshot is cheap because it shares all unchanged items. A task that uses one snapshot
//! sees the same library from beginning to end.

mod diff;
mod discover_parts;
mod file_tree;
mod id_grammar;
mod injection_config;
mod live;
mod merge_layers;
mod part;
mod part_cache;
mod read;
mod render_problem;
mod roots;
mod validate;
mod watcher;
mod yaml;

pub use diff::{ChangeTrigger, LibraryDiff};
pub use id_grammar::{is_id, is_segment};
pub use injection_config::{ChainInjection, InjectionConfig, StepInjection};
pub use live::LiveLibrary;
pub use validate::{LibraryFinding, TemplateProblem, check_workspace};

use std::{collections::BTreeMap, sync::Arc};
pub(crate) use yaml::parser_options as yaml_options;

pub(crate) use yaml::reword_error;

pub(crate) use file_tree::SHIPPED_LIBRARY;
pub(crate) use id_grammar::is_same_name;
use id_grammar::normalize_name;
use serde::Serialize;
pub(crate) use validate::templates::{name_help, undeclared_names};
pub(crate) use watcher::WATCHER_PROBLEM_FILE as WATCHING;

use crate::model::{
    Gate, LibraryItemKind, Methodology, Prompt, PromptCategory, ResponseStyle, ScriptTool,
};

/// A snapshot of all items of the library.
#[derive(Debug, Clone, Default)]
pub struct PromptLibrary {
    /// Prompts, by full id.
    pub prompts: BTreeMap<String, Arc<Prompt>>,
    pub gates: BTreeMap<String, Arc<Gate>>,
    pub methodologies: BTreeMap<String, Arc<Methodology>>,
    pub styles: BTreeMap<String, Arc<ResponseStyle>>,
    /// Script tools: shared ones by id, those of a prompt by `prompt:id`.
    pub scripts: BTreeMap<String, Arc<ScriptTool>>,
    pub categories: BTreeMap<String, Arc<PromptCategory>>,
    /// The injection rules of the workspace.
    pub injection: Arc<InjectionConfig>,
    /// Errors and warnings about the files.
    pub problems: Vec<LibraryProblem>,
    /// A number that increases by one with each snapshot.
    pub generation: u64,
}

/// An error or warning about a file of the library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LibraryProblem {
    pub weight: ProblemSeverity,
    /// The file, relative to its root.
    pub file: String,
    /// The line, from 1, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column, from 1, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The kind of the affected item.
    pub kind: LibraryItemKind,
    /// The id of the affected item; empty if it is not known.
    pub id: String,
    /// The problem in one sentence.
    pub message: String,
    /// The suggested fix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Whether the last good version is still in use.
    pub last_good_kept: bool,
}

impl LibraryProblem {
    /// Returns the location and the message in one line.
    pub fn summary(&self) -> String {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}{line}: {}", self.file, self.message)
    }
}

/// The severity of a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProblemSeverity {
    /// The item works, but perhaps not as its author intended.
    Warning,
    /// The item cannot be used.
    Error,
}

impl PromptLibrary {
    /// Finds a prompt: by id, else by id ignoring case and the difference of `-` and `_`, else by
    /// its display name.
    pub fn prompt(&self, name: &str) -> Option<&Arc<Prompt>> {
        self.prompts.get(name).or_else(|| {
            let wanted = normalize_name(name);
            self.prompts
                .values()
                .find(|prompt| normalize_name(&prompt.id) == wanted)
                .or_else(|| {
                    self.prompts
                        .values()
                        .find(|prompt| normalize_name(&prompt.name) == wanted)
                })
        })
    }

    /// Finds a gate, ignoring case and the difference of `-` and `_`.
    pub fn gate(&self, name: &str) -> Option<&Arc<Gate>> {
        find_by_name(&self.gates, name)
    }

    /// Finds an enabled methodology, ignoring case and the difference of `-` and `_`.
    pub fn methodology(&self, name: &str) -> Option<&Arc<Methodology>> {
        find_by_name(&self.methodologies, name).filter(|it| it.enabled)
    }

    /// Finds an enabled style, ignoring case and the difference of `-` and `_`.
    pub fn style(&self, name: &str) -> Option<&Arc<ResponseStyle>> {
        find_by_name(&self.styles, name).filter(|it| it.enabled)
    }

    /// Returns whether an item exists.
    pub fn has(&self, kind: LibraryItemKind, id: &str) -> bool {
        match kind {
            LibraryItemKind::Prompt => self.prompts.contains_key(id),
            LibraryItemKind::Gate => self.gates.contains_key(id),
            LibraryItemKind::Methodology => self.methodologies.contains_key(id),
            LibraryItemKind::Style => self.styles.contains_key(id),
            LibraryItemKind::Script => self.scripts.contains_key(id),
        }
    }

    /// Returns the problem that prevents an item from being used.
    pub fn blocking_problem(&self, kind: LibraryItemKind, name: &str) -> Option<&LibraryProblem> {
        let wanted = id_grammar::normalize_name(name);
        self.problems.iter().find(|it| {
            it.kind == kind
                && it.weight == ProblemSeverity::Error
                && id_grammar::normalize_name(&it.id) == wanted
        })
    }

    /// Finds a script tool for a prompt: its own tools first, then the shared ones.
    pub fn script(&self, prompt: &str, id: &str) -> Option<&Arc<ScriptTool>> {
        self.scripts
            .get(&format!("{prompt}:{id}"))
            .or_else(|| self.scripts.get(id))
    }
}

fn find_by_name<'a, T>(all: &'a BTreeMap<String, Arc<T>>, name: &str) -> Option<&'a Arc<T>> {
    all.get(name).or_else(|| {
        let wanted = normalize_name(name);
        all.iter()
            .find(|(id, _)| normalize_name(id) == wanted)
            .map(|(_, it)| it)
    })
}
