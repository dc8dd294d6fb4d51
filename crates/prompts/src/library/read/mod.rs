//! The formats of the library's files, one file each.

mod category;
mod gate;
mod legacy;
mod mentions;
mod methodology;
mod prompt;
mod script;
mod settings;
mod steps;
mod style;

use super::{
    sheet::{Desk, Sheet},
    tree::What,
    unit::{Item, RootKind, Unit},
    yaml::Place,
};
use crate::model::Kind;

pub(crate) use prompt::MAIN;
pub(crate) use settings::FILES as SETTINGS;

/// Reads the part at a path of a root.
pub(crate) fn unit(desk: Desk<'_>, path: &str) -> Unit {
    let mut unit = Unit::default();
    let is_link = desk.root.tree.look(path) == Some(What::Link);
    match desk.root.kind {
        RootKind::Things(kind) if is_link && kind != Kind::Prompt => {
            let mut sheet = Sheet::unread(desk, kind, path);
            sheet.error(
                None,
                "Links to folders are not followed.".to_owned(),
                Some("Put the folder itself there.".to_owned()),
            );
            unit.take(sheet, None);
        }
        RootKind::Settings => settings::read(desk, path, &mut unit),
        RootKind::Things(Kind::Prompt) => prompt::read_unit(desk, path, &mut unit),
        RootKind::Things(Kind::Gate) => gate::read(desk, path, &mut unit),
        RootKind::Things(Kind::Methodology) => methodology::read(desk, path, &mut unit),
        RootKind::Things(Kind::Style) => style::read(desk, path, &mut unit),
        RootKind::Things(Kind::Script) => {
            script::read(desk, path, None, &mut unit);
        }
    }
    unit
}

impl Unit {
    /// Takes over what a sheet found, and the thing if there is one.
    fn take(&mut self, sheet: Sheet<'_>, item: Option<Item>) {
        self.files += sheet.files;
        self.problems.extend(sheet.problems);
        self.items.extend(item);
    }
}

/// Which of some files a folder has: the first.
fn first_of<'n>(desk: Desk<'_>, folder: &str, names: &[&'n str]) -> Option<&'n str> {
    names.iter().copied().find(|name| {
        matches!(
            desk.root.tree.look(&super::sheet::join(folder, name)),
            Some(What::File | What::Link | What::Other)
        )
    })
}

/// Where JSON is broken.
fn json_place(error: &serde_json::Error) -> Place {
    Place {
        line: u32::try_from(error.line()).unwrap_or(u32::MAX).max(1),
        column: u32::try_from(error.column()).unwrap_or(u32::MAX).max(1),
    }
}
