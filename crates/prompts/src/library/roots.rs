//! Finds the folders of the library: the shipped ones, and those of the workspace.

use std::path::{Path, PathBuf};

use super::{
    LibraryProblem, ProblemSeverity,
    file_tree::FileTree,
    part::{LibraryRoot, LibraryRootKind},
};
use crate::{
    model::{LibraryItemKind, LibraryLayer},
    options::LibraryPaths,
};

pub(crate) const ITEM_KINDS: [LibraryItemKind; 5] = [
    LibraryItemKind::Prompt,
    LibraryItemKind::Gate,
    LibraryItemKind::Methodology,
    LibraryItemKind::Style,
    LibraryItemKind::Script,
];

/// Returns the existing folders, the shipped ones first, so that later ones override earlier ones.
pub(crate) fn find_roots(places: &LibraryPaths) -> (Vec<LibraryRoot>, Vec<LibraryProblem>) {
    let mut found = Vec::new();
    let mut problems = Vec::new();
    for kind in ITEM_KINDS {
        let name = folder_name(kind);
        if let Some(tree) = FileTree::open_shipped(name) {
            found.push(LibraryRoot {
                kind: LibraryRootKind::Items(kind),
                layer: LibraryLayer::Shipped,
                tree,
                display_name: format!("shipped/{name}"),
            });
        }
    }
    for kind in ITEM_KINDS {
        let Some(folder) = existing_folder(places, kind) else {
            continue;
        };
        let Some(tree) = FileTree::open_disk(&folder) else {
            continue;
        };
        if configured_folder(places, kind).is_none() && !is_below(&places.workspace, &tree) {
            problems.push(outside_workspace_problem(
                kind,
                &display_path(places, &folder),
            ));
            continue;
        }
        found.push(LibraryRoot {
            kind: LibraryRootKind::Items(kind),
            layer: LibraryLayer::Workspace,
            tree,
            display_name: display_path(places, &folder),
        });
    }
    if let Some(tree) = FileTree::open_disk(&places.workspace) {
        found.push(LibraryRoot {
            kind: LibraryRootKind::Settings,
            layer: LibraryLayer::Workspace,
            tree,
            display_name: String::new(),
        });
    }
    (found, problems)
}

/// Returns the folder for new items of a kind: the existing one, else below `resources/`.
pub(crate) fn target_folder(places: &LibraryPaths, kind: LibraryItemKind) -> PathBuf {
    existing_folder(places, kind)
        .or_else(|| configured_folder(places, kind).cloned())
        .unwrap_or_else(|| places.workspace.join("resources").join(folder_name(kind)))
}

/// Returns every path at which a folder of a kind may appear.
pub(crate) fn candidate_folders(places: &LibraryPaths, kind: LibraryItemKind) -> Vec<PathBuf> {
    if let Some(given) = configured_folder(places, kind) {
        return vec![given.clone()];
    }
    let names: &[&str] = match kind {
        LibraryItemKind::Methodology => &["methodologies", "frameworks"],
        other => &[folder_name(other)],
    };
    let mut all = Vec::new();
    for base in ["resources", "", "server/resources"] {
        all.extend(
            names
                .iter()
                .map(|name| places.workspace.join(base).join(name)),
        );
    }
    if kind == LibraryItemKind::Prompt {
        all.push(places.workspace.join("server").join("prompts"));
    }
    all
}

fn existing_folder(paths: &LibraryPaths, kind: LibraryItemKind) -> Option<PathBuf> {
    candidate_folders(paths, kind)
        .into_iter()
        .find(|it| it.is_dir())
}

fn configured_folder(paths: &LibraryPaths, kind: LibraryItemKind) -> Option<&PathBuf> {
    match kind {
        LibraryItemKind::Prompt => paths.prompts.as_ref(),
        LibraryItemKind::Gate => paths.gates.as_ref(),
        LibraryItemKind::Methodology => paths.methodologies.as_ref(),
        LibraryItemKind::Style => paths.styles.as_ref(),
        LibraryItemKind::Script => paths.scripts.as_ref(),
    }
}

/// Returns the name of the folder for a kind.
pub(crate) const fn folder_name(kind: LibraryItemKind) -> &'static str {
    match kind {
        LibraryItemKind::Prompt => "prompts",
        LibraryItemKind::Gate => "gates",
        LibraryItemKind::Methodology => "methodologies",
        LibraryItemKind::Style => "styles",
        LibraryItemKind::Script => "scripts",
    }
}

fn display_path(paths: &LibraryPaths, folder: &Path) -> String {
    folder
        .strip_prefix(&paths.workspace)
        .unwrap_or(folder)
        .to_string_lossy()
        .replace('\\', "/")
}

fn is_below(workspace: &Path, tree: &FileTree) -> bool {
    match (workspace.canonicalize(), tree) {
        (Ok(workspace), FileTree::Disk(folder)) => folder.starts_with(workspace),
        _ => false,
    }
}

fn outside_workspace_problem(kind: LibraryItemKind, folder: &str) -> LibraryProblem {
    LibraryProblem {
        weight: ProblemSeverity::Error,
        file: folder.to_owned(),
        line: None,
        column: None,
        kind,
        id: String::new(),
        message: "The folder is a link that leads out of the workspace, so it is ignored."
            .to_owned(),
        help: Some("Pass the folder itself when you start the program.".to_owned()),
        last_good_kept: false,
    }
}
