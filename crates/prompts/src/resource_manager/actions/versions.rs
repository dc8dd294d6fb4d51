//! The versions of a resource: lists them, compares two of them, and restores one.

use std::fmt::Write as _;

use deliberate_core::truncate_chars;
use deliberate_toolkit::{ErrorCode, ToolError};
use serde_json::{Map, Value, json};

use super::write::{changed_paths, requested_id};
use crate::{
    model::{LibraryItemKind, LibraryLayer},
    resource_manager::{
        ManageContext, ManageResult, PreparedRequest,
        disk::{
            atomic_files::FileTexts,
            history::{ResourceVersion, VersionContent, VersionHistory},
            lock,
            resource_path::{FileLayout, ResourceFiles, check_id},
        },
        edit::{diff, file_draft::FileDraft},
        errors::{confirmation_needed, invalid_input, manage_error},
        extra_fields,
        request::{Input, ManageReply, ReplyFormat},
    },
};

/// The versions that are listed by default.
const DEFAULT_LIMIT: usize = 20;

impl ManageContext {
    /// Lists the versions.
    pub(crate) fn list_versions(
        &self,
        kind: LibraryItemKind,
        input: &Input,
    ) -> Result<ManageResult, ToolError> {
        let (resource_files, history) = self.load_history(kind, requested_id(input)?)?;
        let limit = input.limit.unwrap_or(DEFAULT_LIMIT);
        let shown: Vec<Value> = history
            .versions
            .iter()
            .take(limit)
            .map(|version| {
                json!({
                    "version": version.number,
                    "date": version.date,
                    "description": single_line(&version.description),
                    "diff": single_line(&version.diff_summary),
                })
            })
            .collect();
        let mut text = if history.versions.is_empty() {
            format!(
                "`{}` has no versions yet; the first update creates them.",
                resource_files.id
            )
        } else {
            format!(
                "{} versions of `{}`:",
                history.versions.len(),
                resource_files.id
            )
        };
        for version in history.versions.iter().take(limit) {
            let _ = write!(
                text,
                "\n{}  {}  {}  {}",
                version.number,
                version.date,
                single_line(&version.diff_summary),
                single_line(&version.description)
            );
        }
        if !history.versions.is_empty() && !history.newest_matches(&resource_files.files) {
            text.push_str("\nThe files were edited by hand since then.");
        }
        if input.format == Some(ReplyFormat::Json) {
            text = Value::Array(shown.clone()).to_string();
        }
        let reply = ManageReply::new(text)
            .with_fact("id", resource_files.id)
            .with_fact("total", history.versions.len())
            .with_fact("versions", shown);
        Ok(ManageResult::without_changes(reply, Vec::new()))
    }

    /// Shows the difference between two versions, or between a version and the current files.
    pub(crate) fn compare(
        &self,
        kind: LibraryItemKind,
        input: &Input,
    ) -> Result<ManageResult, ToolError> {
        let (files, history) = self.load_history(kind, requested_id(input)?)?;
        let from = input.from_version.or(input.version).or_else(|| {
            let before = |version: &&ResourceVersion| {
                input.to_version.is_none_or(|to| version.number < to)
                    && (input.to_version.is_some() || Self::differs_from_version(&files, version))
            };
            Some(history.versions.iter().find(before)?.number)
        });
        let Some(from) = from else {
            return Err(invalid_input(
                format!("`{}` has no version to compare with.", files.id),
                "Action history lists the versions.",
            ));
        };
        let old = Self::version_files(&files, history.find(from)?)?;
        let (new, to) = match input.to_version {
            Some(to) => (
                Self::version_files(&files, history.find(to)?)?,
                format!("version {to}"),
            ),
            None => (files.files.clone(), "now".to_owned()),
        };
        let diff = diff::unified_diff(&old, &new);
        let text = if diff.is_empty() {
            format!("No difference between version {from} and {to}.")
        } else {
            format!(
                "`{}`, version {from} → {to}:\n{}",
                files.id,
                diff.trim_end()
            )
        };
        let reply = ManageReply::new(text)
            .with_fact("id", files.id)
            .with_fact("from_version", from)
            .with_fact("to_version", input.to_version)
            .with_fact("diff_summary", diff::diff_summary(&old, &new));
        Ok(ManageResult::without_changes(reply, Vec::new()))
    }

    /// Restores a version. The current state is stored as a version first.
    pub(crate) fn roll_back(
        &self,
        kind: LibraryItemKind,
        input: &Input,
    ) -> Result<PreparedRequest, ToolError> {
        let id = requested_id(input)?;
        check_id(kind, id)?;
        let Some(number) = input.version else {
            return Err(invalid_input(
                "`version` is needed to roll back.",
                "Action history lists the versions.",
            ));
        };
        let lock = lock::acquire(&self.library_paths().workspace)?;
        let library = self.refresh_library(kind, id)?;
        let (before, history) = self.load_history(kind, id)?;
        let files = Self::version_files(&before, history.find(number)?)?;
        Self::check_expected_hash(&library, &before, input)?;
        if input.confirm != Some(true) {
            return Err(confirmation_needed(&format!(
                "`{}` would be restored to version {number} ({}).",
                before.id,
                diff::diff_summary(&before.files, &files)
            )));
        }
        if files == before.files {
            let reply = ManageReply::new(format!(
                "`{}` is already identical to version {number}.",
                before.id
            ));
            return Ok(ManageResult::without_changes(reply, Vec::new()).into());
        }
        let after = ResourceFiles {
            files,
            layer: LibraryLayer::Workspace,
            ..before.clone()
        };
        self.check_allowed_scripts_unchanged(&after, &before.files)?;
        let result = self.dry_run(&library, &after)?;
        let mut notes = result.notes;
        let reason = extra_fields::text_field(&input.rest, "reason")?.map_or_else(
            || format!("Rolled back to version {number}"),
            |reason| format!("Rolled back to version {number}: {reason}"),
        );
        let changes = diff::unified_diff(&before.files, &after.files);
        Ok(PreparedRequest::write(lock, move |context| {
            let (folder, version) =
                context.replace_files(&before, &after, true, &reason, &mut notes)?;
            let reply = ManageReply::new(format!(
                "Rolled {} `{}` back to version {number}; this is now version {}.\n{}",
                kind.as_str(),
                after.id,
                version.unwrap_or_default(),
                changes.trim_end()
            ))
            .with_fact("id", after.id.clone())
            .with_fact("hash", result.hash)
            .with_fact("version", version)
            .with_fact("restored", number);
            let changed = changed_paths(&folder, &after);
            Ok(ManageResult::with_changed_paths(reply, notes, changed))
        }))
    }

    /// Returns a workspace resource with its versions.
    fn load_history(
        &self,
        kind: LibraryItemKind,
        id: &str,
    ) -> Result<(ResourceFiles, VersionHistory), ToolError> {
        check_id(kind, id)?;
        let library = self.engine.live_library.current().unwrap_or_default();
        let files = self.find_existing(kind, id, &library)?;
        if files.layer == LibraryLayer::Shipped {
            return Ok((files, VersionHistory::default()));
        }
        let folder = self.resource_folder(&files)?;
        let history = VersionHistory::read_or_fail(&folder, &files)?;
        Ok((files, history))
    }

    fn differs_from_version(resource_files: &ResourceFiles, version: &ResourceVersion) -> bool {
        Self::version_files(resource_files, version)
            .is_ok_and(|files| files != resource_files.files)
    }

    /// Returns the files of a version; a record of an earlier program is converted to files.
    fn version_files(
        resource_files: &ResourceFiles,
        version: &ResourceVersion,
    ) -> Result<FileTexts, ToolError> {
        match version.content() {
            VersionContent::Files(files)
                if files.contains_key(&resource_files.main_file)
                    && files
                        .keys()
                        .all(|name| is_resource_file(resource_files, name)) =>
            {
                Ok(files)
            }
            VersionContent::Record(Some(record)) if !record.is_empty() => {
                files_from_record(resource_files, record)
            }
            _ => Err(manage_error(
                ErrorCode::DamagedHistory,
                format!(
                    "Version {} contains nothing that can be restored.",
                    version.number
                ),
                Some("Choose another version.".to_owned()),
            )),
        }
    }
}

/// The fields that a resource can do without.
const CLEARABLE_FIELDS: [&str; 9] = [
    "system_message",
    "user_message_template",
    "arguments",
    "chain_steps",
    "gate_configuration",
    "guidance",
    "pass_criteria",
    "activation",
    "retry_config",
];

/// Returns the current files with the fields of a record applied.
fn files_from_record(
    files: &ResourceFiles,
    record: &Map<String, Value>,
) -> Result<FileTexts, ToolError> {
    let known = extra_fields::resource_fields(files.kind);
    let mut given: Map<String, Value> = record
        .iter()
        .map(|(name, value)| (extra_fields::to_snake_case(name), value.clone()))
        .filter(|(name, value)| known.contains(&name.as_str()) && !value.is_null())
        .collect();
    // A record is complete: fields that it lacks did not exist.
    for name in known.iter().filter(|name| CLEARABLE_FIELDS.contains(name)) {
        given.entry(*name).or_insert_with(|| "".into());
    }
    let mut files = files.clone();
    let mut draft = FileDraft::open(&mut files)?;
    draft.apply(&given)?;
    draft.finish();
    Ok(files.files)
}

/// Returns whether a file name in a history, which anyone may have written, belongs to the
/// resource.
fn is_resource_file(files: &ResourceFiles, name: &str) -> bool {
    let is_plain = |part: &str| {
        !part.is_empty() && !part.starts_with('.') && !part.contains(['\\', '\0', ':'])
    };
    match (files.layout, name.split_once('/')) {
        (_, None) => is_plain(name),
        (FileLayout::Folder, Some((first, _))) => {
            name.split('/').all(is_plain)
                && (files.kind != LibraryItemKind::Prompt || first == "tools")
        }
        _ => false,
    }
}

fn single_line(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    truncate_chars(&text.replace(['\n', '\r'], " "), 120)
}
