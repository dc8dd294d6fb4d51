//! Readers for the file formats of the library, one module each.

mod category;
mod gate;
mod legacy_markdown;
mod methodology;
mod prompt;
mod references;
mod script;
mod settings;
pub(crate) mod source_file;
mod steps;
mod style;

use super::{
    file_tree::TreeEntryKind,
    part::{LibraryItem, LibraryPart, LibraryRootKind},
    yaml::SourcePosition,
};
use crate::model::LibraryItemKind;
use source_file::{LibrarySourceFile, ReadContext};

pub(crate) use prompt::MAIN_FILES;
pub(crate) use settings::SETTINGS_FILES as SETTINGS;

/// Reads the part at a path of a root.
pub(crate) fn read_part(desk: ReadContext<'_>, path: &str) -> LibraryPart {
    let mut unit = LibraryPart::default();
    let is_link = desk.root.tree.entry_kind(path) == Some(TreeEntryKind::Link);
    match desk.root.kind {
        LibraryRootKind::Items(kind) if is_link && kind != LibraryItemKind::Prompt => {
            let mut file = LibrarySourceFile::unopened(desk, kind, path);
            file.error(
                None,
                "Links to folders are not followed.".to_owned(),
                Some("Replace the link with the folder itself.".to_owned()),
            );
            unit.add_source(file, None);
        }
        LibraryRootKind::Settings => settings::read(desk, path, &mut unit),
        LibraryRootKind::Items(LibraryItemKind::Prompt) => {
            prompt::read_prompts(desk, path, &mut unit);
        }
        LibraryRootKind::Items(LibraryItemKind::Gate) => gate::read(desk, path, &mut unit),
        LibraryRootKind::Items(LibraryItemKind::Methodology) => {
            methodology::read(desk, path, &mut unit);
        }
        LibraryRootKind::Items(LibraryItemKind::Style) => style::read(desk, path, &mut unit),
        LibraryRootKind::Items(LibraryItemKind::Script) => {
            script::read(desk, path, None, &mut unit);
        }
    }
    unit
}

impl LibraryPart {
    /// Adds the problems of a source file, and its item if there is one.
    fn add_source(&mut self, file: LibrarySourceFile<'_>, item: Option<LibraryItem>) {
        self.files += file.files;
        self.problems.extend(file.problems);
        self.items.extend(item);
    }
}

/// Returns the first of some files that exists in a folder.
fn first_existing<'n>(
    context: ReadContext<'_>,
    folder: &str,
    names: &[&'n str],
) -> Option<&'n str> {
    names.iter().copied().find(|name| {
        matches!(
            context
                .root
                .tree
                .entry_kind(&source_file::join(folder, name)),
            Some(TreeEntryKind::File | TreeEntryKind::Link | TreeEntryKind::Other)
        )
    })
}

/// Returns the position of a JSON syntax error.
fn json_position(error: &serde_json::Error) -> SourcePosition {
    SourcePosition {
        line: u32::try_from(error.line()).unwrap_or(u32::MAX).max(1),
        column: u32::try_from(error.column()).unwrap_or(u32::MAX).max(1),
    }
}
