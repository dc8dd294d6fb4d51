//! The files of shipped resources, which are the starting point of a workspace copy.

use include_dir::{Dir, DirEntry};

use super::{
    atomic_files::FileTexts,
    resource_path::{FileLayout, ResourceFiles, main_file_names},
};
use crate::{
    library::SHIPPED_LIBRARY,
    model::{LibraryItemKind, LibraryLayer},
};

/// Finds a shipped resource with its files.
pub(crate) fn find_shipped(kind: LibraryItemKind, id: &str) -> Option<ResourceFiles> {
    let root = match kind {
        LibraryItemKind::Prompt => "prompts",
        LibraryItemKind::Gate => "gates",
        LibraryItemKind::Methodology => "methodologies",
        LibraryItemKind::Style => "styles",
        LibraryItemKind::Script => return None,
    };
    let outer = SHIPPED_LIBRARY.get_dir(root)?;
    let bases: Vec<&Dir<'_>> = if kind == LibraryItemKind::Prompt {
        outer.dirs().collect()
    } else {
        vec![outer]
    };
    bases.into_iter().find_map(|base| {
        let folder = id.split('/').try_fold(base, |here, part| {
            here.dirs()
                .find(|inner| folder_name(inner).eq_ignore_ascii_case(part))
        })?;
        let main = main_file_names(kind)
            .iter()
            .find(|main| folder.get_file(folder.path().join(main)).is_some())?;
        let mut files = FileTexts::new();
        collect_files(folder, "", kind == LibraryItemKind::Prompt, &mut files);
        let way: Vec<String> = folder
            .path()
            .strip_prefix(root)
            .ok()?
            .iter()
            .filter_map(|part| part.to_str().map(str::to_owned))
            .collect();
        let own = way.len().checked_sub(id.split('/').count())?;
        Some(ResourceFiles {
            kind,
            id: way.get(own..)?.join("/"),
            layer: LibraryLayer::Shipped,
            layout: FileLayout::Folder,
            folder_path: way,
            main_file: (*main).to_owned(),
            files,
        })
    })
}

fn folder_name<'d>(folder: &'d Dir<'_>) -> &'d str {
    folder
        .path()
        .file_name()
        .and_then(std::ffi::OsStr::to_str)
        .unwrap_or_default()
}

fn collect_files(folder: &Dir<'_>, prefix: &str, only_tools: bool, files: &mut FileTexts) {
    for entry in folder.entries() {
        let Some(name) = entry.path().file_name().and_then(std::ffi::OsStr::to_str) else {
            continue;
        };
        match entry {
            DirEntry::File(file) => {
                if let Some(text) = file.contents_utf8() {
                    files.insert(format!("{prefix}{name}"), text.to_owned());
                }
            }
            DirEntry::Dir(inner) if !only_tools || name == "tools" => {
                collect_files(inner, &format!("{prefix}{name}/"), false, files);
            }
            DirEntry::Dir(_) => {}
        }
    }
}
