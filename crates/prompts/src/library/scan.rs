//! Which parts a root has, and to which part a changed file belongs. Reads no file.

use super::{
    names, read,
    sheet::join,
    tree::{Entry, What},
    unit::{Root, RootKind},
};
use crate::model::Kind;

/// The parts at or below a path of a root; all of them if it is empty.
pub(crate) fn parts(root: &Root, scope: &str) -> Vec<String> {
    match root.kind {
        RootKind::Settings => read::SETTINGS
            .iter()
            .filter(|file| scope.is_empty() || **file == scope)
            .filter(|file| root.tree.look(file).is_some())
            .map(|file| (*file).to_owned())
            .collect(),
        RootKind::Things(kind) => match scope.split_once('/') {
            Some((top, entry)) => one(root, top, entry).into_iter().collect(),
            None if scope.is_empty() => root
                .tree
                .list("")
                .iter()
                .flat_map(|entry| below(root, kind, entry))
                .collect(),
            None => root
                .tree
                .list("")
                .iter()
                .filter(|entry| entry.name == scope)
                .flat_map(|entry| below(root, kind, entry))
                .collect(),
        },
    }
}

/// The part that a changed path belongs to, as a scope: everything in it is to be read again.
pub(crate) fn scope(root: &Root, path: &str) -> Option<String> {
    if root.kind == RootKind::Settings {
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
            if root.kind == RootKind::Things(Kind::Prompt)
                && !read::MAIN.contains(&entry)
                && !is_prompt(root, top) =>
        {
            Some(join(top, entry))
        }
        _ => Some(top.to_owned()),
    }
}

fn is_prompt(root: &Root, folder: &str) -> bool {
    read::MAIN
        .iter()
        .any(|file| root.tree.look(&join(folder, file)).is_some())
}

fn below(root: &Root, kind: Kind, entry: &Entry) -> Vec<String> {
    let name = &entry.name;
    let own = || vec![name.clone()];
    match (kind, entry.what) {
        (Kind::Prompt, What::Folder) if !names::is_segment(name) || is_prompt(root, name) => own(),
        (Kind::Prompt, What::Folder) => root
            .tree
            .list(name)
            .into_iter()
            .filter(is_part)
            .map(|inner| join(name, &inner.name))
            .collect(),
        (Kind::Prompt, _) if is_part(entry) => own(),
        (Kind::Prompt, _) | (_, What::File | What::Other) => Vec::new(),
        (_, What::Folder | What::Link) => own(),
    }
}

fn one(root: &Root, top: &str, entry: &str) -> Option<String> {
    if entry.starts_with(['.', '_']) || !names::is_segment(top) {
        return None;
    }
    let path = join(top, entry);
    let what = root.tree.look(&path)?;
    let entry = Entry {
        name: entry.to_owned(),
        what,
    };
    is_part(&entry).then_some(path)
}

/// Whether something in a category may be a prompt, or says what the category is.
fn is_part(entry: &Entry) -> bool {
    entry.what == What::Folder
        || entry.what == What::Link
        || [".yaml", ".yml", ".md"]
            .iter()
            .any(|ending| entry.name.ends_with(ending))
}
