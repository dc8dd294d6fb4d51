//! `styles/<id>/style.yaml`.

use std::sync::Arc;

use super::first_of;
use crate::{
    library::{
        Weight,
        sheet::{Desk, Sheet},
        unit::{Item, Unit},
    },
    model::{Activation, Kind, Mode, Style},
};

/// What the file may say.
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
    enhancement_mode: Mode,
    activation: Option<Activation>,
    compatible_frameworks: Vec<String>,
}

pub(super) fn read(desk: Desk<'_>, folder: &str, unit: &mut Unit) {
    let Some(file) = first_of(desk, folder, &["style.yaml", "style.yml"]) else {
        return;
    };
    let mut sheet = Sheet::open(desk, Kind::Style, folder, folder, file);
    let item = sheet
        .is_good()
        .then(|| sheet.typed::<StyleFile>())
        .flatten()
        .and_then(|said| style(&mut sheet, said));
    unit.take(sheet, item);
}

fn style(sheet: &mut Sheet<'_>, said: StyleFile) -> Option<Item> {
    let folder = sheet.folder.clone();
    let id = sheet.same_id(&said.id, &folder)?;
    sheet.needs("name", &said.name);
    let mut guidance = said.guidance;
    if let Some(name) = said.guidance_file
        && let Some(text) = sheet.beside_or_problem(&name, "guidanceFile", Weight::Error)
    {
        guidance = text;
    }
    if sheet.is_good() {
        sheet.needs("guidance", &guidance);
    }
    sheet.is_good().then(|| {
        Item::Style(Arc::new(Style {
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
