//! Reads `category.yaml`.

use std::sync::Arc;

use super::source_file::{LibrarySourceFile, ReadContext};
use crate::{
    library::part::{LibraryItem, LibraryPart},
    model::{InjectionRules, LibraryItemKind, PromptCategory},
};

/// The fields of the file.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CategoryFile {
    /// Accepted but ignored: the folder name is the id.
    #[serde(rename = "id")]
    _id: Option<String>,
    name: Option<String>,
    description: String,
    register_with_mcp: Option<bool>,
    injection: InjectionRules,
}

/// Reads the description of the category in a folder.
pub(super) fn read(desk: ReadContext<'_>, folder: &str, file: &str, unit: &mut LibraryPart) {
    let mut sheet = LibrarySourceFile::open(
        desk,
        LibraryItemKind::Prompt,
        &format!("{folder}/category"),
        folder,
        file,
    );
    let item = sheet
        .is_usable()
        .then(|| sheet.deserialize::<CategoryFile>())
        .flatten()
        .map(|category_file| PromptCategory {
            id: folder.to_owned(),
            name: category_file.name.unwrap_or_else(|| folder.to_owned()),
            description: category_file.description,
            register_with_mcp: category_file.register_with_mcp,
            injection: category_file.injection,
        });
    unit.add_source(sheet, item.map(|it| LibraryItem::Category(Arc::new(it))));
}
