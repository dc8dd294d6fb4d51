//! The smallest part of a library that is read as one: a prompt with all below it, a gate, a
//! methodology, a style, a shared script, a category's description, the workspace's settings.
//!
//! Knows nothing of how parts are found or put together.

use std::{collections::BTreeSet, sync::Arc};

use super::{InjectionConfig, Problem, tree::Tree, yaml::Place};
use crate::model::{Category, Gate, Kind, Layer, Methodology, Prompt, ScriptTool, Style};

/// A folder of things of one kind.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    pub(crate) kind: RootKind,
    pub(crate) layer: Layer,
    pub(crate) tree: Tree,
    /// Its name for people; what stands in it is named below it.
    pub(crate) shown: String,
}

/// What stands in a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RootKind {
    /// Things of a kind.
    Things(Kind),
    /// The workspace itself: its settings.
    Settings,
}

impl Root {
    /// How people name a path of it.
    pub(crate) fn named(&self, path: &str) -> String {
        match (self.shown.as_str(), path) {
            ("", path) => path.to_owned(),
            (shown, "") => shown.to_owned(),
            (shown, path) => format!("{shown}/{path}"),
        }
    }
}

/// What was read from one part.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unit {
    pub(crate) items: Vec<Item>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) files: usize,
    /// The prompts whose templates can't be read.
    pub(crate) broken: BTreeSet<String>,
}

/// One thing.
#[derive(Debug, Clone)]
pub(crate) enum Item {
    Prompt(PromptItem),
    Gate(Arc<Gate>),
    Methodology(Arc<Methodology>, Vec<Mention>),
    Style(Arc<Style>),
    Script(Arc<ScriptTool>),
    Category(Arc<Category>),
    Injection(Arc<InjectionConfig>),
}

/// A prompt with what it mentions.
#[derive(Debug, Clone)]
pub(crate) struct PromptItem {
    pub(crate) prompt: Arc<Prompt>,
    /// Whether it is a file of its own rather than a folder.
    pub(crate) single: bool,
    pub(crate) mentions: Arc<[Mention]>,
}

/// Something that is named and must exist elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mention {
    pub(crate) what: Mentioned,
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) at: Option<Place>,
}

/// As what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mentioned {
    /// A prompt that is a step.
    Step,
    /// A prompt whose template is taken in.
    Reference,
    /// A gate by its id.
    Gate,
    /// A script tool.
    Tool,
    /// A text given to a tool, which is a template.
    GivenText,
    /// A name in a template that has to have a value.
    Value,
}
