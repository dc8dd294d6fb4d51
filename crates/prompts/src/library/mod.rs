//! The library: what was read from the files, as one unchanging snapshot.
//!
//! A snapshot is cheap to make from another one, because it shares what did not change. Whoever
//! works with one sees the same library from beginning to end.

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

/// Everything there is, at one moment.
#[derive(Debug, Clone, Default)]
pub struct PromptLibrary {
    /// Prompts, by their whole id.
    pub prompts: BTreeMap<String, Arc<Prompt>>,
    /// Gates, by id.
    pub gates: BTreeMap<String, Arc<Gate>>,
    /// Methodologies, by id.
    pub methodologies: BTreeMap<String, Arc<Methodology>>,
    /// Styles, by id.
    pub styles: BTreeMap<String, Arc<ResponseStyle>>,
    /// Script tools: shared ones by id, those of a prompt by `prompt:id`.
    pub scripts: BTreeMap<String, Arc<ScriptTool>>,
    /// Categories, by id.
    pub categories: BTreeMap<String, Arc<PromptCategory>>,
    /// What the workspace says about when guidance is added.
    pub injection: Arc<InjectionConfig>,
    /// What could not be read, or is doubtful.
    pub problems: Vec<LibraryProblem>,
    /// Grows by one with each snapshot.
    pub generation: u64,
}

/// Something wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LibraryProblem {
    /// How bad it is.
    pub weight: ProblemSeverity,
    /// The file, relative to its root.
    pub file: String,
    /// The line, from 1, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column, from 1, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// What kind of thing it is about.
    pub kind: LibraryItemKind,
    /// Its id, as far as it is known.
    pub id: String,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Whether the last good version is still in use.
    pub last_good_kept: bool,
}

impl LibraryProblem {
    /// Where it is and what it is, in a line.
    pub fn summary(&self) -> String {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{}{line}: {}", self.file, self.message)
    }
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProblemSeverity {
    /// It works, but not as its author may think.
    Warning,
    /// It can't be used.
    Error,
}

impl PromptLibrary {
    /// The prompt that is meant: by id, else by id without regard to case and to `-` or `_`, else
    /// by its name for people.
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

    /// The gate that is meant, without regard to case and to `-` or `_`.
    pub fn gate(&self, name: &str) -> Option<&Arc<Gate>> {
        find_by_name(&self.gates, name)
    }

    /// The methodology that is meant, likewise; only one that is enabled.
    pub fn methodology(&self, name: &str) -> Option<&Arc<Methodology>> {
        find_by_name(&self.methodologies, name).filter(|it| it.enabled)
    }

    /// The style that is meant, likewise; only one that is enabled.
    pub fn style(&self, name: &str) -> Option<&Arc<ResponseStyle>> {
        find_by_name(&self.styles, name).filter(|it| it.enabled)
    }

    /// Whether there is such a thing.
    pub fn has(&self, kind: LibraryItemKind, id: &str) -> bool {
        match kind {
            LibraryItemKind::Prompt => self.prompts.contains_key(id),
            LibraryItemKind::Gate => self.gates.contains_key(id),
            LibraryItemKind::Methodology => self.methodologies.contains_key(id),
            LibraryItemKind::Style => self.styles.contains_key(id),
            LibraryItemKind::Script => self.scripts.contains_key(id),
        }
    }

    /// What keeps something from being used.
    pub fn blocking_problem(&self, kind: LibraryItemKind, name: &str) -> Option<&LibraryProblem> {
        let wanted = id_grammar::normalize_name(name);
        self.problems.iter().find(|it| {
            it.kind == kind
                && it.weight == ProblemSeverity::Error
                && id_grammar::normalize_name(&it.id) == wanted
        })
    }

    /// A script tool as a prompt sees it: its own first, then the shared ones.
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
