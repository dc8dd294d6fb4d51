//! Creates and updates resources. These actions hold the workspace lock, work from the files on
//! disk and not from an earlier read, and validate everything before a file is touched.

use std::path::PathBuf;

use deliberate_toolkit::{ErrorCode, ToolError};
use serde_json::{Map, Value, json};

use super::chain_steps;
use crate::{
    model::{LibraryItemKind, LibraryLayer},
    resource_manager::{
        ManageContext, ManageResult, PreparedRequest,
        disk::{
            atomic_files::{self, FileTexts},
            history::VersionHistory,
            lock,
            resource_path::{
                self, FileLayout, ResourceFiles, check_id, is_folder_name, main_file_names,
            },
        },
        edit::{
            diff,
            file_draft::{FileDraft, invalid_category},
        },
        errors::{already_exists, invalid_input, manage_error, unknown_name},
        extra_fields,
        request::{Input, ManageReply},
    },
};

impl ManageContext {
    /// Creates a resource.
    pub(crate) fn create(
        &self,
        kind: LibraryItemKind,
        input: &Input,
    ) -> Result<PreparedRequest, ToolError> {
        let id = requested_id(input)?;
        check_id(kind, id)?;
        check_required_fields(kind, &input.rest)?;
        let lock = lock::acquire(&self.library_paths().workspace)?;
        let library = self.refresh_library(kind, id)?;
        if let Some((taken, origin)) = resource_path::find_origin(&library, kind, id) {
            return Err(already_exists(kind, &taken, &origin.file));
        }
        if let Some(resource_files) = self.find_in_workspace(kind, id)? {
            let file = format!(
                "{}/{}",
                resource_files.folder_path.join("/"),
                resource_files.main_file
            );
            return Err(already_exists(kind, &resource_files.id, &file));
        }
        let mut resource_files = ResourceFiles {
            kind,
            id: id.to_owned(),
            layer: LibraryLayer::Workspace,
            layout: FileLayout::Folder,
            folder_path: self.new_folder_path(kind, id, &input.rest, &library)?,
            main_file: main_file_names(kind)
                .first()
                .copied()
                .unwrap_or_default()
                .to_owned(),
            files: FileTexts::new(),
        };
        let mut notes = write_draft(&mut resource_files, id, &input.rest)?;
        self.check_allowed_scripts_unchanged(&resource_files, &FileTexts::new())?;
        let result = self.dry_run(&library, &resource_files)?;
        result.check_undeclared_names(&library, &resource_files)?;
        notes.extend(result.notes);
        let keeps = !extra_fields::bool_field(&input.rest, "skip_version")?;
        let reason = extra_fields::text_field(&input.rest, "reason")?;
        let reason = reason.unwrap_or("Created").to_owned();
        Ok(PreparedRequest::write(lock, move |context| {
            let (folder, version) =
                context.write_new_files(&resource_files, keeps, &reason, &mut notes)?;
            let names: Vec<&str> = resource_files.files.keys().map(String::as_str).collect();
            let reply = ManageReply::new(format!(
                "Created {} `{}` in {}: {}.",
                kind.as_str(),
                resource_files.id,
                resource_files.folder_path.join("/"),
                names.join(", ")
            ))
            .with_fact("id", resource_files.id.clone())
            .with_fact("hash", result.hash)
            .with_fact("version", version);
            let changed = changed_paths(&folder, &resource_files);
            Ok(ManageResult::with_changed_paths(reply, notes, changed))
        }))
    }

    /// Writes the files of a new resource and its first version.
    fn write_new_files(
        &self,
        files: &ResourceFiles,
        keeps: bool,
        reason: &str,
        notes: &mut Vec<String>,
    ) -> Result<(PathBuf, Option<u64>), ToolError> {
        let folder = self.ensure_folder(files)?;
        atomic_files::replace_files(&folder, &FileTexts::new(), &files.files, &files.main_file)?;
        if !keeps {
            return Ok((folder, None));
        }
        let mut history = VersionHistory::read_for_append(&folder, files, notes)?;
        let number = history.add(&files.files, reason, self.now);
        history.write(&folder, files, self.max_versions())?;
        Ok((folder, Some(number)))
    }

    /// Updates the given fields of a resource and nothing else.
    pub(crate) fn update(
        &self,
        kind: LibraryItemKind,
        input: &Input,
    ) -> Result<PreparedRequest, ToolError> {
        let id = requested_id(input)?;
        check_id(kind, id)?;
        let lock = lock::acquire(&self.library_paths().workspace)?;
        let library = self.refresh_library(kind, id)?;
        let before = self.find_existing(kind, id, &library)?;
        Self::check_expected_hash(&library, &before, input)?;
        if before.layout == FileLayout::Markdown {
            return Err(manage_error(
                ErrorCode::OldForm,
                format!("`{id}` uses the older Markdown form, which can be read but not written."),
                Some("Delete it and create it again, or edit the file by hand.".to_owned()),
            ));
        }
        let mut files = before.clone();
        files.layer = LibraryLayer::Workspace;
        let given = expand_section_fields(&input.rest)?;
        let mut draft = FileDraft::open(&mut files)?;
        draft.apply(&given)?;
        chain_steps::apply_step_operation(&mut draft, &given)?;
        let mut notes = draft.finish();
        if files.files == before.files {
            let reply = ManageReply::new(format!(
                "Nothing to change: `{id}` already has these \
                                                 values."
            ));
            return Ok(ManageResult::without_changes(reply, notes).into());
        }
        self.check_allowed_scripts_unchanged(&files, &before.files)?;
        let result = self.dry_run(&library, &files)?;
        result.check_undeclared_names(&library, &files)?;
        notes.extend(result.notes);
        let reason = extra_fields::text_field(&input.rest, "reason")?;
        let reason = reason.unwrap_or("Updated").to_owned();
        let keeps = !extra_fields::bool_field(&input.rest, "skip_version")?;
        let changes = diff::unified_diff(&before.files, &files.files);
        Ok(PreparedRequest::write(lock, move |context| {
            let (folder, version) =
                context.replace_files(&before, &files, keeps, &reason, &mut notes)?;
            if before.layer == LibraryLayer::Shipped {
                notes.push(
                    "The workspace now has a copy, which is used instead of the shipped version; \
                     delete the copy to restore that version."
                        .to_owned(),
                );
            }
            let reply = ManageReply::new(format!(
                "Updated {} `{}`{}.\n{}",
                kind.as_str(),
                files.id,
                version.map_or_else(String::new, |number| format!(", version {number}")),
                changes.trim_end()
            ))
            .with_fact("id", files.id.clone())
            .with_fact("hash", result.hash)
            .with_fact("version", version);
            let changed = changed_paths(&folder, &files);
            Ok(ManageResult::with_changed_paths(reply, notes, changed))
        }))
    }

    /// Writes the new files of a resource and its versions. The previous state is stored first if
    /// it is not a version yet, so that nothing is lost if a later step fails.
    pub(crate) fn replace_files(
        &self,
        before: &ResourceFiles,
        after: &ResourceFiles,
        keeps: bool,
        reason: &str,
        notes: &mut Vec<String>,
    ) -> Result<(PathBuf, Option<u64>), ToolError> {
        let folder = self.ensure_folder(after)?;
        let on_disk = match before.layer {
            LibraryLayer::Workspace => before.files.clone(),
            LibraryLayer::Shipped => FileTexts::new(),
        };
        if !keeps {
            atomic_files::replace_files(&folder, &on_disk, &after.files, &after.main_file)?;
            return Ok((folder, None));
        }
        let mut history = VersionHistory::read_for_append(&folder, after, notes)?;
        if !history.newest_matches(&before.files) {
            let what = match (before.layer, history.versions.is_empty()) {
                (LibraryLayer::Shipped, _) => "As shipped",
                (LibraryLayer::Workspace, true) => "Before the first update",
                (LibraryLayer::Workspace, false) => "Changed outside",
            };
            history.add(&before.files, what, self.now);
            history.write(&folder, after, self.max_versions())?;
        }
        atomic_files::replace_files(&folder, &on_disk, &after.files, &after.main_file)?;
        let number = history.add(&after.files, reason, self.now);
        history.write(&folder, after, self.max_versions())?;
        Ok((folder, Some(number)))
    }

    /// Returns the current resource: from the workspace, else the shipped one.
    pub(crate) fn find_existing(
        &self,
        kind: LibraryItemKind,
        id: &str,
        library: &crate::library::PromptLibrary,
    ) -> Result<ResourceFiles, ToolError> {
        if let Some(files) = self.find_in_workspace(kind, id)? {
            return Ok(files);
        }
        Self::find_shipped(kind, id).ok_or_else(|| {
            unknown_name(
                kind.as_str(),
                id,
                resource_path::resource_ids(library, kind),
            )
        })
    }

    /// Fails if the resource differs from the one the caller saw.
    pub(crate) fn check_expected_hash(
        library: &crate::library::PromptLibrary,
        files: &ResourceFiles,
        input: &Input,
    ) -> Result<(), ToolError> {
        let Some(expected) = &input.expected_hash else {
            return Ok(());
        };
        let now = resource_path::find_origin(library, files.kind, &files.id)
            .map(|(_, origin)| origin.hash)
            .unwrap_or_default();
        // The remembered version of a file that can no longer be read is not the file's content.
        let is_remembered = library.problems.iter().any(|problem| {
            problem.last_good_kept
                && problem.kind == files.kind
                && problem.id.eq_ignore_ascii_case(&files.id)
        });
        if *expected == now && !is_remembered {
            return Ok(());
        }
        Err(manage_error(
            ErrorCode::Conflict,
            format!(
                "`{}` has changed: its hash is now {now}. Nothing was written.",
                files.id
            ),
            Some("Inspect it, then update again with the current hash.".to_owned()),
        ))
    }

    /// Returns the folder of a new resource.
    fn new_folder_path(
        &self,
        kind: LibraryItemKind,
        id: &str,
        given: &Map<String, Value>,
        library: &crate::library::PromptLibrary,
    ) -> Result<Vec<String>, ToolError> {
        if kind != LibraryItemKind::Prompt {
            return Ok(vec![id.to_owned()]);
        }
        let category = extra_fields::text_field(given, "category")?.filter(|it| !it.is_empty());
        if let Some(category) = category.filter(|it| !is_folder_name(it)) {
            return Err(invalid_category(category));
        }
        let mut way: Vec<String> = Vec::new();
        let mut inner = id;
        if let Some((parent, child)) = id.rsplit_once('/') {
            if let Some(outer) = self.find_in_workspace(kind, parent)?
                && outer.layout == FileLayout::Folder
            {
                way = outer.folder_path;
                inner = child;
            } else if let Some(outer) = library.prompt(parent) {
                way.push(category.unwrap_or(&outer.category).to_owned());
            }
        }
        if way.is_empty() {
            let category = category.unwrap_or("general");
            if self
                .find_in_workspace(kind, category)?
                .is_some_and(|it| it.folder_path.len() == 1)
            {
                return Err(invalid_input(
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

/// Writes the files of a new resource into a draft.
fn write_draft(
    files: &mut ResourceFiles,
    id: &str,
    given: &Map<String, Value>,
) -> Result<Vec<String>, ToolError> {
    let kind = files.kind;
    let category = files.folder_path.first().cloned();
    let name = given.get("name").and_then(Value::as_str).unwrap_or(id);
    let last = id.rsplit('/').next().unwrap_or(id);
    let mut draft = FileDraft::open(files)?;
    draft.set("id", last.into())?;
    let mut given = given.clone();
    match kind {
        LibraryItemKind::Prompt => {
            given.insert("category".to_owned(), category.into());
        }
        LibraryItemKind::Gate if !given.contains_key("type") => {
            let decides = given.contains_key("pass_criteria");
            draft.set(
                "type",
                if decides { "validation" } else { "guidance" }.into(),
            )?;
        }
        LibraryItemKind::Methodology => {
            draft.set("type", name.into())?;
            draft.set("version", "1.0.0".into())?;
            draft.set("enabled", true.into())?;
        }
        _ => {}
    }
    if kind == LibraryItemKind::Gate && !given.contains_key("activation") {
        // Without activation rules a gate would be active everywhere.
        draft.set("activation", json!({ "explicit_request": true }))?;
        draft.notes.push(
            "It is active only where it is named. Give `activation` to activate it automatically."
                .to_owned(),
        );
    }
    draft.apply(&given)?;
    Ok(draft.finish())
}

/// Returns the id that a call names.
pub(crate) fn requested_id(input: &Input) -> Result<&str, ToolError> {
    input
        .id
        .as_deref()
        .filter(|id| !id.is_empty())
        .ok_or_else(|| {
            invalid_input(
                format!("`id` is needed to {}.", input.action.as_str()),
                "Give an id; action list shows the existing ones.",
            )
        })
}

fn check_required_fields(
    kind: LibraryItemKind,
    given: &Map<String, Value>,
) -> Result<(), ToolError> {
    let needed: &[&str] = match kind {
        LibraryItemKind::Prompt | LibraryItemKind::Gate => &["name", "description"],
        LibraryItemKind::Methodology => &[
            "name",
            "system_prompt_guidance",
            "phases",
            "methodology_gates",
        ],
        LibraryItemKind::Style | LibraryItemKind::Script => &["name", "guidance"],
    };
    let one_of: &[&str] = match kind {
        LibraryItemKind::Prompt => &["user_message_template", "chain_steps", "system_message"],
        LibraryItemKind::Gate => &["guidance", "pass_criteria"],
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
    Err(invalid_input(
        format!("A {} needs {}.", kind.as_str(), missing.join(", ")),
        "Nothing was written; call again with them.",
    ))
}

/// Converts the older `section` fields into the field they mean.
fn expand_section_fields(given: &Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
    let mut given = given.clone();
    let section = extra_fields::text_field(&given, "section")?.map(str::to_owned);
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
                    return Err(invalid_input(
                        format!(
                            "There is no section `{}`.",
                            resource_path::display_input(&section)
                        ),
                        "Give the field itself, such as `user_message_template`.",
                    ));
                }
            };
            given.insert(name.to_owned(), content);
            Ok(given)
        }
        _ => Err(invalid_input(
            "`section` and `section_content` belong together.",
            "Give both, or the field itself.",
        )),
    }
}

/// Returns the paths that the library must read again.
pub(crate) fn changed_paths(folder: &std::path::Path, thing: &ResourceFiles) -> Vec<PathBuf> {
    vec![folder.join(&thing.main_file)]
}
