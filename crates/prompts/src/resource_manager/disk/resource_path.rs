//! Locates resources on disk. Every path is built here from parts that were validated one by one;
//! links are not followed.

use std::{
    fs,
    path::{Path, PathBuf},
};

use deliberate_toolkit::{ErrorCode, ToolError};

use super::{
    atomic_files::{self, FileTexts, create_folders},
    shipped_files,
};
use crate::{
    library::{PromptLibrary, is_segment},
    model::{ItemOrigin, LibraryItemKind, LibraryLayer},
    resource_manager::{
        ManageContext,
        errors::{invalid_input, manage_error},
    },
};

/// The file layout of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileLayout {
    /// A folder of its own.
    Folder,
    /// One file with everything in it.
    SingleFile,
    /// One file in the older Markdown form.
    Markdown,
}

/// A resource and its files.
#[derive(Debug, Clone)]
pub(crate) struct ResourceFiles {
    pub(crate) kind: LibraryItemKind,
    /// The whole id, including its parents.
    pub(crate) id: String,
    pub(crate) layer: LibraryLayer,
    pub(crate) layout: FileLayout,
    /// The path from the folder of its kind to its own folder.
    pub(crate) folder_path: Vec<String>,
    /// The name of the main file in that folder.
    pub(crate) main_file: String,
    pub(crate) files: FileTexts,
}

impl ResourceFiles {
    /// Returns the name of the version history file.
    pub(crate) fn history_file(&self) -> String {
        match self.layout {
            FileLayout::Folder => ".history.json".to_owned(),
            FileLayout::SingleFile | FileLayout::Markdown => {
                let stem = self.main_file.rsplit_once('.').map_or("", |(stem, _)| stem);
                format!(".{stem}.history.json")
            }
        }
    }
}

/// Returns the main file names of a kind, the usual one first.
pub(crate) const fn main_file_names(kind: LibraryItemKind) -> &'static [&'static str] {
    match kind {
        LibraryItemKind::Prompt => &["prompt.yaml", "prompt.yml"],
        LibraryItemKind::Gate => &["gate.yaml", "gate.yml"],
        LibraryItemKind::Methodology => &[
            "methodology.yaml",
            "methodology.yml",
            "framework.yaml",
            "framework.yml",
        ],
        LibraryItemKind::Style => &["style.yaml", "style.yml"],
        LibraryItemKind::Script => &["tool.yaml", "tool.yml"],
    }
}

/// Validates an id, so that it cannot become a different path.
pub(crate) fn check_id(kind: LibraryItemKind, id: &str) -> Result<(), ToolError> {
    let parts: Vec<&str> = id.split('/').collect();
    let nested = kind == LibraryItemKind::Prompt;
    if (nested || parts.len() == 1)
        && parts.len() <= 8
        && parts.iter().all(|part| is_folder_name(part))
    {
        return Ok(());
    }
    Err(invalid_input(
        format!(
            "The id `{}` is not valid; nothing was written.",
            display_input(id)
        ),
        if nested {
            "Use letters, digits, `_` and `-`, at most 100, beginning with a letter or digit; \
             `parent/child` for a nested prompt."
        } else {
            "Use letters, digits, `_` and `-`, at most 100, beginning with a letter or digit."
        },
    ))
}

/// Returns whether a part may become a folder name. The library skips names that begin with `_`.
pub(crate) fn is_folder_name(part: &str) -> bool {
    is_segment(part) && !part.starts_with('_')
}

/// Returns the beginning of user input in a form that is safe to show.
pub(crate) fn display_input(text: &str) -> String {
    let plain: String = text
        .chars()
        .take(81)
        .filter(|it| !it.is_control())
        .collect();
    deliberate_core::truncate_chars(&plain, 80)
}

/// Finds a resource by id, ignoring case, and returns the library's spelling of the id.
pub(crate) fn find_origin(
    library: &PromptLibrary,
    kind: LibraryItemKind,
    id: &str,
) -> Option<(String, ItemOrigin)> {
    fn find_ignoring_case<'l, T: 'l>(
        mut all: impl Iterator<Item = (&'l String, T)>,
        id: &str,
        origin: impl Fn(T) -> &'l ItemOrigin,
    ) -> Option<(String, ItemOrigin)> {
        all.find(|(key, _)| key.eq_ignore_ascii_case(id))
            .map(|(key, it)| (key.clone(), origin(it).clone()))
    }
    match kind {
        LibraryItemKind::Prompt => find_ignoring_case(library.prompts.iter(), id, |it| &it.origin),
        LibraryItemKind::Gate => find_ignoring_case(library.gates.iter(), id, |it| &it.origin),
        LibraryItemKind::Methodology => {
            find_ignoring_case(library.methodologies.iter(), id, |it| &it.origin)
        }
        LibraryItemKind::Style => find_ignoring_case(library.styles.iter(), id, |it| &it.origin),
        LibraryItemKind::Script => None,
    }
}

/// Returns all ids of a kind.
pub(crate) fn resource_ids(library: &PromptLibrary, kind: LibraryItemKind) -> Vec<&str> {
    match kind {
        LibraryItemKind::Prompt => library.prompts.keys().map(String::as_str).collect(),
        LibraryItemKind::Gate => library.gates.keys().map(String::as_str).collect(),
        LibraryItemKind::Methodology => library.methodologies.keys().map(String::as_str).collect(),
        LibraryItemKind::Style => library.styles.keys().map(String::as_str).collect(),
        LibraryItemKind::Script => Vec::new(),
    }
}

impl ManageContext {
    /// Returns the folder of a kind if it exists. A link that leads out of the workspace is an
    /// error.
    pub(crate) fn kind_root(&self, kind: LibraryItemKind) -> Result<Option<PathBuf>, ToolError> {
        let folder = self.engine.live_library.folder(kind);
        let Ok(real) = folder.canonicalize() else {
            return Ok(None);
        };
        let inside = self
            .library_paths()
            .workspace
            .canonicalize()
            .is_ok_and(|workspace| real.starts_with(workspace));
        if inside || self.is_configured(kind) {
            return Ok(Some(real));
        }
        Err(manage_error(
            ErrorCode::Outside,
            format!(
                "The folder for every {} is a link that leads out of the workspace; nothing was \
                 written.",
                kind.as_str()
            ),
            Some("Start the program with the path of the real folder.".to_owned()),
        ))
    }

    /// Returns the folder of a kind and creates it if needed.
    pub(crate) fn ensure_kind_root(&self, kind: LibraryItemKind) -> Result<PathBuf, ToolError> {
        if let Some(root) = self.kind_root(kind)? {
            return Ok(root);
        }
        let folder = self.engine.live_library.folder(kind);
        let workspace = &self.library_paths().workspace;
        let parts = folder.strip_prefix(workspace).ok().and_then(|inner| {
            inner
                .iter()
                .map(std::ffi::OsStr::to_str)
                .collect::<Option<Vec<_>>>()
        });
        match parts.filter(|_| !self.is_configured(kind)) {
            Some(parts) => {
                create_folders(workspace, parts)?;
            }
            None => fs::create_dir_all(&folder).map_err(|error| {
                crate::resource_manager::errors::io_error("create", &folder, &error)
            })?,
        }
        self.kind_root(kind)?.ok_or_else(|| {
            let error = std::io::Error::from(std::io::ErrorKind::NotFound);
            crate::resource_manager::errors::io_error("create", &folder, &error)
        })
    }

    fn is_configured(&self, kind: LibraryItemKind) -> bool {
        let paths = self.library_paths();
        match kind {
            LibraryItemKind::Prompt => paths.prompts.is_some(),
            LibraryItemKind::Gate => paths.gates.is_some(),
            LibraryItemKind::Methodology => paths.methodologies.is_some(),
            LibraryItemKind::Style => paths.styles.is_some(),
            LibraryItemKind::Script => paths.scripts.is_some(),
        }
    }

    /// Finds a resource in the workspace on disk, regardless of the loaded library.
    pub(crate) fn find_in_workspace(
        &self,
        kind: LibraryItemKind,
        id: &str,
    ) -> Result<Option<ResourceFiles>, ToolError> {
        let Some(root) = self.kind_root(kind)? else {
            return Ok(None);
        };
        let parts: Vec<&str> = id.split('/').collect();
        if kind != LibraryItemKind::Prompt {
            return find_below(&root, &[], &parts, kind, false);
        }
        // A prompt may be in any category, or outside of them.
        let mut categories: Vec<String> = list_folders(&root)
            .into_iter()
            .filter(|name| is_segment(name) && !has_main_file(&root.join(name), kind))
            .collect();
        categories.sort_unstable();
        for single in [false, true] {
            let outer = parts.len() == 1
                || parts
                    .first()
                    .is_some_and(|first| has_main_file(&root.join(first), kind));
            if outer && let Some(files) = find_below(&root, &[], &parts, kind, single)? {
                return Ok(Some(files));
            }
            for category in &categories {
                let way = [category.as_str()];
                if let Some(files) = find_below(&root, &way, &parts, kind, single)? {
                    return Ok(Some(files));
                }
            }
        }
        Ok(None)
    }

    /// Finds a shipped resource.
    pub(crate) fn find_shipped(kind: LibraryItemKind, id: &str) -> Option<ResourceFiles> {
        shipped_files::find_shipped(kind, id)
    }

    /// Returns the folder of a resource, creating it if needed; it is always below its root.
    pub(crate) fn ensure_folder(&self, thing: &ResourceFiles) -> Result<PathBuf, ToolError> {
        let root = self.ensure_kind_root(thing.kind)?;
        let folder = create_folders(&root, thing.folder_path.iter().map(String::as_str))?;
        let real = folder.canonicalize().map_err(|error| {
            crate::resource_manager::errors::io_error("inspect", &folder, &error)
        })?;
        if real.starts_with(&root) {
            Ok(real)
        } else {
            Err(atomic_files::path_blocked(&thing.id))
        }
    }
}

/// Searches for a resource below a folder of a root.
fn find_below(
    root: &Path,
    way: &[&str],
    id: &[&str],
    kind: LibraryItemKind,
    single: bool,
) -> Result<Option<ResourceFiles>, ToolError> {
    let mut way: Vec<String> = way.iter().map(|part| (*part).to_owned()).collect();
    let mut here = way
        .iter()
        .fold(root.to_path_buf(), |all, part| all.join(part));
    let Some((last, outer)) = id.split_last() else {
        return Ok(None);
    };
    for part in outer {
        let Some(name) = find_child_folder(&here, part)? else {
            return Ok(None);
        };
        here.push(&name);
        way.push(name);
    }
    let mut resource_files = ResourceFiles {
        kind,
        id: String::new(),
        layer: LibraryLayer::Workspace,
        layout: FileLayout::Folder,
        folder_path: way,
        main_file: String::new(),
        files: FileTexts::new(),
    };
    if single {
        for ending in ["yaml", "yml", "md"] {
            let main = format!("{last}.{ending}");
            if here.join(&main).is_file()
                && fs::symlink_metadata(here.join(&main)).is_ok_and(|it| it.is_file())
            {
                resource_files.files = read_single_file(&here, &main)?;
                resource_files.layout = if ending == "md" {
                    FileLayout::Markdown
                } else {
                    FileLayout::SingleFile
                };
                resource_files.main_file = main;
                resource_files.id = id.join("/");
                return Ok(Some(resource_files));
            }
        }
        return Ok(None);
    }
    let Some(name) = find_child_folder(&here, last)? else {
        return Ok(None);
    };
    here.push(&name);
    resource_files.folder_path.push(name);
    let Some(main) = main_file_names(kind)
        .iter()
        .find(|main| is_file(&here.join(main)))
    else {
        return Ok(None);
    };
    let only: Option<&[&str]> = (kind == LibraryItemKind::Prompt).then_some(&["tools"]);
    resource_files.files = atomic_files::read_folder(&here, only)?;
    if !resource_files.files.contains_key(*main) {
        return Err(manage_error(
            ErrorCode::NotText,
            format!("`{main}` is not a text file that can be changed."),
            Some("Replace it by hand.".to_owned()),
        ));
    }
    (*main).clone_into(&mut resource_files.main_file);
    let own = resource_files.folder_path.len().saturating_sub(id.len());
    resource_files.id = resource_files
        .folder_path
        .get(own..)
        .unwrap_or_default()
        .join("/");
    Ok(Some(resource_files))
}

/// Returns the subfolder with that name, ignoring case. A link in its place is an error.
fn find_child_folder(folder: &Path, name: &str) -> Result<Option<String>, ToolError> {
    if let Ok(found) = fs::symlink_metadata(folder.join(name)) {
        return if found.is_dir() {
            Ok(Some(name.to_owned()))
        } else if found.is_symlink() {
            Err(atomic_files::path_blocked(name))
        } else {
            Ok(None)
        };
    }
    Ok(list_folders(folder)
        .into_iter()
        .find(|other| other.eq_ignore_ascii_case(name)))
}

fn list_folders(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with(['.', '_']))
        .collect()
}

fn has_main_file(folder: &Path, kind: LibraryItemKind) -> bool {
    main_file_names(kind)
        .iter()
        .any(|main| is_file(&folder.join(main)))
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| it.is_file())
}

/// Reads a single-file resource, with the text files that it names.
fn read_single_file(folder: &Path, main: &str) -> Result<FileTexts, ToolError> {
    let mut files = FileTexts::new();
    let Some(text) = atomic_files::read_text(&folder.join(main), 16 << 20)? else {
        return Ok(files);
    };
    if let Ok(document) = crate::resource_manager::edit::yaml_edit::YamlDocument::parse(&text) {
        for field in ["userMessageTemplateFile", "systemMessageFile"] {
            if let Some(name) = document.text(field)
                && !name.contains(['/', '\\', '\0'])
                && !name.starts_with('.')
                && is_file(&folder.join(name))
                && let Some(text) = atomic_files::read_text(&folder.join(name), 16 << 20)?
            {
                files.insert(name.to_owned(), text);
            }
        }
    }
    files.insert(main.to_owned(), text);
    Ok(files)
}
