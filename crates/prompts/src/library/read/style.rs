//! Reads `styles/<id>/style.yaml`.

use std::sync::Arc;

use super::{
    first_existing,
    source_file::{LibrarySourceFile, ReadContext},
};
use crate::{
    library::{
        ProblemSeverity,
        part::{LibraryItem, LibraryPart},
    },
    model::{Activation, LibraryItemKind, ResponseStyle, StyleMode},
};

/// The fields of the file.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct StyleFile {
    id: String,
    name: String,
    description: String,
    guidance: String,
    guidance_file: Option<String>,
    priority: i64,
    enabled: Option<bool>,
    enhancement_mode: StyleMode,
    activation: Option<Activation>,
    compatible_frameworks: Vec<String>,
}

pub(super) fn read(desk: ReadContext<'_>, folder: &str, unit: &mut LibraryPart) {
    let Some(file) = first_existing(desk, folder, &["style.yaml", "style.yml"]) else {
        return;
    };
    let mut sheet = LibrarySourceFile::open(desk, LibraryItemKind::Style, folder, folder, file);
    let item = sheet
        .is_usable()
        .then(|| sheet.deserialize::<StyleFile>())
        .flatten()
        .and_then(|said| build_style(&mut sheet, said));
    unit.add_source(sheet, item);
}

fn build_style(sheet: &mut LibrarySourceFile<'_>, said: StyleFile) -> Option<LibraryItem> {
    let folder = sheet.folder.clone();
    let id = sheet.check_id(&said.id, &folder)?;
    sheet.require_non_empty("name", &said.name);
    let mut guidance = said.guidance;
    if let Some(name) = said.guidance_file
        && let Some(text) =
            sheet.read_sibling_or_report(&name, "guidanceFile", ProblemSeverity::Error)
    {
        guidance = text;
    }
    if sheet.is_usable() {
        sheet.require_non_empty("guidance", &guidance);
    }
    sheet.is_usable().then(|| {
        LibraryItem::Style(Arc::new(ResponseStyle {
            id,
            name: said.name,
            description: said.description,
            guidance,
            priority: said.priority,
            enabled: said.enabled.unwrap_or(true),
            enhancement_mode: said.enhancement_mode,
            activation: said.activation,
            compatible_frameworks: said.compatible_frameworks,
            origin: sheet.origin(),
        }))
    })
}
