//! Makes and changes things. Whoever does so holds the lock, goes by what is on the disk
//! and not by what was read before, and tries everything out before a file is touched.

use std::path::PathBuf;

use deliberate_toolkit::ToolError;
use serde_json::{Map, Value, json};

use super::{
    Desk, Done, difference,
    draft::{Draft, bad_category},
    failure::{failed, refused, taken_already, unknown},
    fields,
    files::{self, Files},
    history::History,
    lock,
    place::{self, Form, Thing, checked_id, is_name, mains},
    request::{Input, Told},
    steps,
};
use crate::model::{Kind, Layer};

impl Desk {
    /// Makes a new thing.
    pub(super) fn create(&self, kind: Kind, input: &Input) -> Result<Done, ToolError> {
        let id = wanted_id(input)?;
        checked_id(kind, id)?;
        required(kind, &input.rest)?;
        let _held = lock::hold(&self.places().workspace)?;
        let library = self.current(kind, id)?;
        if let Some((taken, origin)) = place::spelled(&library, kind, id) {
            return Err(taken_already(kind, &taken, &origin.file));
        }
        if let Some(thing) = self.in_workspace(kind, id)? {
            let file = format!("{}/{}", thing.way.join("/"), thing.main);
            return Err(taken_already(kind, &thing.id, &file));
        }
        let mut thing = Thing {
            kind,
            id: id.to_owned(),
            layer: Layer::Workspace,
            form: Form::Folder,
            way: self.way_of_new(kind, id, &input.rest, &library)?,
            main: mains(kind).first().copied().unwrap_or_default().to_owned(),
            files: Files::new(),
        };
        let mut notes = written(&mut thing, id, &input.rest)?;
        self.leaves_listed(&thing, &Files::new())?;
        let tried = self.try_out(&library, &thing)?;
        tried.names_are_known(&library, &thing)?;
        notes.extend(tried.notes);
        let folder = self.made_folder(&thing)?;
        files::replace(&folder, &Files::new(), &thing.files, &thing.main)?;
        let version = if fields::is_on(&input.rest, "skip_version")? {
            None
        } else {
            let mut history = History::to_add_to(&folder, &thing, &mut notes)?;
            let reason = fields::text(&input.rest, "reason")?;
            let number = history.add(&thing.files, reason.unwrap_or("Created"), self.now);
            history.write(&folder, &thing, self.versions_kept())?;
            Some(number)
        };
        let names: Vec<&str> = thing.files.keys().map(String::as_str).collect();
        let told = Told::new(format!(
            "Created {} `{id}` in {}: {}.",
            kind.as_str(),
            thing.way.join("/"),
            names.join(", ")
        ))
        .with("id", id)
        .with("hash", tried.hash)
        .with("version", version);
        Ok(Done::wrote(told, notes, paths(&folder, &thing)))
    }

    /// Changes what is given of a thing and nothing else.
    pub(super) fn update(&self, kind: Kind, input: &Input) -> Result<Done, ToolError> {
        let id = wanted_id(input)?;
        checked_id(kind, id)?;
        let _held = lock::hold(&self.places().workspace)?;
        let library = self.current(kind, id)?;
        let before = self.existing(kind, id, &library)?;
        Self::unchanged(&library, &before, input)?;
        if before.form == Form::Markdown {
            return Err(failed(
                "OldForm",
                format!("`{id}` is in the older Markdown form, which is read but not written."),
                Some("Delete it and create it anew, or change the file by hand.".to_owned()),
            ));
        }
        let mut thing = before.clone();
        thing.layer = Layer::Workspace;
        let given = sections(&input.rest)?;
        let mut draft = Draft::open(&mut thing)?;
        draft.apply(&given)?;
        steps::apply(&mut draft, &given)?;
        let mut notes = draft.close();
        if thing.files == before.files {
            let told = Told::new(format!("Nothing to change: `{id}` is like that already."));
            return Ok(Done::said(told, notes));
        }
        self.leaves_listed(&thing, &before.files)?;
        let tried = self.try_out(&library, &thing)?;
        tried.names_are_known(&library, &thing)?;
        notes.extend(tried.notes);
        let reason = fields::text(&input.rest, "reason")?.unwrap_or("Updated");
        let keeps = !fields::is_on(&input.rest, "skip_version")?;
        let (folder, version) = self.replace(&before, &thing, keeps, reason, &mut notes)?;
        if before.layer == Layer::Shipped {
            notes.push(
                "It is a copy in the workspace now, used in place of the shipped one; delete it \
                 to have that back."
                    .to_owned(),
            );
        }
        let told = Told::new(format!(
            "Updated {} `{}`{}.\n{}",
            kind.as_str(),
            thing.id,
            version.map_or_else(String::new, |number| format!(", version {number}")),
            difference::unified(&before.files, &thing.files).trim_end()
        ))
        .with("id", thing.id.clone())
        .with("hash", tried.hash)
        .with("version", version);
        Ok(Done::wrote(told, notes, paths(&folder, &thing)))
    }

    /// Writes the new files of a thing and its versions: first what was there, if that is not kept
    /// yet, so that nothing is lost whatever happens next.
    pub(super) fn replace(
        &self,
        before: &Thing,
        after: &Thing,
        keeps: bool,
        reason: &str,
        notes: &mut Vec<String>,
    ) -> Result<(PathBuf, Option<u64>), ToolError> {
        let folder = self.made_folder(after)?;
        let on_disk = match before.layer {
            Layer::Workspace => before.files.clone(),
            Layer::Shipped => Files::new(),
        };
        if !keeps {
            files::replace(&folder, &on_disk, &after.files, &after.main)?;
            return Ok((folder, None));
        }
        let mut history = History::to_add_to(&folder, after, notes)?;
        if !history.has_newest(&before.files) {
            let what = match (before.layer, history.versions.is_empty()) {
                (Layer::Shipped, _) => "As shipped",
                (Layer::Workspace, true) => "Before the first update",
                (Layer::Workspace, false) => "Changed outside",
            };
            history.add(&before.files, what, self.now);
            history.write(&folder, after, self.versions_kept())?;
        }
        files::replace(&folder, &on_disk, &after.files, &after.main)?;
        let number = history.add(&after.files, reason, self.now);
        history.write(&folder, after, self.versions_kept())?;
        Ok((folder, Some(number)))
    }

    /// The thing as it is now: that of the workspace, else the shipped one.
    pub(super) fn existing(
        &self,
        kind: Kind,
        id: &str,
        library: &crate::library::Library,
    ) -> Result<Thing, ToolError> {
        if let Some(thing) = self.in_workspace(kind, id)? {
            return Ok(thing);
        }
        Self::as_shipped(kind, id)
            .ok_or_else(|| unknown(kind.as_str(), id, place::ids(library, kind)))
    }

    /// Refuses if the thing is not what the caller saw.
    pub(super) fn unchanged(
        library: &crate::library::Library,
        thing: &Thing,
        input: &Input,
    ) -> Result<(), ToolError> {
        let Some(expected) = &input.expected_hash else {
            return Ok(());
        };
        let now = place::spelled(library, thing.kind, &thing.id)
            .map(|(_, origin)| origin.hash)
            .unwrap_or_default();
        // What is remembered of a file that can't be read any more is not what is there.
        let is_remembered = library.problems.iter().any(|problem| {
            problem.last_good_kept
                && problem.kind == thing.kind
                && problem.id.eq_ignore_ascii_case(&thing.id)
        });
        if *expected == now && !is_remembered {
            return Ok(());
        }
        Err(failed(
            "Conflict",
            format!(
                "`{}` was changed since: its hash is {now} now. Nothing was written.",
                thing.id
            ),
            Some("Inspect it, then update again with the hash that it has now.".to_owned()),
        ))
    }

    /// Where a new thing will stand.
    fn way_of_new(
        &self,
        kind: Kind,
        id: &str,
        given: &Map<String, Value>,
        library: &crate::library::Library,
    ) -> Result<Vec<String>, ToolError> {
        if kind != Kind::Prompt {
            return Ok(vec![id.to_owned()]);
        }
        let category = fields::text(given, "category")?.filter(|it| !it.is_empty());
        if let Some(category) = category.filter(|it| !is_name(it)) {
            return Err(bad_category(category));
        }
        let mut way: Vec<String> = Vec::new();
        let mut inner = id;
        if let Some((parent, child)) = id.rsplit_once('/') {
            if let Some(outer) = self.in_workspace(kind, parent)?
                && outer.form == Form::Folder
            {
                way = outer.way;
                inner = child;
            } else if let Some(outer) = library.prompt(parent) {
                way.push(category.unwrap_or(&outer.category).to_owned());
            }
        }
        if way.is_empty() {
            let category = category.unwrap_or("general");
            if self
                .in_workspace(kind, category)?
                .is_some_and(|it| it.way.len() == 1)
            {
                return Err(refused(
                    format!("`{category}` is a prompt, so it can't be a category."),
                    "Choose another category.",
                ));
            }
            way.push(category.to_owned());
        }
        way.extend(inner.split('/').map(str::to_owned));
        Ok(way)
    }
}

/// The files of a new thing.
fn written(
    thing: &mut Thing,
    id: &str,
    given: &Map<String, Value>,
) -> Result<Vec<String>, ToolError> {
    let kind = thing.kind;
    let category = thing.way.first().cloned();
    let name = given.get("name").and_then(Value::as_str).unwrap_or(id);
    let last = id.rsplit('/').next().unwrap_or(id);
    let mut draft = Draft::open(thing)?;
    draft.set("id", last.into())?;
    let mut given = given.clone();
    match kind {
        Kind::Prompt => {
            given.insert("category".to_owned(), category.into());
        }
        Kind::Gate if !given.contains_key("type") => {
            let decides = given.contains_key("pass_criteria");
            draft.set(
                "type",
                if decides { "validation" } else { "guidance" }.into(),
            )?;
        }
        Kind::Methodology => {
            draft.set("type", name.into())?;
            draft.set("version", "1.0.0".into())?;
            draft.set("enabled", true.into())?;
        }
        _ => {}
    }
    if kind == Kind::Gate && !given.contains_key("activation") {
        // Without a word about it, a gate is active everywhere.
        draft.set("activation", json!({ "explicit_request": true }))?;
        draft.notes.push(
            "It is active only where it is named. Give `activation` to have it come by itself."
                .to_owned(),
        );
    }
    draft.apply(&given)?;
    Ok(draft.close())
}

/// The id that a call names.
pub(super) fn wanted_id(input: &Input) -> Result<&str, ToolError> {
    input
        .id
        .as_deref()
        .filter(|id| !id.is_empty())
        .ok_or_else(|| {
            refused(
                format!("`id` is needed to {}.", input.action.as_str()),
                "Name the thing; action list shows what there is.",
            )
        })
}

fn required(kind: Kind, given: &Map<String, Value>) -> Result<(), ToolError> {
    let needed: &[&str] = match kind {
        Kind::Prompt | Kind::Gate => &["name", "description"],
        Kind::Methodology => &[
            "name",
            "system_prompt_guidance",
            "phases",
            "methodology_gates",
        ],
        Kind::Style | Kind::Script => &["name", "guidance"],
    };
    let one_of: &[&str] = match kind {
        Kind::Prompt => &["user_message_template", "chain_steps", "system_message"],
        Kind::Gate => &["guidance", "pass_criteria"],
        _ => &[],
    };
    let is_given = |name: &&str| {
        given.get(*name).is_some_and(|value| match value {
            Value::String(text) => !text.trim().is_empty(),
            Value::Array(items) => !items.is_empty(),
            _ => true,
        })
    };
    let mut missing: Vec<String> = needed
        .iter()
        .filter(|name| !is_given(name))
        .map(|name| format!("`{name}`"))
        .collect();
    if !one_of.is_empty() && !one_of.iter().any(is_given) {
        missing.push(format!("one of `{}`", one_of.join("`, `")));
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(refused(
        format!("A {} needs {}.", kind.as_str(), missing.join(", ")),
        "Nothing was written; call again with them.",
    ))
}

/// The older way to say which part is meant.
fn sections(given: &Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
    let mut given = given.clone();
    let section = fields::text(&given, "section")?.map(str::to_owned);
    let content = given.shift_remove("section_content");
    given.shift_remove("section");
    match (section, content) {
        (None, None) => Ok(given),
        (Some(section), Some(content)) => {
            let plain = section.trim().to_lowercase().replace([' ', '-'], "_");
            let name = match plain.as_str() {
                "user_message_template" | "user_message" | "template" => "user_message_template",
                "system_message" | "system" => "system_message",
                "description" => "description",
                "name" | "title" => "name",
                "arguments" => "arguments",
                "chain_steps" => "chain_steps",
                "gate_configuration" | "gates" => "gate_configuration",
                "guidance" => "guidance",
                _ => {
                    return Err(refused(
                        format!("There is no section `{}`.", place::shown(&section)),
                        "Give the field itself, such as `user_message_template`.",
                    ));
                }
            };
            given.insert(name.to_owned(), content);
            Ok(given)
        }
        _ => Err(refused(
            "`section` and `section_content` belong together.",
            "Give both, or the field itself.",
        )),
    }
}

/// What the library must look at again.
pub(super) fn paths(folder: &std::path::Path, thing: &Thing) -> Vec<PathBuf> {
    vec![folder.join(&thing.main)]
}
