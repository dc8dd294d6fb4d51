//! The versions of a thing, kept in a hidden file beside it.
//!
//! The newest version is the state that was written last, so every state that ever was current can
//! be compared and restored. A state that someone wrote by hand is noticed, because it differs from
//! the newest version, and becomes a version before anything else is written. Files of earlier
//! programs, which kept whole records in place of files, are read as well.

use std::{fs, path::Path};

use deliberate_core::Timestamp;
use deliberate_toolkit::ToolError;
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

/// The most bytes that the versions of one thing may take.
const MAX_BYTES: usize = 16 << 20;

/// The longest file that is read.
const MAX_READ_BYTES: u64 = 64 << 20;

/// The versions of a thing.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct VersionHistory {
    resource_type: String,
    resource_id: String,
    current_version: u64,
    /// The newest first.
    pub(crate) versions: Vec<ResourceVersion>,
}

/// One of them.
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
    /// The files it had, or the record that an earlier program kept.
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

/// What a version holds.
pub(crate) enum VersionContent<'v> {
    /// Files.
    Files(FileTexts),
    /// The record of an earlier program.
    Record(Option<&'v Map<String, Value>>),
}

/// Why there is no history to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DamagedHistory;

impl VersionHistory {
    /// Reads the versions of a thing that stands in a folder; none if there are none.
    pub(crate) fn read(
        folder: &Path,
        thing: &ResourceFiles,
    ) -> Result<Result<Self, DamagedHistory>, ToolError> {
        let path = folder.join(thing.history_file());
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() => {}
            Ok(_) => return Ok(Err(DamagedHistory)),
            Err(_) => {
                return Ok(Ok(Self {
                    resource_type: thing.kind.as_str().to_owned(),
                    resource_id: thing.id.clone(),
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

    /// Reads them for someone who wants to see them.
    pub(crate) fn read_or_fail(folder: &Path, thing: &ResourceFiles) -> Result<Self, ToolError> {
        Self::read(folder, thing)?.map_err(|DamagedHistory| {
            manage_error(
                "DamagedHistory",
                format!(
                    "The versions of `{}` can't be read: `{}` is damaged.",
                    thing.id,
                    thing.history_file()
                ),
                Some(
                    "Mend or remove the file; the next update sets it aside and begins anew."
                        .to_owned(),
                ),
            )
        })
    }

    /// Reads them for someone who will add to them. Damaged ones are set aside, and a note says so.
    pub(crate) fn read_for_append(
        folder: &Path,
        thing: &ResourceFiles,
        notes: &mut Vec<String>,
    ) -> Result<Self, ToolError> {
        if let Ok(history) = Self::read(folder, thing)? {
            return Ok(history);
        }
        let name = thing.history_file();
        let aside = (1..1_000)
            .map(|number| format!("{name}.damaged-{number}"))
            .find(|aside| fs::symlink_metadata(folder.join(aside)).is_err())
            .unwrap_or_else(|| format!("{name}.damaged"));
        let path = folder.join(&name);
        fs::rename(&path, folder.join(&aside))
            .map_err(|error| io_error("set aside", &path, &error))?;
        notes.push(format!(
            "The earlier versions could not be read; their file was set aside as `{aside}`."
        ));
        Ok(Self {
            resource_type: thing.kind.as_str().to_owned(),
            resource_id: thing.id.clone(),
            ..Self::default()
        })
    }

    /// The number of the newest version; 0 if there is none.
    pub(crate) fn newest_number(&self) -> u64 {
        self.versions
            .iter()
            .map(|version| version.number)
            .chain([self.current_version])
            .max()
            .unwrap_or(0)
    }

    /// A version by its number.
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
                    "It has no versions yet: the first update makes them.".to_owned()
                } else {
                    format!("The newest are {}.", known.join(", "))
                };
                manage_error(
                    "NotFound",
                    format!("There is no version {number}."),
                    Some(hint),
                )
            })
    }

    /// Whether the newest version is this state.
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

    /// Writes them, as many as may be kept.
    pub(crate) fn write(
        &mut self,
        folder: &Path,
        thing: &ResourceFiles,
        most: usize,
    ) -> Result<(), ToolError> {
        self.versions.truncate(most.max(2));
        let mut text = self.to_json();
        while text.len() > MAX_BYTES && self.versions.len() > 2 {
            self.versions.pop();
            text = self.to_json();
        }
        atomic_files::write_file(folder, &thing.history_file(), &text)
    }

    fn to_json(&self) -> String {
        // Only texts and numbers: it can always be written.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}
