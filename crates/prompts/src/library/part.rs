//! The smallest part of a library that is read as one: a prompt with all below it, a gate, a
//! methodology, a style, a shared script, a category's description, the workspace's settings.
//!
//! Knows nothing of how parts are found or put together.

use std::{collections::BTreeSet, sync::Arc};

use super::{InjectionConfig, LibraryProblem, file_tree::FileTree, yaml::SourcePosition};
use crate::model::{
    Gate, LibraryItemKind, LibraryLayer, Methodology, Prompt, PromptCategory, ResponseStyle,
    ScriptTool,
};

/// A folder of things of one kind.
#[derive(Debug, Clone)]
pub(crate) struct LibraryRoot {
    pub(crate) kind: LibraryRootKind,
    pub(crate) layer: LibraryLayer,
    pub(crate) tree: FileTree,
    /// Its name for people; what stands in it is named below it.
    pub(crate) display_name: String,
}

/// What stands in a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LibraryRootKind {
    /// Things of a kind.
    Items(LibraryItemKind),
    /// The workspace itself: its settings.
    Settings,
}

impl LibraryRoot {
    /// How people name a path of it.
    pub(crate) fn display_path(&self, path: &str) -> String {
        match (self.display_name.as_str(), path) {
            ("", path) => path.to_owned(),
            (shown, "") => shown.to_owned(),
            (shown, path) => format!("{shown}/{path}"),
        }
    }
}

/// What was read from one part.
#[derive(Debug, Clone, Default)]
pub(crate) struct LibraryPart {
    pub(crate) items: Vec<LibraryItem>,
    pub(crate) problems: Vec<LibraryProblem>,
    pub(crate) files: usize,
    /// The prompts whose templates can't be read.
    pub(crate) broken_templates: BTreeSet<String>,
}

/// One thing.
#[derive(Debug, Clone)]
pub(crate) enum LibraryItem {
    Prompt(PromptItem),
    Gate(Arc<Gate>),
    Methodology(Arc<Methodology>, Vec<NameReference>),
    Style(Arc<ResponseStyle>),
    Script(Arc<ScriptTool>),
    Category(Arc<PromptCategory>),
    Injection(Arc<InjectionConfig>),
}

/// A prompt with what it mentions.
#[derive(Debug, Clone)]
pub(crate) struct PromptItem {
    pub(crate) prompt: Arc<Prompt>,
    /// Whether it is a file of its own rather than a folder.
    pub(crate) is_single_file: bool,
    pub(crate) references: Arc<[NameReference]>,
}

/// Something that is named and must exist elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameReference {
    pub(crate) kind: NameReferenceKind,
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) position: Option<SourcePosition>,
}

/// As what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameReferenceKind {
    /// A prompt that is a step.
    Step,
    /// A prompt whose template is taken in.
    Include,
    /// A gate by its id.
    Gate,
    /// A script tool.
    Tool,
    /// A text given to a tool, which is a template.
    ArgumentText,
    /// A name in a template that has to have a value.
    TemplateName,
}
