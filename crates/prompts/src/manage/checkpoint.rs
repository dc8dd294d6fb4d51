//! Named copies of everything in the workspace that the library reads, kept in a hidden folder of
//! the workspace.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use deliberate_toolkit::ToolError;
use serde::{Deserialize, Serialize};

use super::{
    Desk, Done,
    failure::{failed, on_disk, refused, unconfirmed, unknown},
    fields,
    files::{make_folders, read_text, remove_empty, write_one},
    lock,
    place::{is_name, shown},
    request::{Action, Format, Input, Told},
};
use crate::model::Kind;

/// Where they are kept.
const FOLDER: &str = ".checkpoints";

/// What a checkpoint says about itself.
const ABOUT: &str = "checkpoint.json";

/// How many there may be.
const MOST: usize = 50;

/// The most bytes of one.
const MOST_BYTES: u64 = 64 << 20;

/// The kinds that are copied.
const KINDS: [Kind; 5] = [
    Kind::Prompt,
    Kind::Gate,
    Kind::Methodology,
    Kind::Style,
    Kind::Script,
];

/// What a checkpoint says about itself.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct About {
    name: String,
    date: String,
    description: String,
    files: usize,
    bytes: u64,
}

/// Files by their names below a folder.
type Tree = BTreeMap<String, Vec<u8>>;

impl Desk {
    /// Does something with checkpoints.
    pub(super) fn checkpoint(&self, input: &Input) -> Result<Done, ToolError> {
        match input.action {
            Action::List | Action::Inspect => self.list_checkpoints(input),
            Action::Create => {
                let name = name(input)?;
                let _held = lock::hold(&self.places().workspace)?;
                let text = fields::text(&input.rest, "description")?.unwrap_or_default();
                let about = self.make_checkpoint(&name, text)?;
                let told = Told::new(format!(
                    "Checkpoint `{name}` holds {} files, {} bytes.",
                    about.files, about.bytes
                ))
                .with("name", name)
                .with("files", about.files);
                Ok(Done::said(told, Vec::new()))
            }
            Action::Rollback => self.restore_checkpoint(&name(input)?, input.confirm),
            Action::Delete => {
                let name = name(input)?;
                let _held = lock::hold(&self.places().workspace)?;
                let folder = self.checkpoint_folder(&name)?;
                if input.confirm != Some(true) {
                    return Err(unconfirmed(&format!(
                        "Checkpoint `{name}` would be deleted."
                    )));
                }
                remove(&folder)?;
                let told = Told::new(format!("Deleted checkpoint `{name}`."));
                Ok(Done::said(told, Vec::new()))
            }
            Action::Clear => {
                let _held = lock::hold(&self.places().workspace)?;
                let all = self.checkpoints();
                if input.confirm != Some(true) {
                    let count = all.len();
                    return Err(unconfirmed(&format!(
                        "{count} checkpoints would be deleted."
                    )));
                }
                for about in &all {
                    remove(&self.checkpoint_folder(&about.name)?)?;
                }
                let told = Told::new(format!("Deleted {} checkpoints.", all.len()));
                Ok(Done::said(told.with("deleted", all.len()), Vec::new()))
            }
            other => Err(refused(
                format!("{} can't be done to a checkpoint.", other.as_str()),
                "Checkpoints have create, list, rollback, delete and clear.",
            )),
        }
    }

    fn list_checkpoints(&self, input: &Input) -> Result<Done, ToolError> {
        let mut all = self.checkpoints();
        if let Some(id) = &input.id {
            all.retain(|about| about.name == *id);
            if all.is_empty() {
                return Err(self.no_checkpoint(id));
            }
        }
        let items = serde_json::json!(all);
        let said = match input.format.unwrap_or_default() {
            Format::Json => items.to_string(),
            Format::Text => {
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
        let told = Told::new(said.trim_end())
            .with("total", all.len())
            .with("items", items);
        Ok(Done::said(told, Vec::new()))
    }

    /// Copies everything. The copy is complete before it has its name.
    fn make_checkpoint(&self, name: &str, description: &str) -> Result<About, ToolError> {
        let kept = self.checkpoints();
        if kept
            .iter()
            .any(|about| about.name.eq_ignore_ascii_case(name))
        {
            return Err(failed(
                "AlreadyExists",
                format!("There is a checkpoint `{name}` already."),
                Some("Choose another name, or delete that one.".to_owned()),
            ));
        }
        if kept.len() >= MOST {
            return Err(failed(
                "LimitReached",
                format!("There are {MOST} checkpoints; that is all there may be."),
                Some("Delete some.".to_owned()),
            ));
        }
        let mut about = About {
            name: name.to_owned(),
            date: self.now.to_string(),
            description: description.to_owned(),
            ..About::default()
        };
        let workspace = &self.places().workspace;
        let outer = make_folders(workspace, [FOLDER])?;
        let draft = outer.join(format!(".making-{}", std::process::id()));
        let _ = fs::remove_dir_all(&draft);
        let made = self.copy_to(&draft, &mut about);
        let made = made.and_then(|()| {
            let place = outer.join(name);
            fs::rename(&draft, &place).map_err(|error| on_disk("make", &place, &error))
        });
        if let Err(error) = made {
            let _ = fs::remove_dir_all(&draft);
            return Err(error);
        }
        Ok(about)
    }

    fn copy_to(&self, draft: &Path, about: &mut About) -> Result<(), ToolError> {
        fs::create_dir(draft).map_err(|error| on_disk("make", draft, &error))?;
        for kind in KINDS {
            let tree = self.tree(kind, about)?;
            let folder = make_folders(draft, [kind.as_str()])?;
            for (name, bytes) in &tree {
                write_bytes(&folder, name, bytes)?;
            }
        }
        // Texts and numbers can always be written.
        let text = serde_json::to_string_pretty(about).unwrap_or_default();
        write_one(draft, ABOUT, &text)
    }

    /// Everything that stands in the folder of a kind now.
    fn tree(&self, kind: Kind, about: &mut About) -> Result<Tree, ToolError> {
        let mut tree = Tree::new();
        if let Some(root) = self.root(kind)? {
            let most = self.engine.options.limits.files;
            collect(&root, "", 0, &mut tree, about, most)?;
        }
        Ok(tree)
    }

    fn restore_checkpoint(&self, name: &str, confirm: Option<bool>) -> Result<Done, ToolError> {
        let _held = lock::hold(&self.places().workspace)?;
        let folder = self.checkpoint_folder(name)?;
        if confirm != Some(true) {
            return Err(unconfirmed(&format!(
                "Everything in the workspace would become what it was at checkpoint `{name}`."
            )));
        }
        let mut count = About::default();
        let mut wanted = Vec::new();
        let most = self.engine.options.limits.files;
        for kind in KINDS {
            let mut tree = Tree::new();
            let from = folder.join(kind.as_str());
            if fs::symlink_metadata(&from).is_ok_and(|it| it.is_dir()) {
                collect(&from, "", 0, &mut tree, &mut count, most)?;
            }
            let now = self.tree(kind, &mut About::default())?;
            let names: BTreeSet<&String> = now.keys().chain(tree.keys()).collect();
            for name in names.into_iter().filter(|it| now.get(*it) != tree.get(*it)) {
                self.not_listed(kind, &name.split('/').collect::<Vec<_>>())?;
            }
            wanted.push((kind, tree));
        }
        let safety = self.free_name(name);
        self.make_checkpoint(&safety, &format!("Before going back to {name}"))?;
        let (mut written, mut removed) = (0_usize, 0_usize);
        for (kind, tree) in wanted {
            let now = self.tree(kind, &mut About::default())?;
            if now == tree {
                continue;
            }
            let root = self.made_root(kind)?;
            for (name, bytes) in tree
                .iter()
                .filter(|(name, bytes)| now.get(*name) != Some(*bytes))
            {
                write_bytes(&root, name, bytes)?;
                written += 1;
            }
            for name in now.keys().filter(|name| !tree.contains_key(*name)) {
                let path = root.join(name);
                fs::remove_file(&path).map_err(|error| on_disk("remove", &path, &error))?;
                remove_empty(&root, path.parent());
                removed += 1;
            }
        }
        let told = Told::new(format!(
            "Back at checkpoint `{name}`: {written} files written, {removed} removed. What was \
             there is checkpoint `{safety}`."
        ))
        .with("name", name)
        .with("safety", safety)
        .with("written", written)
        .with("removed", removed);
        Ok(Done::whole(told))
    }

    fn free_name(&self, name: &str) -> String {
        let kept = self.checkpoints();
        let short: String = name.chars().take(80).collect();
        (1..=MOST + 1)
            .map(|number| format!("before-{short}-{number}"))
            .find(|name| {
                !kept
                    .iter()
                    .any(|about| about.name.eq_ignore_ascii_case(name))
            })
            .unwrap_or_default()
    }

    /// All of them, by name.
    fn checkpoints(&self) -> Vec<About> {
        let outer = self.places().workspace.join(FOLDER);
        if !fs::symlink_metadata(&outer).is_ok_and(|it| it.is_dir()) {
            return Vec::new();
        }
        let mut all: Vec<About> = fs::read_dir(&outer)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let text = read_text(&entry.path().join(ABOUT), 1 << 20).ok()??;
                let mut about: About = serde_json::from_str(&text).ok()?;
                about.name = name;
                is_name(&about.name).then_some(about)
            })
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    fn checkpoint_folder(&self, name: &str) -> Result<PathBuf, ToolError> {
        if self.checkpoints().iter().any(|about| about.name == name) {
            Ok(self.places().workspace.join(FOLDER).join(name))
        } else {
            Err(self.no_checkpoint(name))
        }
    }

    fn no_checkpoint(&self, name: &str) -> ToolError {
        let all = self.checkpoints();
        unknown(
            "checkpoint",
            name,
            all.iter().map(|about| about.name.as_str()),
        )
    }
}

fn name(input: &Input) -> Result<String, ToolError> {
    let named = fields::text(&input.rest, "name")?;
    let name = input.id.as_deref().or(named).unwrap_or_default();
    if is_name(name) {
        return Ok(name.to_owned());
    }
    Err(refused(
        format!("A checkpoint can't be called `{}`.", shown(name)),
        "Give a name of letters, digits, `_` and `-`, beginning with a letter or digit.",
    ))
}

/// Reads all files below a folder. Links are left alone; a history that is hidden belongs to its
/// thing, other hidden things do not.
fn collect(
    folder: &Path,
    prefix: &str,
    depth: usize,
    tree: &mut Tree,
    about: &mut About,
    most: usize,
) -> Result<(), ToolError> {
    let entries = fs::read_dir(folder).map_err(|error| on_disk("read", folder, &error))?;
    for entry in entries.filter_map(Result::ok) {
        let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type()) else {
            continue;
        };
        let path = format!("{prefix}{name}");
        if kind.is_dir() && !name.starts_with('.') && depth < 32 {
            collect(
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
            if about.bytes > MOST_BYTES || about.files > most {
                return Err(failed(
                    "LimitReached",
                    format!("A checkpoint may hold {most} files and {MOST_BYTES} bytes."),
                    Some("Take out what does not belong to the library.".to_owned()),
                ));
            }
            let bytes =
                fs::read(entry.path()).map_err(|error| on_disk("read", &entry.path(), &error))?;
            tree.insert(path, bytes);
        }
    }
    Ok(())
}

fn write_bytes(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), ToolError> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return write_one(folder, name, text);
    }
    let home = match name.rsplit_once('/') {
        Some((inner, _)) => make_folders(folder, inner.split('/'))?,
        None => folder.to_path_buf(),
    };
    let path = home.join(name.rsplit('/').next().unwrap_or(name));
    fs::write(&path, bytes).map_err(|error| on_disk("write", &path, &error))
}

fn remove(folder: &Path) -> Result<(), ToolError> {
    fs::remove_dir_all(folder).map_err(|error| on_disk("remove", folder, &error))
}
