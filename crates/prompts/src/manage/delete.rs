//! Removes things of the workspace: with consent, not from under others, and nothing beside them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use deliberate_toolkit::ToolError;

use super::{
    Desk, Done,
    change::{paths, wanted_id},
    failure::{failed, on_disk, unconfirmed},
    fields, files, lock,
    place::{Form, Thing, checked_id},
    request::{Input, Told},
    users,
};
use crate::model::{Kind, Layer};

impl Desk {
    /// Removes a thing of the workspace.
    pub(super) fn delete(&self, kind: Kind, input: &Input) -> Result<Done, ToolError> {
        let id = wanted_id(input)?;
        checked_id(kind, id)?;
        let _held = lock::hold(&self.places().workspace)?;
        let library = self.current(kind, id)?;
        let thing = self.existing(kind, id, &library)?;
        if thing.layer == Layer::Shipped {
            return Err(failed(
                "Shipped",
                format!(
                    "`{}` is shipped with the program and can't be deleted.",
                    thing.id
                ),
                Some("Update it: that makes a copy in the workspace, which is used.".to_owned()),
            ));
        }
        Self::unchanged(&library, &thing, input)?;
        let shipped = Self::as_shipped(kind, &thing.id);
        let mut users = users::users(&library, kind, &thing.id);
        let in_use = self.in_use.as_deref();
        if kind == Kind::Methodology && in_use.is_some_and(|it| it.eq_ignore_ascii_case(&thing.id))
        {
            users.push("every command, as the methodology in use".to_owned());
        }
        let is_used = !users.is_empty() && shipped.is_none();
        if is_used && fields::text(&input.rest, "reason")?.is_none() {
            return Err(failed(
                "InUse",
                format!("`{}` is used by {}.", thing.id, users.join(", ")),
                Some("Change those first, or say why in `reason`.".to_owned()),
            ));
        }
        if input.confirm != Some(true) {
            return Err(unconfirmed(&format!(
                "{} `{}` would be deleted, with its versions.",
                kind.as_str(),
                thing.id
            )));
        }
        let gone = self.remove(&thing)?;
        let mut notes = Vec::new();
        if shipped.is_some() {
            notes.push("The shipped one is used again.".to_owned());
        }
        if is_used {
            notes.push(format!("Now without it: {}.", users.join(", ")));
        }
        let told = Told::new(format!(
            "Deleted {} `{}`: {}.",
            kind.as_str(),
            thing.id,
            thing.files.keys().cloned().collect::<Vec<_>>().join(", ")
        ))
        .with("id", thing.id.clone());
        Ok(Done::wrote(told, notes, gone))
    }

    /// Removes the files of a thing; what stands below it and is not its own stays.
    fn remove(&self, thing: &Thing) -> Result<Vec<PathBuf>, ToolError> {
        let folder = self.made_folder(thing)?;
        let gone = paths(&folder, thing);
        // Without its main file it is no thing any more, whatever happens next.
        let main = folder.join(&thing.main);
        fs::remove_file(&main).map_err(|error| on_disk("remove", &main, &error))?;
        // Files beside a single one may be another's too.
        let own = thing.files.keys().filter(|_| thing.form == Form::Folder);
        for name in own.chain(&kept_versions(&folder, thing)) {
            let path = folder.join(name);
            if let Err(error) = fs::remove_file(&path)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                return Err(on_disk("remove", &path, &error));
            }
            files::remove_empty(&folder, path.parent());
        }
        files::sweep(&folder);
        let root = self.made_root(thing.kind)?;
        if thing.kind != Kind::Prompt {
            // The whole folder is its own; a link in it is removed, not followed.
            let _ = fs::remove_dir_all(&folder);
        }
        files::remove_empty(&root, Some(&folder));
        Ok(gone)
    }
}

/// The file of its versions, and those that were set aside.
fn kept_versions(folder: &Path, thing: &Thing) -> Vec<String> {
    let name = thing.history();
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|other| *other == name || other.starts_with(&format!("{name}.damaged-")))
        .collect()
}
