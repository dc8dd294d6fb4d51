//! Shows the versions of a thing, the difference between two of them, and makes an earlier one the
//! current one again.

use std::fmt::Write as _;

use deliberate_core::cut_to_chars;
use deliberate_toolkit::ToolError;
use serde_json::{Map, Value, json};

use super::{
    Desk, Done,
    change::{paths, wanted_id},
    difference,
    draft::Draft,
    failure::{failed, refused, unconfirmed},
    fields,
    files::Files,
    history::{History, State, Version},
    lock,
    place::{Form, Thing, checked_id},
    request::{Format, Input, Told},
};
use crate::model::{Kind, Layer};

/// Versions that are listed unless more are asked for.
const USUAL: usize = 20;

impl Desk {
    /// Lists the versions.
    pub(super) fn versions(&self, kind: Kind, input: &Input) -> Result<Done, ToolError> {
        let (thing, history) = self.kept(kind, wanted_id(input)?)?;
        let limit = input.limit.unwrap_or(USUAL);
        let shown: Vec<Value> = history
            .versions
            .iter()
            .take(limit)
            .map(|version| {
                json!({
                    "version": version.number,
                    "date": version.date,
                    "description": plain(&version.description),
                    "diff": plain(&version.diff_summary),
                })
            })
            .collect();
        let mut said = if history.versions.is_empty() {
            format!(
                "`{}` has no versions yet; the first update makes them.",
                thing.id
            )
        } else {
            format!("{} versions of `{}`:", history.versions.len(), thing.id)
        };
        for version in history.versions.iter().take(limit) {
            let _ = write!(
                said,
                "\n{}  {}  {}  {}",
                version.number,
                version.date,
                plain(&version.diff_summary),
                plain(&version.description)
            );
        }
        if !history.versions.is_empty() && !history.has_newest(&thing.files) {
            said.push_str("\nThe files were changed since by hand.");
        }
        if input.format == Some(Format::Json) {
            said = Value::Array(shown.clone()).to_string();
        }
        let told = Told::new(said)
            .with("id", thing.id)
            .with("total", history.versions.len())
            .with("versions", shown);
        Ok(Done::said(told, Vec::new()))
    }

    /// Shows the difference between two versions, or between one and what is there now.
    pub(super) fn compare(&self, kind: Kind, input: &Input) -> Result<Done, ToolError> {
        let (thing, history) = self.kept(kind, wanted_id(input)?)?;
        let from = input.from_version.or(input.version).or_else(|| {
            let before = |version: &&Version| {
                input.to_version.is_none_or(|to| version.number < to)
                    && (input.to_version.is_some() || Self::differs(&thing, version))
            };
            Some(history.versions.iter().find(before)?.number)
        });
        let Some(from) = from else {
            return Err(refused(
                format!("`{}` has no version to compare with.", thing.id),
                "Action history lists the versions.",
            ));
        };
        let old = Self::files_of(&thing, history.find(from)?)?;
        let (new, to) = match input.to_version {
            Some(to) => (
                Self::files_of(&thing, history.find(to)?)?,
                format!("version {to}"),
            ),
            None => (thing.files.clone(), "now".to_owned()),
        };
        let diff = difference::unified(&old, &new);
        let said = if diff.is_empty() {
            format!("No difference between version {from} and {to}.")
        } else {
            format!(
                "`{}`, version {from} → {to}:\n{}",
                thing.id,
                diff.trim_end()
            )
        };
        let told = Told::new(said)
            .with("id", thing.id)
            .with("from_version", from)
            .with("to_version", input.to_version)
            .with("diff_summary", difference::summary(&old, &new));
        Ok(Done::said(told, Vec::new()))
    }

    /// Makes a version the current one. What is current now is kept first.
    pub(super) fn roll_back(&self, kind: Kind, input: &Input) -> Result<Done, ToolError> {
        let id = wanted_id(input)?;
        checked_id(kind, id)?;
        let Some(number) = input.version else {
            return Err(refused(
                "`version` is needed to roll back.",
                "Action history lists the versions.",
            ));
        };
        let _held = lock::hold(&self.places().workspace)?;
        let library = self.current(kind, id)?;
        let (before, history) = self.kept(kind, id)?;
        let files = Self::files_of(&before, history.find(number)?)?;
        Self::unchanged(&library, &before, input)?;
        if input.confirm != Some(true) {
            return Err(unconfirmed(&format!(
                "`{}` would become what it was as version {number} ({}).",
                before.id,
                difference::summary(&before.files, &files)
            )));
        }
        if files == before.files {
            let told = Told::new(format!("`{}` is like version {number} already.", before.id));
            return Ok(Done::said(told, Vec::new()));
        }
        let after = Thing {
            files,
            layer: Layer::Workspace,
            ..before.clone()
        };
        self.leaves_listed(&after, &before.files)?;
        let tried = self.try_out(&library, &after)?;
        let mut notes = tried.notes;
        let reason = fields::text(&input.rest, "reason")?.map_or_else(
            || format!("Rolled back to version {number}"),
            |reason| format!("Rolled back to version {number}: {reason}"),
        );
        let (folder, version) = self.replace(&before, &after, true, &reason, &mut notes)?;
        let told = Told::new(format!(
            "Rolled {} `{}` back to version {number}; that is version {} now.\n{}",
            kind.as_str(),
            after.id,
            version.unwrap_or_default(),
            difference::unified(&before.files, &after.files).trim_end()
        ))
        .with("id", after.id.clone())
        .with("hash", tried.hash)
        .with("version", version)
        .with("restored", number);
        Ok(Done::wrote(told, notes, paths(&folder, &after)))
    }

    /// A thing of the workspace with its versions.
    fn kept(&self, kind: Kind, id: &str) -> Result<(Thing, History), ToolError> {
        checked_id(kind, id)?;
        let library = self.engine.shelf.now().unwrap_or_default();
        let thing = self.existing(kind, id, &library)?;
        if thing.layer == Layer::Shipped {
            return Ok((thing, History::default()));
        }
        let folder = self.folder_of(&thing)?;
        let history = History::shown(&folder, &thing)?;
        Ok((thing, history))
    }

    fn differs(thing: &Thing, version: &Version) -> bool {
        Self::files_of(thing, version).is_ok_and(|files| files != thing.files)
    }

    /// The files of a version; those of a record that an earlier program kept are made from it.
    fn files_of(thing: &Thing, version: &Version) -> Result<Files, ToolError> {
        match version.state() {
            State::Files(files)
                if files.contains_key(&thing.main)
                    && files.keys().all(|name| is_own(thing, name)) =>
            {
                Ok(files)
            }
            State::Record(Some(record)) if !record.is_empty() => from_record(thing, record),
            _ => Err(failed(
                "DamagedHistory",
                format!(
                    "Version {} holds nothing that can be restored.",
                    version.number
                ),
                Some("Choose another one.".to_owned()),
            )),
        }
    }
}

/// What a thing may be without.
const CLEARED: [&str; 9] = [
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

/// The current files with what a record says put into them.
fn from_record(thing: &Thing, record: &Map<String, Value>) -> Result<Files, ToolError> {
    let known = fields::of(thing.kind);
    let mut given: Map<String, Value> = record
        .iter()
        .map(|(name, value)| (fields::snake(name), value.clone()))
        .filter(|(name, value)| known.contains(&name.as_str()) && !value.is_null())
        .collect();
    // A record is whole: what it does not have was not there.
    for name in known.iter().filter(|name| CLEARED.contains(name)) {
        given.entry(*name).or_insert_with(|| "".into());
    }
    let mut thing = thing.clone();
    let mut draft = Draft::open(&mut thing)?;
    draft.apply(&given)?;
    draft.close();
    Ok(thing.files)
}

/// Whether a name in a history, which anyone may have written, is that of a file of the thing.
fn is_own(thing: &Thing, name: &str) -> bool {
    let is_plain = |part: &str| {
        !part.is_empty() && !part.starts_with('.') && !part.contains(['\\', '\0', ':'])
    };
    match (thing.form, name.split_once('/')) {
        (_, None) => is_plain(name),
        (Form::Folder, Some((first, _))) => {
            name.split('/').all(is_plain) && (thing.kind != Kind::Prompt || first == "tools")
        }
        _ => false,
    }
}

fn plain(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    cut_to_chars(&text.replace(['\n', '\r'], " "), 120)
}
