//! Parts: the smallest units of a library that are read as one. A part is a prompt with everything
//! below it, a gate, a methodology, a style, a shared script, a category's description, or the
//! settings of the workspace.
//!
//! Knows nothing of how parts are found or merged.

use std::{collections::BTreeSet, sync::Arc};

use super::{InjectionConfig, LibraryProblem, file_tree::FileTree, yaml::SourcePosition};
use crate::model::{
    Gate, LibraryItemKind, LibraryLayer, Methodology, Prompt, PromptCategory, ResponseStyle,
    ScriptTool,
};

/// A folder that contains items of one kind.
#[derive(Debug, Clone)]
pub(crate) struct LibraryRoot {
    pub(crate) kind: LibraryRootKind,
    pub(crate) layer: LibraryLayer,
    pub(crate) tree: FileTree,
    /// The displayed name, which is the prefix of displayed paths.
    pub(crate) display_name: String,
}

/// The content of a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LibraryRootKind {
    /// Items of a kind.
    Items(LibraryItemKind),
    /// The settings of the workspace, in its top folder.
    Settings,
}

impl LibraryRoot {
    /// Returns the displayed form of a path of the root.
    pub(crate) fn display_path(&self, path: &str) -> String {
        match (self.display_name.as_str(), path) {
            ("", path) => path.to_owned(),
            (text, "") => text.to_owned(),
            (text, path) => format!("{text}/{path}"),
        }
    }
}

/// The items and problems read from one part.
#[derive(Debug, Clone, Default)]
pub(crate) struct LibraryPart {
    pub(crate) items: Vec<LibraryItem>,
    pub(crate) problems: Vec<LibraryProblem>,
    pub(crate) files: usize,
    /// The prompts with invalid templates.
    pub(crate) broken_templates: BTreeSet<String>,
}

/// An item of the library.
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

/// A prompt with the names it refers to.
#[derive(Debug, Clone)]
pub(crate) struct PromptItem {
    pub(crate) prompt: Arc<Prompt>,
    /// Whether the prompt is a single file and not a folder.
    pub(crate) is_single_file: bool,
    pub(crate) references: Arc<[NameReference]>,
}

/// A reference to an item that must exist elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameReference {
    pub(crate) kind: NameReferenceKind,
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) position: Option<SourcePosition>,
}

/// The kind of a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameReferenceKind {
    /// A prompt that is a step.
    Step,
    /// A prompt whose template is included.
    Include,
    /// A gate, by id.
    Gate,
    Tool,
    /// A text argument of a tool, which is a template.
    ArgumentText,
    /// A name in a template that needs a value.
    TemplateName,
}
