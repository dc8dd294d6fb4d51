//! Finds the parts of a root, and the part that a changed file belongs to. Reads no files.

use super::{
    file_tree::{TreeEntry, TreeEntryKind},
    id_grammar,
    part::{LibraryRoot, LibraryRootKind},
    read::{self, source_file::join},
};
use crate::model::LibraryItemKind;

/// Returns the parts at or below a path of a root; all parts if the path is empty.
pub(crate) fn find_parts(root: &LibraryRoot, scope: &str) -> Vec<String> {
    match root.kind {
        LibraryRootKind::Settings => read::SETTINGS
            .iter()
            .filter(|file| scope.is_empty() || **file == scope)
            .filter(|file| root.tree.entry_kind(file).is_some())
            .map(|file| (*file).to_owned())
            .collect(),
        LibraryRootKind::Items(kind) => match scope.split_once('/') {
            Some((top, entry)) => part_path(root, top, entry).into_iter().collect(),
            None if scope.is_empty() => root
                .tree
                .list("")
                .iter()
                .flat_map(|entry| parts_of_entry(root, kind, entry))
                .collect(),
            None => root
                .tree
                .list("")
                .iter()
                .filter(|entry| entry.name == scope)
                .flat_map(|entry| parts_of_entry(root, kind, entry))
                .collect(),
        },
    }
}

/// Returns the part that a changed path belongs to, as a scope to read again.
pub(crate) fn part_scope(root: &LibraryRoot, path: &str) -> Option<String> {
    if root.kind == LibraryRootKind::Settings {
        return read::SETTINGS.contains(&path).then(|| path.to_owned());
    }
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let Some(top) = parts.next() else {
        return Some(String::new());
    };
    if top.starts_with(['.', '_']) {
        return None;
    }
    match parts.next() {
        Some(entry)
            if root.kind == LibraryRootKind::Items(LibraryItemKind::Prompt)
                && !read::MAIN_FILES.contains(&entry)
                && !is_prompt(root, top) =>
        {
            Some(join(top, entry))
        }
        _ => Some(top.to_owned()),
    }
}

fn is_prompt(root: &LibraryRoot, folder: &str) -> bool {
    read::MAIN_FILES
        .iter()
        .any(|file| root.tree.entry_kind(&join(folder, file)).is_some())
}

fn parts_of_entry(root: &LibraryRoot, kind: LibraryItemKind, entry: &TreeEntry) -> Vec<String> {
    let name = &entry.name;
    let own = || vec![name.clone()];
    match (kind, entry.kind) {
        (LibraryItemKind::Prompt, TreeEntryKind::Folder)
            if !id_grammar::is_segment(name) || is_prompt(root, name) =>
        {
            own()
        }
        (LibraryItemKind::Prompt, TreeEntryKind::Folder) => root
            .tree
            .list(name)
            .into_iter()
            .filter(is_part)
            .map(|inner| join(name, &inner.name))
            .collect(),
        (LibraryItemKind::Prompt, _) if is_part(entry) => own(),
        (LibraryItemKind::Prompt, _) | (_, TreeEntryKind::File | TreeEntryKind::Other) => {
            Vec::new()
        }
        (_, TreeEntryKind::Folder | TreeEntryKind::Link) => own(),
    }
}

fn part_path(root: &LibraryRoot, top: &str, entry: &str) -> Option<String> {
    if entry.starts_with(['.', '_']) || !id_grammar::is_segment(top) {
        return None;
    }
    let path = join(top, entry);
    let entry_kind = root.tree.entry_kind(&path)?;
    let entry = TreeEntry {
        name: entry.to_owned(),
        kind: entry_kind,
    };
    is_part(&entry).then_some(path)
}

/// Returns whether an entry of a category may be a prompt or the category's description.
fn is_part(entry: &TreeEntry) -> bool {
    entry.kind == TreeEntryKind::Folder
        || entry.kind == TreeEntryKind::Link
        || [".yaml", ".yml", ".md"]
            .iter()
            .any(|ending| entry.name.ends_with(ending))
}
