//! Checkpoints: named copies of all workspace files that the library reads, in a hidden folder of
//! the workspace.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use deliberate_toolkit::{ErrorCode, ToolError};
use serde::{Deserialize, Serialize};

use crate::{
    model::LibraryItemKind,
    resource_manager::{
        ManageContext, ManageResult, PreparedRequest,
        disk::{
            atomic_files::{create_folders, read_text, remove_empty_folders, write_file},
            lock,
            resource_path::{display_input, is_folder_name},
        },
        errors::{confirmation_needed, invalid_input, io_error, manage_error, unknown_name},
        extra_fields,
        request::{Input, ManageReply, ReplyFormat, ResourceAction},
    },
};

/// The folder of the checkpoints.
const CHECKPOINT_FOLDER: &str = ".checkpoints";

/// The file with the description of a checkpoint.
const INFO_FILE: &str = "checkpoint.json";

/// The most checkpoints.
const MAX_CHECKPOINTS: usize = 50;

/// The most bytes of one checkpoint.
const MAX_BYTES: u64 = 64 << 20;

/// The kinds of resources that are copied.
const KINDS: [LibraryItemKind; 5] = [
    LibraryItemKind::Prompt,
    LibraryItemKind::Gate,
    LibraryItemKind::Methodology,
    LibraryItemKind::Style,
    LibraryItemKind::Script,
];

/// The description of a checkpoint.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct CheckpointInfo {
    name: String,
    date: String,
    description: String,
    files: usize,
    bytes: u64,
}

/// File contents by their paths below a folder.
type CheckpointFiles = BTreeMap<String, Vec<u8>>;

impl ManageContext {
    /// Handles an action on checkpoints.
    pub(crate) fn handle_checkpoint(&self, input: &Input) -> Result<PreparedRequest, ToolError> {
        match input.action {
            ResourceAction::List | ResourceAction::Inspect => {
                self.list_checkpoints(input).map(PreparedRequest::Done)
            }
            ResourceAction::Create => {
                let name = checkpoint_name(input)?;
                let text = extra_fields::text_field(&input.rest, "description")?;
                let text = text.unwrap_or_default().to_owned();
                let lock = lock::acquire(&self.library_paths().workspace)?;
                Ok(PreparedRequest::write(lock, move |context| {
                    let about = context.create_checkpoint(&name, &text)?;
                    let reply = ManageReply::new(format!(
                        "Checkpoint `{name}` contains {} files, {} bytes.",
                        about.files, about.bytes
                    ))
                    .with_fact("name", name)
                    .with_fact("files", about.files);
                    Ok(ManageResult::without_changes(reply, Vec::new()))
                }))
            }
            ResourceAction::Rollback => {
                self.restore_checkpoint(checkpoint_name(input)?, input.confirm)
            }
            ResourceAction::Delete => {
                let name = checkpoint_name(input)?;
                let lock = lock::acquire(&self.library_paths().workspace)?;
                let folder = self.checkpoint_folder(&name)?;
                if input.confirm != Some(true) {
                    return Err(confirmation_needed(&format!(
                        "Checkpoint `{name}` would be deleted."
                    )));
                }
                Ok(PreparedRequest::write(lock, move |_| {
                    remove_folder(&folder)?;
                    let reply = ManageReply::new(format!("Deleted checkpoint `{name}`."));
                    Ok(ManageResult::without_changes(reply, Vec::new()))
                }))
            }
            ResourceAction::Clear => {
                let lock = lock::acquire(&self.library_paths().workspace)?;
                let all = self.load_checkpoints();
                if input.confirm != Some(true) {
                    let count = all.len();
                    return Err(confirmation_needed(&format!(
                        "{count} checkpoints would be deleted."
                    )));
                }
                Ok(PreparedRequest::write(lock, move |context| {
                    for about in &all {
                        remove_folder(&context.checkpoint_folder(&about.name)?)?;
                    }
                    let reply = ManageReply::new(format!("Deleted {} checkpoints.", all.len()))
                        .with_fact("deleted", all.len());
                    Ok(ManageResult::without_changes(reply, Vec::new()))
                }))
            }
            other => Err(invalid_input(
                format!("Checkpoints do not support {}.", other.as_str()),
                "Use create, list, rollback, delete or clear.",
            )),
        }
    }

    fn list_checkpoints(&self, input: &Input) -> Result<ManageResult, ToolError> {
        let mut all = self.load_checkpoints();
        if let Some(id) = &input.id {
            all.retain(|about| about.name == *id);
            if all.is_empty() {
                return Err(self.unknown_checkpoint(id));
            }
        }
        let items = serde_json::json!(all);
        let text = match input.format.unwrap_or_default() {
            ReplyFormat::Json => items.to_string(),
            ReplyFormat::Text => {
                let lines: Vec<String> = all
                    .iter()
                    .map(|about| {
                        format!(
                            "{}  {}  {} files  {}",
                            about.name, about.date, about.files, about.description
                        )
                    })
                    .collect();
                format!("{} checkpoints\n{}", all.len(), lines.join("\n"))
            }
        };
        let reply = ManageReply::new(text.trim_end())
            .with_fact("total", all.len())
            .with_fact("items", items);
        Ok(ManageResult::without_changes(reply, Vec::new()))
    }

    /// Copies all files. The copy is complete before it gets its name.
    fn create_checkpoint(
        &self,
        name: &str,
        description: &str,
    ) -> Result<CheckpointInfo, ToolError> {
        let infos = self.load_checkpoints();
        if infos
            .iter()
            .any(|about| about.name.eq_ignore_ascii_case(name))
        {
            return Err(manage_error(
                ErrorCode::AlreadyExists,
                format!("A checkpoint `{name}` already exists."),
                Some("Choose another name, or delete that one.".to_owned()),
            ));
        }
        if infos.len() >= MAX_CHECKPOINTS {
            return Err(manage_error(
                ErrorCode::LimitReached,
                format!("There are already {MAX_CHECKPOINTS} checkpoints, which is the limit."),
                Some("Delete some.".to_owned()),
            ));
        }
        let mut about = CheckpointInfo {
            name: name.to_owned(),
            date: self.now.to_string(),
            description: description.to_owned(),
            ..CheckpointInfo::default()
        };
        let workspace = &self.library_paths().workspace;
        let outer = create_folders(workspace, [CHECKPOINT_FOLDER])?;
        let draft = outer.join(format!(".making-{}", std::process::id()));
        let _ = fs::remove_dir_all(&draft);
        let made = self.copy_workspace(&draft, &mut about);
        let made = made.and_then(|()| {
            let place = outer.join(name);
            fs::rename(&draft, &place).map_err(|error| io_error("create", &place, &error))
        });
        if let Err(error) = made {
            let _ = fs::remove_dir_all(&draft);
            return Err(error);
        }
        Ok(about)
    }

    fn copy_workspace(&self, draft: &Path, about: &mut CheckpointInfo) -> Result<(), ToolError> {
        fs::create_dir(draft).map_err(|error| io_error("create", draft, &error))?;
        for kind in KINDS {
            let tree = self.read_kind_files(kind, about)?;
            let folder = create_folders(draft, [kind.as_str()])?;
            for (name, bytes) in &tree {
                write_bytes(&folder, name, bytes)?;
            }
        }
        // Texts and numbers can always be serialized.
        let text = serde_json::to_string_pretty(about).unwrap_or_default();
        write_file(draft, INFO_FILE, &text)
    }

    /// Reads all files in the folder of a kind.
    fn read_kind_files(
        &self,
        kind: LibraryItemKind,
        about: &mut CheckpointInfo,
    ) -> Result<CheckpointFiles, ToolError> {
        let mut tree = CheckpointFiles::new();
        if let Some(root) = self.kind_root(kind)? {
            let most = self.engine.options.limits.files;
            collect_files(&root, "", 0, &mut tree, about, most)?;
        }
        Ok(tree)
    }

    fn restore_checkpoint(
        &self,
        name: String,
        confirm: Option<bool>,
    ) -> Result<PreparedRequest, ToolError> {
        let lock = lock::acquire(&self.library_paths().workspace)?;
        let folder = self.checkpoint_folder(&name)?;
        if confirm != Some(true) {
            return Err(confirmation_needed(&format!(
                "All workspace files would be restored to checkpoint `{name}`."
            )));
        }
        let mut count = CheckpointInfo::default();
        let mut wanted = Vec::new();
        let most = self.engine.options.limits.files;
        for kind in KINDS {
            let mut tree = CheckpointFiles::new();
            let from = folder.join(kind.as_str());
            if fs::symlink_metadata(&from).is_ok_and(|it| it.is_dir()) {
                collect_files(&from, "", 0, &mut tree, &mut count, most)?;
            }
            let now = self.read_kind_files(kind, &mut CheckpointInfo::default())?;
            let names: BTreeSet<&String> = now.keys().chain(tree.keys()).collect();
            for name in names.into_iter().filter(|it| now.get(*it) != tree.get(*it)) {
                let path: Vec<&str> = name.split('/').collect();
                self.check_not_allowed_script(kind, &path)?;
                if tree.contains_key(name) {
                    self.check_no_new_script(kind, &path)?;
                }
            }
            wanted.push((kind, tree));
        }
        Ok(PreparedRequest::write(lock, move |context| {
            context.write_checkpoint(&name, wanted)
        }))
    }

    /// Replaces all files by those of a checkpoint. The previous state becomes a checkpoint first.
    fn write_checkpoint(
        &self,
        name: &str,
        wanted: Vec<(LibraryItemKind, CheckpointFiles)>,
    ) -> Result<ManageResult, ToolError> {
        let safety = self.unused_name(name);
        self.create_checkpoint(&safety, &format!("Before rolling back to {name}"))?;
        let (mut written, mut removed) = (0_usize, 0_usize);
        for (kind, tree) in wanted {
            let now = self.read_kind_files(kind, &mut CheckpointInfo::default())?;
            if now == tree {
                continue;
            }
            let root = self.ensure_kind_root(kind)?;
            for (name, bytes) in tree
                .iter()
                .filter(|(name, bytes)| now.get(*name) != Some(*bytes))
            {
                write_bytes(&root, name, bytes)?;
                written += 1;
            }
            for name in now.keys().filter(|name| !tree.contains_key(*name)) {
                let path = root.join(name);
                fs::remove_file(&path).map_err(|error| io_error("remove", &path, &error))?;
                remove_empty_folders(&root, path.parent());
                removed += 1;
            }
        }
        let reply = ManageReply::new(format!(
            "Rolled back to checkpoint `{name}`: {written} files written, {removed} removed. The \
             previous state is checkpoint `{safety}`."
        ))
        .with_fact("name", name)
        .with_fact("safety", safety)
        .with_fact("written", written)
        .with_fact("removed", removed);
        Ok(ManageResult::with_full_reload(reply))
    }

    fn unused_name(&self, name: &str) -> String {
        let infos = self.load_checkpoints();
        let short: String = name.chars().take(80).collect();
        (1..=MAX_CHECKPOINTS + 1)
            .map(|number| format!("before-{short}-{number}"))
            .find(|name| {
                !infos
                    .iter()
                    .any(|about| about.name.eq_ignore_ascii_case(name))
            })
            .unwrap_or_default()
    }

    /// Returns all checkpoints, by name.
    fn load_checkpoints(&self) -> Vec<CheckpointInfo> {
        let outer = self.library_paths().workspace.join(CHECKPOINT_FOLDER);
        if !fs::symlink_metadata(&outer).is_ok_and(|it| it.is_dir()) {
            return Vec::new();
        }
        let mut all: Vec<CheckpointInfo> = fs::read_dir(&outer)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let text = read_text(&entry.path().join(INFO_FILE), 1 << 20).ok()??;
                let mut about: CheckpointInfo = serde_json::from_str(&text).ok()?;
                about.name = name;
                is_folder_name(&about.name).then_some(about)
            })
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    fn checkpoint_folder(&self, name: &str) -> Result<PathBuf, ToolError> {
        if self
            .load_checkpoints()
            .iter()
            .any(|about| about.name == name)
        {
            Ok(self
                .library_paths()
                .workspace
                .join(CHECKPOINT_FOLDER)
                .join(name))
        } else {
            Err(self.unknown_checkpoint(name))
        }
    }

    fn unknown_checkpoint(&self, name: &str) -> ToolError {
        let all = self.load_checkpoints();
        unknown_name(
            "checkpoint",
            name,
            all.iter().map(|about| about.name.as_str()),
        )
    }
}

fn checkpoint_name(input: &Input) -> Result<String, ToolError> {
    let named = extra_fields::text_field(&input.rest, "name")?;
    let name = input.id.as_deref().or(named).unwrap_or_default();
    if is_folder_name(name) {
        return Ok(name.to_owned());
    }
    Err(invalid_input(
        format!("`{}` is not a valid checkpoint name.", display_input(name)),
        "Use letters, digits, `_` and `-`, beginning with a letter or digit.",
    ))
}

/// Reads all files below a folder. Links are skipped. Hidden version histories are included because
/// they belong to their resources; other hidden files are not.
fn collect_files(
    folder: &Path,
    prefix: &str,
    depth: usize,
    tree: &mut CheckpointFiles,
    about: &mut CheckpointInfo,
    most: usize,
) -> Result<(), ToolError> {
    let entries = fs::read_dir(folder).map_err(|error| io_error("read", folder, &error))?;
    for entry in entries.filter_map(Result::ok) {
        let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else {
            continue;
        };
        let path = format!("{prefix}{name}");
        if kind.is_dir() && !name.starts_with('.') && depth < 32 {
            collect_files(
                &entry.path(),
                &format!("{path}/"),
                depth + 1,
                tree,
                about,
                most,
            )?;
        } else if kind.is_file() && (!name.starts_with('.') || name.ends_with("history.json")) {
            let size = entry.metadata().map_or(0, |it| it.len());
            about.files += 1;
            about.bytes = about.bytes.saturating_add(size);
            if about.bytes > MAX_BYTES || about.files > most {
                return Err(manage_error(
                    ErrorCode::LimitReached,
                    format!("A checkpoint can contain at most {most} files and {MAX_BYTES} bytes."),
                    Some("Remove files that do not belong to the library.".to_owned()),
                ));
            }
            let bytes =
                fs::read(entry.path()).map_err(|error| io_error("read", &entry.path(), &error))?;
            tree.insert(path, bytes);
        }
    }
    Ok(())
}

fn write_bytes(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), ToolError> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return write_file(folder, name, text);
    }
    let home = match name.rsplit_once('/') {
        Some((inner, _)) => create_folders(folder, inner.split('/'))?,
        None => folder.to_path_buf(),
    };
    let path = home.join(name.rsplit('/').next().unwrap_or(name));
    fs::write(&path, bytes).map_err(|error| io_error("write", &path, &error))
}

fn remove_folder(folder: &Path) -> Result<(), ToolError> {
    fs::remove_dir_all(folder).map_err(|error| io_error("remove", folder, &error))
}
