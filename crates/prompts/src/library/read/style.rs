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
    let mut source_file =
        LibrarySourceFile::open(desk, LibraryItemKind::Style, folder, folder, file);
    let item = source_file
        .is_usable()
        .then(|| source_file.deserialize::<StyleFile>())
        .flatten()
        .and_then(|style_file| build_style(&mut source_file, style_file));
    unit.add_source(source_file, item);
}

fn build_style(file: &mut LibrarySourceFile<'_>, style_file: StyleFile) -> Option<LibraryItem> {
    let folder = file.folder.clone();
    let id = file.check_id(&style_file.id, &folder)?;
    file.require_non_empty("name", &style_file.name);
    let mut guidance = style_file.guidance;
    if let Some(name) = style_file.guidance_file
        && let Some(text) =
            file.read_sibling_or_report(&name, "guidanceFile", ProblemSeverity::Error)
    {
        guidance = text;
    }
    if file.is_usable() {
        file.require_non_empty("guidance", &guidance);
    }
    file.is_usable().then(|| {
        LibraryItem::Style(Arc::new(ResponseStyle {
            id,
            name: style_file.name,
            description: style_file.description,
            guidance,
            priority: style_file.priority,
            enabled: style_file.enabled.unwrap_or(true),
            enhancement_mode: style_file.enhancement_mode,
            activation: style_file.activation,
            compatible_frameworks: style_file.compatible_frameworks,
            origin: file.origin(),
        }))
    })
}
