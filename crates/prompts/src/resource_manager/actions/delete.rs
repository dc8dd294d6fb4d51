//! Deletes workspace resources. A deletion needs confirmation, protects resources that others use,
//! and leaves neighboring files alone.

use std::{
    fs,
    path::{Path, PathBuf},
};

use deliberate_toolkit::{ErrorCode, ToolError};

use super::write::{changed_paths, requested_id};
use crate::{
    model::{LibraryItemKind, LibraryLayer},
    resource_manager::{
        ManageContext, ManageResult, PreparedRequest,
        disk::{
            atomic_files, lock,
            resource_path::{FileLayout, ResourceFiles, check_id},
        },
        edit::dependents,
        errors::{confirmation_needed, io_error, manage_error},
        extra_fields,
        request::{Input, ManageReply},
    },
};

impl ManageContext {
    /// Deletes a workspace resource.
    pub(crate) fn delete(
        &self,
        kind: LibraryItemKind,
        input: &Input,
    ) -> Result<PreparedRequest, ToolError> {
        let id = requested_id(input)?;
        check_id(kind, id)?;
        let lock = lock::acquire(&self.library_paths().workspace)?;
        let library = self.refresh_library(kind, id)?;
        let files = self.find_existing(kind, id, &library)?;
        if files.layer == LibraryLayer::Shipped {
            return Err(manage_error(
                ErrorCode::Shipped,
                format!(
                    "`{}` is shipped with the program and can't be deleted.",
                    files.id
                ),
                Some(
                    "Update it: this creates a copy in the workspace, which is used instead."
                        .to_owned(),
                ),
            ));
        }
        Self::check_expected_hash(&library, &files, input)?;
        let shipped = Self::find_shipped(kind, &files.id);
        let mut users = dependents::find_dependents(&library, kind, &files.id);
        let in_use = self.active_methodology.as_deref();
        if kind == LibraryItemKind::Methodology
            && in_use.is_some_and(|it| it.eq_ignore_ascii_case(&files.id))
        {
            users.push("every command, as the active methodology".to_owned());
        }
        let is_used = !users.is_empty() && shipped.is_none();
        if is_used && extra_fields::text_field(&input.rest, "reason")?.is_none() {
            return Err(manage_error(
                ErrorCode::InUse,
                format!("`{}` is used by {}.", files.id, users.join(", ")),
                Some("Change those first, or give a `reason`.".to_owned()),
            ));
        }
        if input.confirm != Some(true) {
            return Err(confirmation_needed(&format!(
                "{} `{}` would be deleted, with its versions.",
                kind.as_str(),
                files.id
            )));
        }
        let mut notes = Vec::new();
        if shipped.is_some() {
            notes.push("The shipped version is used again.".to_owned());
        }
        if is_used {
            notes.push(format!("No longer available to: {}.", users.join(", ")));
        }
        let reply = ManageReply::new(format!(
            "Deleted {} `{}`: {}.",
            kind.as_str(),
            files.id,
            files.files.keys().cloned().collect::<Vec<_>>().join(", ")
        ))
        .with_fact("id", files.id.clone());
        Ok(PreparedRequest::write(lock, move |context| {
            let gone = context.remove_files(&files)?;
            Ok(ManageResult::with_changed_paths(reply, notes, gone))
        }))
    }

    /// Removes the files of a resource; files below it that belong to other resources stay.
    fn remove_files(&self, files: &ResourceFiles) -> Result<Vec<PathBuf>, ToolError> {
        let folder = self.ensure_folder(files)?;
        let gone = changed_paths(&folder, files);
        // Without its main file the resource no longer exists, even if a later removal fails.
        let main = folder.join(&files.main_file);
        fs::remove_file(&main).map_err(|error| io_error("remove", &main, &error))?;
        // Files next to a single-file resource may belong to another one.
        let own = files
            .files
            .keys()
            .filter(|_| files.layout == FileLayout::Folder);
        for name in own.chain(&history_files(&folder, files)) {
            let path = folder.join(name);
            if let Err(error) = fs::remove_file(&path)
                && error.kind() != std::io::ErrorKind::NotFound
            {
                return Err(io_error("remove", &path, &error));
            }
            atomic_files::remove_empty_folders(&folder, path.parent());
        }
        atomic_files::remove_temp_files(&folder);
        let root = self.ensure_kind_root(files.kind)?;
        if files.kind != LibraryItemKind::Prompt {
            // The whole folder belongs to the resource; a link in it is removed, not followed.
            let _ = fs::remove_dir_all(&folder);
        }
        atomic_files::remove_empty_folders(&root, Some(&folder));
        Ok(gone)
    }
}

/// Returns the version history file and damaged ones that were set aside.
fn history_files(folder: &Path, files: &ResourceFiles) -> Vec<String> {
    let name = files.history_file();
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|other| *other == name || other.starts_with(&format!("{name}.damaged-")))
        .collect()
}
