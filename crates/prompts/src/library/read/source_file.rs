//! One source file while it is read: its tree, its problems, and the files that belong to it.
//!
//! Every format is read through this type, so that each problem has a location and no file outside
//! the item's own folder is opened.

use std::fmt::Write as _;

use regex::RegexBuilder;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::{
    library::{
        LibraryProblem, ProblemSeverity,
        file_tree::{LibraryReadError, is_inside_path},
        id_grammar,
        part::LibraryRoot,
        validate::message_text::with_period,
        yaml::{self, SourcePosition, YamlNode, YamlValue, deserializer},
    },
    model::{ItemOrigin, LibraryItemKind},
    options::EngineLimits,
};

/// The maximum size of a compiled pattern in bytes.
const MAX_PATTERN_BYTES: usize = 2 * 1024 * 1024;

/// The maximum number of patterns of one item.
const MAX_PATTERNS: usize = 500;

/// The root and limits that every reader needs.
#[derive(Clone, Copy)]
pub(crate) struct ReadContext<'a> {
    pub(crate) root: &'a LibraryRoot,
    pub(crate) limits: &'a EngineLimits,
}

/// One source file while it is read.
pub(crate) struct LibrarySourceFile<'a> {
    pub(crate) context: ReadContext<'a>,
    pub(crate) kind: LibraryItemKind,
    pub(crate) id: String,
    /// The folder of the item in the tree; nothing outside it belongs to the item.
    pub(crate) folder: String,
    /// The main file, in that folder.
    pub(crate) file: String,
    pub(crate) source: String,
    pub(crate) node: YamlNode,
    pub(crate) problems: Vec<LibraryProblem>,
    pub(crate) files: usize,
    patterns: usize,
    hash: Sha256,
}

impl<'a> LibrarySourceFile<'a> {
    /// Creates a source file for a path that is not opened.
    pub(crate) fn unopened(context: ReadContext<'a>, kind: LibraryItemKind, place: &str) -> Self {
        Self {
            context,
            kind,
            id: place.to_owned(),
            folder: String::new(),
            file: place.to_owned(),
            source: String::new(),
            node: YamlNode {
                position: SourcePosition::default(),
                value: YamlValue::Null,
            },
            problems: Vec::new(),
            files: 1,
            patterns: 0,
            hash: Sha256::new(),
        }
    }

    /// Opens a file without parsing it as YAML.
    pub(crate) fn open_plain(
        context: ReadContext<'a>,
        kind: LibraryItemKind,
        id: &str,
        folder: &str,
        file: &str,
    ) -> Self {
        let mut source_file = Self {
            id: id.to_owned(),
            folder: folder.to_owned(),
            ..Self::unopened(context, kind, file)
        };
        match context
            .root
            .tree
            .read(folder, file, context.limits.file_bytes)
        {
            Ok(source) => {
                source_file.add_to_hash(file, &source);
                source_file.source = source;
            }
            Err(fault) => source_file.error(
                None,
                format!("`{file}` was not read: {fault}."),
                Some(read_error_help(&fault)),
            ),
        }
        source_file
    }

    /// Opens a YAML file. Invalid YAML is reported as a problem.
    pub(crate) fn open(
        context: ReadContext<'a>,
        kind: LibraryItemKind,
        id: &str,
        folder: &str,
        file: &str,
    ) -> Self {
        let mut source_file = Self::open_plain(context, kind, id, folder, file);
        if source_file.is_usable() {
            let source = std::mem::take(&mut source_file.source);
            if let Some(node) = source_file.parse(file, &source) {
                source_file.node = node;
            }
            source_file.source = source;
            if source_file.is_usable() && !matches!(source_file.node.value, YamlValue::Map(_)) {
                source_file.error(
                    None,
                    "The file is not a mapping of fields to values.".to_owned(),
                    Some("Start with `id:`, `name:` and `description:`.".to_owned()),
                );
            }
        }
        source_file
    }

    /// Parses YAML of this file or of a file next to it.
    pub(crate) fn parse(&mut self, file: &str, source: &str) -> Option<YamlNode> {
        match yaml::parse(source) {
            Ok(node) => Some(node),
            Err(broken) => {
                let text = self.display_path(file);
                self.add_problem(
                    ProblemSeverity::Error,
                    text,
                    broken.position,
                    format!("The YAML is invalid: {}", with_period(&broken.message)),
                    Some("Check the indentation, quotes and colons here.".to_owned()),
                );
                None
            }
        }
    }

    /// Deserializes the whole tree, with a warning for each unknown field.
    pub(crate) fn deserialize<T: DeserializeOwned>(&mut self) -> Option<T> {
        let node = std::mem::replace(
            &mut self.node,
            YamlNode {
                position: SourcePosition::default(),
                value: YamlValue::Null,
            },
        );
        let file = self.file.clone();
        let value = self.deserialize_node(&file, &node);
        self.node = node;
        value
    }

    /// Deserializes a node of this file or of a file next to it.
    pub(crate) fn deserialize_node<T: DeserializeOwned>(
        &mut self,
        file: &str,
        node: &YamlNode,
    ) -> Option<T> {
        let (value, unknown) = deserializer::deserialize(node);
        let text = self.display_path(file);
        for name in unknown {
            self.warn_unknown_key(&text, &name.name, name.position, name.known_keys);
        }
        match value {
            Ok(value) => Some(value),
            Err(misfit) => {
                self.add_problem(
                    ProblemSeverity::Error,
                    text,
                    misfit.position,
                    format!("The value is invalid: {}", with_period(&misfit.message)),
                    None,
                );
                None
            }
        }
    }

    /// Warns about an unknown field.
    pub(crate) fn warn_unknown_key(
        &mut self,
        file: &str,
        name: &str,
        at: SourcePosition,
        known: &[&str],
    ) {
        let help = deliberate_core::did_you_mean(name, known.iter().copied()).map_or_else(
            || "Remove it, or turn it into a comment.".to_owned(),
            |near| format!("Did you mean `{near}`?"),
        );
        self.add_problem(
            ProblemSeverity::Warning,
            file.to_owned(),
            Some(at),
            format!("The field `{name}` is unknown and is ignored."),
            Some(help),
        );
    }

    /// Reads the text of a file in the item's folder that a field names.
    pub(crate) fn read_sibling(&mut self, name: &str) -> Result<String, LibraryReadError> {
        let text =
            self.context
                .root
                .tree
                .read(&self.folder, name, self.context.limits.file_bytes)?;
        self.files += 1;
        self.add_to_hash(name, &text);
        Ok(text)
    }

    /// Reads a file that a field names; an error is reported at the field. A missing file has the
    /// given severity; a file that must not be read is always an error.
    pub(crate) fn read_sibling_or_report(
        &mut self,
        name: &str,
        field: &str,
        missing: ProblemSeverity,
    ) -> Option<String> {
        self.read_sibling(name)
            .map_err(|fault| {
                let at = self.node.get(field).map(|node| node.position);
                let weight = match fault {
                    LibraryReadError::Missing => missing,
                    _ => ProblemSeverity::Error,
                };
                let text = self.display_path(&self.file);
                self.add_problem(
                    weight,
                    text,
                    at,
                    format!("`{name}`, named by `{field}`, was not read: {fault}."),
                    Some(read_error_help(&fault)),
                );
            })
            .ok()
    }

    /// Checks that the declared id matches the name of the folder or file, and returns the id as
    /// written.
    pub(crate) fn check_id(&mut self, said: &str, expected: &str) -> Option<String> {
        let at = self.node.get("id").map(|node| node.position);
        let last = said.rsplit('/').next().unwrap_or(said);
        if !id_grammar::is_id(said) {
            let message = format!("The id `{}` is not valid.", truncate(said));
            self.error(at, message, Some(ID_GRAMMAR.to_owned()));
            return None;
        }
        if !last.eq_ignore_ascii_case(expected) {
            let message =
                format!("The id is `{said}`, but the file or folder is named `{expected}`.");
            let help = format!("Write `id: {expected}`, or rename the file or folder to `{last}`.");
            self.error(at, message, Some(help));
            return None;
        }
        Some(last.to_owned())
    }

    /// Checks that a required field is not empty.
    pub(crate) fn require_non_empty(&mut self, field: &str, value: &str) {
        if value.trim().is_empty() {
            let at = self.node.get(field).map(|node| node.position);
            self.error(
                at,
                format!("`{field}` is missing or empty."),
                Some(format!("Add a line `{field}: …`.")),
            );
        }
    }

    /// Checks a regular expression.
    pub(crate) fn check_pattern(
        &mut self,
        weight: ProblemSeverity,
        file: &str,
        pattern: &str,
        at: SourcePosition,
    ) {
        self.patterns += 1;
        if self.patterns > MAX_PATTERNS {
            if self.patterns == MAX_PATTERNS + 1 {
                let message = format!("There are more than {MAX_PATTERNS} patterns.");
                self.error(Some(at), message, Some("Use fewer.".to_owned()));
            }
            return;
        }
        let built = RegexBuilder::new(pattern)
            .size_limit(MAX_PATTERN_BYTES)
            .dfa_size_limit(MAX_PATTERN_BYTES)
            .build();
        if let Err(error) = built {
            let whole = error.to_string();
            let last = whole.lines().last().unwrap_or_default();
            let why = with_period(last.strip_prefix("error: ").unwrap_or(last));
            let text = self.display_path(file);
            self.add_problem(
                weight,
                text,
                Some(at),
                format!("The pattern `{}` is invalid: {why}", truncate(pattern)),
                Some("Patterns run in linear time: look-around and backreferences are not supported.".to_owned()),
            );
        }
    }

    /// Reports an error in the main file.
    pub(crate) fn error(
        &mut self,
        at: Option<SourcePosition>,
        message: String,
        help: Option<String>,
    ) {
        let text = self.display_path(&self.file);
        self.add_problem(ProblemSeverity::Error, text, at, message, help);
    }

    /// Reports a warning about the main file.
    pub(crate) fn warn(
        &mut self,
        at: Option<SourcePosition>,
        message: String,
        help: Option<String>,
    ) {
        let text = self.display_path(&self.file);
        self.add_problem(ProblemSeverity::Warning, text, at, message, help);
    }

    pub(crate) fn add_problem(
        &mut self,
        weight: ProblemSeverity,
        file: String,
        at: Option<SourcePosition>,
        message: String,
        help: Option<String>,
    ) {
        self.problems.push(LibraryProblem {
            weight,
            file,
            line: at.map(|at| at.line),
            column: at.map(|at| at.column),
            kind: self.kind,
            id: self.id.clone(),
            message,
            help,
            last_good_kept: false,
        });
    }

    /// Returns whether there is no error that prevents the item from being used.
    pub(crate) fn is_usable(&self) -> bool {
        self.problems
            .iter()
            .all(|problem| problem.weight != ProblemSeverity::Error)
    }

    /// Returns the displayed path of a file of the item.
    pub(crate) fn display_path(&self, file: &str) -> String {
        self.context.root.display_path(&join(&self.folder, file))
    }

    /// Returns the layer, file and content hash of the item.
    pub(crate) fn origin(&self) -> ItemOrigin {
        let mut hash = String::with_capacity(64);
        for byte in self.hash.clone().finalize() {
            // Writing to a string cannot fail.
            let _ = write!(hash, "{byte:02x}");
        }
        ItemOrigin {
            layer: self.context.root.layer,
            file: self.display_path(&self.file),
            hash,
        }
    }

    pub(crate) fn add_to_hash(&mut self, name: &str, text: &str) {
        self.hash.update(name.as_bytes());
        self.hash.update([0]);
        self.hash.update(text.len().to_le_bytes());
        self.hash.update(text.as_bytes());
    }

    /// Returns whether a name refers to a regular file in the item's folder.
    pub(crate) fn has_file(&self, name: &str) -> bool {
        is_inside_path(name)
            && self.context.root.tree.entry_kind(&join(&self.folder, name))
                == Some(crate::library::file_tree::TreeEntryKind::File)
    }
}

/// The help text about valid ids.
pub(crate) const ID_GRAMMAR: &str =
    "Use at most 100 letters, digits, `_` and `-`, not starting with `-`.";

/// Joins two paths of a tree.
pub(crate) fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() {
        name.to_owned()
    } else {
        format!("{folder}/{name}")
    }
}

/// Truncates text from a file for a message.
pub(crate) fn truncate(text: &str) -> String {
    let mut short: String = text
        .chars()
        .take(80)
        .filter(|it| !it.is_control())
        .collect();
    if text.chars().count() > 80 {
        short.push('…');
    }
    short
}

pub(crate) fn read_error_help(fault: &LibraryReadError) -> String {
    match fault {
        LibraryReadError::Missing => "Create the file, or correct its name.",
        LibraryReadError::NotAFile => "Replace it with a regular file.",
        LibraryReadError::Outside => {
            "Files must be in the item's own folder: use a relative path without `..` and no link that leads out."
        }
        LibraryReadError::TooLarge(_) => "Shorten it, or raise the limit.",
        LibraryReadError::NotUtf8 => "Save it as UTF-8.",
        LibraryReadError::Io(_) => "Check its permissions.",
    }
    .to_owned()
}
