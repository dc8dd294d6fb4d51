//! The files of what is shipped, as the starting point of a copy in the workspace.

use include_dir::{Dir, DirEntry};

use super::{
    files::Files,
    place::{Form, Thing, mains},
};
use crate::{
    library::SHIPPED,
    model::{Kind, Layer},
};

/// A shipped thing with its files.
pub(super) fn find(kind: Kind, id: &str) -> Option<Thing> {
    let root = match kind {
        Kind::Prompt => "prompts",
        Kind::Gate => "gates",
        Kind::Methodology => "methodologies",
        Kind::Style => "styles",
        Kind::Script => return None,
    };
    let outer = SHIPPED.get_dir(root)?;
    let bases: Vec<&Dir<'_>> = if kind == Kind::Prompt {
        outer.dirs().collect()
    } else {
        vec![outer]
    };
    bases.into_iter().find_map(|base| {
        let folder = id.split('/').try_fold(base, |here, part| {
            here.dirs()
                .find(|inner| name(inner).eq_ignore_ascii_case(part))
        })?;
        let main = mains(kind)
            .iter()
            .find(|main| folder.get_file(folder.path().join(main)).is_some())?;
        let mut files = Files::new();
        collect(folder, "", kind == Kind::Prompt, &mut files);
        let way: Vec<String> = folder
            .path()
            .strip_prefix(root)
            .ok()?
            .iter()
            .filter_map(|part| part.to_str().map(str::to_owned))
            .collect();
        let own = way.len().checked_sub(id.split('/').count())?;
        Some(Thing {
            kind,
            id: way.get(own..)?.join("/"),
            layer: Layer::Shipped,
            form: Form::Folder,
            way,
            main: (*main).to_owned(),
            files,
        })
    })
}

fn name<'d>(folder: &'d Dir<'_>) -> &'d str {
    folder
        .path()
        .file_name()
        .and_then(std::ffi::OsStr::to_str)
        .unwrap_or_default()
}

fn collect(folder: &Dir<'_>, prefix: &str, only_tools: bool, files: &mut Files) {
    for entry in folder.entries() {
        let Some(name) = entry.path().file_name().and_then(std::ffi::OsStr::to_str) else {
            continue;
        };
        match entry {
            DirEntry::File(file) => {
                if let Some(text) = file.contents_utf8() {
                    files.insert(format!("{prefix}{name}"), text.to_owned());
                }
            }
            DirEntry::Dir(inner) if !only_tools || name == "tools" => {
                collect(inner, &format!("{prefix}{name}/"), false, files);
            }
            DirEntry::Dir(_) => {}
        }
    }
}
