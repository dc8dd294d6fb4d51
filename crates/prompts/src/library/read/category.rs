//! `category.yaml`.

use std::sync::Arc;

use crate::{
    library::{
        sheet::{Desk, Sheet},
        unit::{Item, Unit},
    },
    model::{Category, InjectionRules, Kind},
};

/// What the file may say.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CategoryFile {
    /// Accepted and not needed: the folder is the id.
    #[serde(rename = "id")]
    _id: Option<String>,
    name: Option<String>,
    description: String,
    register_with_mcp: Option<bool>,
    injection: InjectionRules,
}

/// Reads the description of the category in a folder.
pub(super) fn read(desk: Desk<'_>, folder: &str, file: &str, unit: &mut Unit) {
    let mut sheet = Sheet::open(
        desk,
        Kind::Prompt,
        &format!("{folder}/category"),
        folder,
        file,
    );
    let item = sheet
        .is_good()
        .then(|| sheet.typed::<CategoryFile>())
        .flatten()
        .map(|said| Category {
            id: folder.to_owned(),
            name: said.name.unwrap_or_else(|| folder.to_owned()),
            description: said.description,
            register_with_mcp: said.register_with_mcp,
            injection: said.injection,
        });
    unit.take(sheet, item.map(|it| Item::Category(Arc::new(it))));
}
