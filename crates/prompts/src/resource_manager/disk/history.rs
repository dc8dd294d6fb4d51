//! The versions of a resource, in a hidden file next to it.
//!
//! The newest version is the state that was written last, so every state that was ever current can
//! be compared and restored. A state that was edited by hand is detected because it differs from
//! the newest version, and it becomes a version before anything else is written. Files of earlier
//! programs, which stored whole records instead of files, are read as well.

use std::{fs, path::Path};

use deliberate_core::Timestamp;
use deliberate_toolkit::{ErrorCode, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    atomic_files::{self, FileTexts},
    resource_path::ResourceFiles,
};
use crate::resource_manager::{
    edit::diff,
    errors::{io_error, manage_error},
};

/// The most bytes of all versions of one resource.
const MAX_BYTES: usize = 16 << 20;

/// The most bytes of a history file that is read.
const MAX_READ_BYTES: u64 = 64 << 20;

/// The versions of a resource.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct VersionHistory {
    resource_type: String,
    resource_id: String,
    current_version: u64,
    /// The versions, newest first.
    pub(crate) versions: Vec<ResourceVersion>,
}

/// One version of a resource.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ResourceVersion {
    #[serde(rename = "version")]
    pub(crate) number: u64,
    #[serde(default)]
    pub(crate) date: String,
    #[serde(default)]
    pub(crate) snapshot: Value,
    #[serde(default)]
    pub(crate) diff_summary: Value,
    #[serde(default)]
    pub(crate) description: Value,
}

impl ResourceVersion {
    /// Returns the files of the version, or the record of an earlier program.
    pub(crate) fn content(&self) -> VersionContent<'_> {
        let files = self.snapshot.get("files").and_then(Value::as_object);
        match files {
            Some(files) => VersionContent::Files(
                files
                    .iter()
                    .filter_map(|(name, text)| Some((name.clone(), text.as_str()?.to_owned())))
                    .collect(),
            ),
            None => VersionContent::Record(self.snapshot.as_object()),
        }
    }
}

/// The content of a version.
pub(crate) enum VersionContent<'v> {
    Files(FileTexts),
    /// The record of an earlier program.
    Record(Option<&'v Map<String, Value>>),
}

/// The error of a history file that cannot be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DamagedHistory;

impl VersionHistory {
    /// Reads the versions of a resource in a folder; empty if there are none.
    pub(crate) fn read(
        folder: &Path,
        files: &ResourceFiles,
    ) -> Result<Result<Self, DamagedHistory>, ToolError> {
        let path = folder.join(files.history_file());
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() => {}
            Ok(_) => return Ok(Err(DamagedHistory)),
            Err(_) => {
                return Ok(Ok(Self {
                    resource_type: files.kind.as_str().to_owned(),
                    resource_id: files.id.clone(),
                    ..Self::default()
                }));
            }
        }
        let Some(text) = atomic_files::read_text(&path, MAX_READ_BYTES)? else {
            return Ok(Err(DamagedHistory));
        };
        let Ok(mut read) = serde_json::from_str::<Self>(&text) else {
            return Ok(Err(DamagedHistory));
        };
        read.versions
            .sort_by_key(|version| std::cmp::Reverse(version.number));
        Ok(Ok(read))
    }

    /// Reads the versions to show them.
    pub(crate) fn read_or_fail(folder: &Path, thing: &ResourceFiles) -> Result<Self, ToolError> {
        Self::read(folder, thing)?.map_err(|DamagedHistory| {
            manage_error(
                ErrorCode::DamagedHistory,
                format!(
                    "The versions of `{}` can't be read: `{}` is damaged.",
                    thing.id,
                    thing.history_file()
                ),
                Some(
                    "Repair or remove the file; the next update sets it aside and starts a new \
                     one."
                        .to_owned(),
                ),
            )
        })
    }

    /// Reads the versions to add one. A damaged file is set aside, and a note says so.
    pub(crate) fn read_for_append(
        folder: &Path,
        files: &ResourceFiles,
        notes: &mut Vec<String>,
    ) -> Result<Self, ToolError> {
        if let Ok(history) = Self::read(folder, files)? {
            return Ok(history);
        }
        let name = files.history_file();
        let aside = (1..1_000)
            .map(|number| format!("{name}.damaged-{number}"))
            .find(|aside| fs::symlink_metadata(folder.join(aside)).is_err())
            .unwrap_or_else(|| format!("{name}.damaged"));
        let path = folder.join(&name);
        fs::rename(&path, folder.join(&aside))
            .map_err(|error| io_error("set aside", &path, &error))?;
        notes.push(format!(
            "The earlier versions could not be read; their file was renamed to `{aside}`."
        ));
        Ok(Self {
            resource_type: files.kind.as_str().to_owned(),
            resource_id: files.id.clone(),
            ..Self::default()
        })
    }

    /// Returns the number of the newest version; 0 if there is none.
    pub(crate) fn newest_number(&self) -> u64 {
        self.versions
            .iter()
            .map(|version| version.number)
            .chain([self.current_version])
            .max()
            .unwrap_or(0)
    }

    /// Returns a version by its number.
    pub(crate) fn find(&self, number: u64) -> Result<&ResourceVersion, ToolError> {
        self.versions
            .iter()
            .find(|version| version.number == number)
            .ok_or_else(|| {
                let known: Vec<String> = self
                    .versions
                    .iter()
                    .take(10)
                    .map(|version| version.number.to_string())
                    .collect();
                let hint = if known.is_empty() {
                    "It has no versions yet; the first update creates them.".to_owned()
                } else {
                    format!("The newest are {}.", known.join(", "))
                };
                manage_error(
                    ErrorCode::NotFound,
                    format!("There is no version {number}."),
                    Some(hint),
                )
            })
    }

    /// Returns whether the newest version has these files.
    pub(crate) fn newest_matches(&self, files: &FileTexts) -> bool {
        self.versions.first().is_some_and(
            |version| matches!(version.content(), VersionContent::Files(newest) if newest == *files),
        )
    }

    /// Adds a version and returns its number.
    pub(crate) fn add(&mut self, files: &FileTexts, description: &str, now: Timestamp) -> u64 {
        let before = match self.versions.first().map(ResourceVersion::content) {
            Some(VersionContent::Files(before)) => before,
            _ => FileTexts::new(),
        };
        let number = self.newest_number().saturating_add(1);
        self.versions.insert(
            0,
            ResourceVersion {
                number,
                date: now.to_string(),
                snapshot: json!({ "files": files }),
                diff_summary: diff::diff_summary(&before, files).into(),
                description: description.into(),
            },
        );
        self.current_version = number;
        number
    }

    /// Writes the versions, dropping the oldest above the limit.
    pub(crate) fn write(
        &mut self,
        folder: &Path,
        files: &ResourceFiles,
        most: usize,
    ) -> Result<(), ToolError> {
        self.versions.truncate(most.max(2));
        let mut text = self.to_json();
        while text.len() > MAX_BYTES && self.versions.len() > 2 {
            self.versions.pop();
            text = self.to_json();
        }
        atomic_files::write_file(folder, &files.history_file(), &text)
    }

    fn to_json(&self) -> String {
        // Texts and numbers can always be serialized.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}
