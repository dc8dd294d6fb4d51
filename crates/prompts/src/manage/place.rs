//! Where a thing stands on the disk, or would stand. Every path is made here, out of parts that
//! were checked one by one; links are not followed.

use std::{
    fs,
    path::{Path, PathBuf},
};

use deliberate_toolkit::ToolError;

use super::{
    Desk,
    failure::{failed, refused},
    files::{self, Files, make_folders},
    shipped,
};
use crate::{
    library::{Library, is_segment},
    model::{Kind, Layer, Origin},
};

/// How a thing is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A folder of its own.
    Folder,
    /// One file with everything in it.
    Single,
    /// One file in the older Markdown form.
    Markdown,
}

/// A thing and its files.
#[derive(Debug, Clone)]
pub(super) struct Thing {
    pub(super) kind: Kind,
    /// Its whole id.
    pub(super) id: String,
    pub(super) layer: Layer,
    pub(super) form: Form,
    /// The parts of the way from the root of its kind to its folder.
    pub(super) way: Vec<String>,
    /// Its main file, in that folder.
    pub(super) main: String,
    pub(super) files: Files,
}

impl Thing {
    /// Where its versions are kept, in its folder.
    pub(super) fn history(&self) -> String {
        match self.form {
            Form::Folder => ".history.json".to_owned(),
            Form::Single | Form::Markdown => {
                let stem = self.main.rsplit_once('.').map_or("", |(stem, _)| stem);
                format!(".{stem}.history.json")
            }
        }
    }
}

/// The main files of a kind, the usual one first.
pub(super) const fn mains(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Prompt => &["prompt.yaml", "prompt.yml"],
        Kind::Gate => &["gate.yaml", "gate.yml"],
        Kind::Methodology => &[
            "methodology.yaml",
            "methodology.yml",
            "framework.yaml",
            "framework.yml",
        ],
        Kind::Style => &["style.yaml", "style.yml"],
        Kind::Script => &["tool.yaml", "tool.yml"],
    }
}

/// Checks an id: nothing that could become another path than the one that is meant.
pub(super) fn checked_id(kind: Kind, id: &str) -> Result<(), ToolError> {
    let parts: Vec<&str> = id.split('/').collect();
    let nested = kind == Kind::Prompt;
    if (nested || parts.len() == 1) && parts.len() <= 8 && parts.iter().all(|part| is_name(part)) {
        return Ok(());
    }
    Err(refused(
        format!("The id `{}` can't be used; nothing was written.", shown(id)),
        if nested {
            "Use letters, digits, `_` and `-`, at most 100, beginning with a letter or digit; \
             `parent/child` for a nested prompt."
        } else {
            "Use letters, digits, `_` and `-`, at most 100, beginning with a letter or digit."
        },
    ))
}

/// Whether a part may become the name of a folder that is read. Names with a `_` in front are
/// skipped by the library.
pub(super) fn is_name(part: &str) -> bool {
    is_segment(part) && !part.starts_with('_')
}

/// The beginning of what someone gave, fit to be shown.
pub(super) fn shown(text: &str) -> String {
    let plain: String = text
        .chars()
        .take(81)
        .filter(|it| !it.is_control())
        .collect();
    deliberate_core::cut_to_chars(&plain, 80)
}

/// The id as the library spells it, if it has it in any case.
pub(super) fn spelled(library: &Library, kind: Kind, id: &str) -> Option<(String, Origin)> {
    fn find<'l, T: 'l>(
        mut all: impl Iterator<Item = (&'l String, T)>,
        id: &str,
        origin: impl Fn(T) -> &'l Origin,
    ) -> Option<(String, Origin)> {
        all.find(|(key, _)| key.eq_ignore_ascii_case(id))
            .map(|(key, it)| (key.clone(), origin(it).clone()))
    }
    match kind {
        Kind::Prompt => find(library.prompts.iter(), id, |it| &it.origin),
        Kind::Gate => find(library.gates.iter(), id, |it| &it.origin),
        Kind::Methodology => find(library.methodologies.iter(), id, |it| &it.origin),
        Kind::Style => find(library.styles.iter(), id, |it| &it.origin),
        Kind::Script => None,
    }
}

/// All ids of a kind.
pub(super) fn ids(library: &Library, kind: Kind) -> Vec<&str> {
    match kind {
        Kind::Prompt => library.prompts.keys().map(String::as_str).collect(),
        Kind::Gate => library.gates.keys().map(String::as_str).collect(),
        Kind::Methodology => library.methodologies.keys().map(String::as_str).collect(),
        Kind::Style => library.styles.keys().map(String::as_str).collect(),
        Kind::Script => Vec::new(),
    }
}

impl Desk {
    /// The folder of a kind, if it is there. One that is a link out of the workspace is refused.
    pub(super) fn root(&self, kind: Kind) -> Result<Option<PathBuf>, ToolError> {
        let folder = self.engine.shelf.folder(kind);
        let Ok(real) = folder.canonicalize() else {
            return Ok(None);
        };
        let inside = self
            .places()
            .workspace
            .canonicalize()
            .is_ok_and(|workspace| real.starts_with(workspace));
        if inside || self.is_given(kind) {
            return Ok(Some(real));
        }
        Err(failed(
            "Outside",
            format!(
                "The folder for every {} is a link that leads out of the workspace; nothing was \
                 written.",
                kind.as_str()
            ),
            Some("Name the folder itself when the program is started.".to_owned()),
        ))
    }

    /// Likewise; it is made if it is not there.
    pub(super) fn made_root(&self, kind: Kind) -> Result<PathBuf, ToolError> {
        if let Some(root) = self.root(kind)? {
            return Ok(root);
        }
        let folder = self.engine.shelf.folder(kind);
        let workspace = &self.places().workspace;
        let parts = folder.strip_prefix(workspace).ok().and_then(|inner| {
            inner
                .iter()
                .map(std::ffi::OsStr::to_str)
                .collect::<Option<Vec<_>>>()
        });
        match parts.filter(|_| !self.is_given(kind)) {
            Some(parts) => {
                make_folders(workspace, parts)?;
            }
            None => fs::create_dir_all(&folder)
                .map_err(|error| super::failure::on_disk("make", &folder, &error))?,
        }
        self.root(kind)?.ok_or_else(|| {
            let error = std::io::Error::from(std::io::ErrorKind::NotFound);
            super::failure::on_disk("make", &folder, &error)
        })
    }

    fn is_given(&self, kind: Kind) -> bool {
        let places = self.places();
        match kind {
            Kind::Prompt => places.prompts.is_some(),
            Kind::Gate => places.gates.is_some(),
            Kind::Methodology => places.methodologies.is_some(),
            Kind::Style => places.styles.is_some(),
            Kind::Script => places.scripts.is_some(),
        }
    }

    /// The thing as it stands in the workspace now, whatever the library remembers.
    pub(super) fn in_workspace(&self, kind: Kind, id: &str) -> Result<Option<Thing>, ToolError> {
        let Some(root) = self.root(kind)? else {
            return Ok(None);
        };
        let parts: Vec<&str> = id.split('/').collect();
        if kind != Kind::Prompt {
            return found(&root, &[], &parts, kind, false);
        }
        // A prompt may stand in any category, or beside them.
        let mut categories: Vec<String> = folders(&root)
            .into_iter()
            .filter(|name| is_segment(name) && !has_main(&root.join(name), kind))
            .collect();
        categories.sort_unstable();
        for single in [false, true] {
            let outer = parts.len() == 1
                || parts
                    .first()
                    .is_some_and(|first| has_main(&root.join(first), kind));
            if outer && let Some(thing) = found(&root, &[], &parts, kind, single)? {
                return Ok(Some(thing));
            }
            for category in &categories {
                let way = [category.as_str()];
                if let Some(thing) = found(&root, &way, &parts, kind, single)? {
                    return Ok(Some(thing));
                }
            }
        }
        Ok(None)
    }

    /// The thing as it is shipped.
    pub(super) fn as_shipped(kind: Kind, id: &str) -> Option<Thing> {
        shipped::find(kind, id)
    }

    /// The folder of a thing, made if it is not there, and surely below its root.
    pub(super) fn made_folder(&self, thing: &Thing) -> Result<PathBuf, ToolError> {
        let root = self.made_root(thing.kind)?;
        let folder = make_folders(&root, thing.way.iter().map(String::as_str))?;
        let real = folder
            .canonicalize()
            .map_err(|error| super::failure::on_disk("look at", &folder, &error))?;
        if real.starts_with(&root) {
            Ok(real)
        } else {
            Err(files::in_the_way(&thing.id))
        }
    }
}

/// Looks for a thing below a folder of a root.
fn found(
    root: &Path,
    way: &[&str],
    id: &[&str],
    kind: Kind,
    single: bool,
) -> Result<Option<Thing>, ToolError> {
    let mut way: Vec<String> = way.iter().map(|part| (*part).to_owned()).collect();
    let mut here = way
        .iter()
        .fold(root.to_path_buf(), |all, part| all.join(part));
    let Some((last, outer)) = id.split_last() else {
        return Ok(None);
    };
    for part in outer {
        let Some(name) = child(&here, part)? else {
            return Ok(None);
        };
        here.push(&name);
        way.push(name);
    }
    let mut thing = Thing {
        kind,
        id: String::new(),
        layer: Layer::Workspace,
        form: Form::Folder,
        way,
        main: String::new(),
        files: Files::new(),
    };
    if single {
        for ending in ["yaml", "yml", "md"] {
            let main = format!("{last}.{ending}");
            if here.join(&main).is_file()
                && fs::symlink_metadata(here.join(&main)).is_ok_and(|it| it.is_file())
            {
                thing.files = single_files(&here, &main)?;
                thing.form = if ending == "md" {
                    Form::Markdown
                } else {
                    Form::Single
                };
                thing.main = main;
                thing.id = id.join("/");
                return Ok(Some(thing));
            }
        }
        return Ok(None);
    }
    let Some(name) = child(&here, last)? else {
        return Ok(None);
    };
    here.push(&name);
    thing.way.push(name);
    let Some(main) = mains(kind).iter().find(|main| is_file(&here.join(main))) else {
        return Ok(None);
    };
    let only: Option<&[&str]> = (kind == Kind::Prompt).then_some(&["tools"]);
    thing.files = files::read_folder(&here, only)?;
    if !thing.files.contains_key(*main) {
        return Err(failed(
            "NotText",
            format!("`{main}` is not a text file that can be changed."),
            Some("Replace it by hand.".to_owned()),
        ));
    }
    (*main).clone_into(&mut thing.main);
    let own = thing.way.len().saturating_sub(id.len());
    thing.id = thing.way.get(own..).unwrap_or_default().join("/");
    Ok(Some(thing))
}

/// The folder with that name, in any case. A link in its place is refused.
fn child(folder: &Path, name: &str) -> Result<Option<String>, ToolError> {
    if let Ok(found) = fs::symlink_metadata(folder.join(name)) {
        return if found.is_dir() {
            Ok(Some(name.to_owned()))
        } else if found.is_symlink() {
            Err(files::in_the_way(name))
        } else {
            Ok(None)
        };
    }
    Ok(folders(folder)
        .into_iter()
        .find(|other| other.eq_ignore_ascii_case(name)))
}

fn folders(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.starts_with(['.', '_']))
        .collect()
}

fn has_main(folder: &Path, kind: Kind) -> bool {
    mains(kind).iter().any(|main| is_file(&folder.join(main)))
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|it| it.is_file())
}

/// A single file, with the texts beside it that it names.
fn single_files(folder: &Path, main: &str) -> Result<Files, ToolError> {
    let mut files = Files::new();
    let Some(text) = files::read_text(&folder.join(main), 16 << 20)? else {
        return Ok(files);
    };
    if let Ok(document) = super::document::Document::read(&text) {
        for field in ["userMessageTemplateFile", "systemMessageFile"] {
            if let Some(name) = document.text_of(field)
                && !name.contains(['/', '\\', '\0'])
                && !name.starts_with('.')
                && is_file(&folder.join(name))
                && let Some(text) = files::read_text(&folder.join(name), 16 << 20)?
            {
                files.insert(name.to_owned(), text);
            }
        }
    }
    files.insert(main.to_owned(), text);
    Ok(files)
}
