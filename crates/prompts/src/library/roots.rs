//! Where the library's folders are: the shipped ones, and those of the workspace.

use std::path::{Path, PathBuf};

use super::{
    Problem, Weight,
    tree::Tree,
    unit::{Root, RootKind},
};
use crate::{
    model::{Kind, Layer},
    options::Places,
};

pub(crate) const KINDS: [Kind; 5] = [
    Kind::Prompt,
    Kind::Gate,
    Kind::Methodology,
    Kind::Style,
    Kind::Script,
];

/// The folders that are there, the shipped ones first, so that later ones replace earlier ones.
pub(crate) fn roots(places: &Places) -> (Vec<Root>, Vec<Problem>) {
    let mut found = Vec::new();
    let mut problems = Vec::new();
    for kind in KINDS {
        let name = usual(kind);
        if let Some(tree) = Tree::shipped(name) {
            found.push(Root {
                kind: RootKind::Things(kind),
                layer: Layer::Shipped,
                tree,
                shown: format!("shipped/{name}"),
            });
        }
    }
    for kind in KINDS {
        let Some(folder) = existing(places, kind) else {
            continue;
        };
        let Some(tree) = Tree::disk(&folder) else {
            continue;
        };
        if given(places, kind).is_none() && !is_below(&places.workspace, &tree) {
            problems.push(leads_out(kind, &shown(places, &folder)));
            continue;
        }
        found.push(Root {
            kind: RootKind::Things(kind),
            layer: Layer::Workspace,
            tree,
            shown: shown(places, &folder),
        });
    }
    if let Some(tree) = Tree::disk(&places.workspace) {
        found.push(Root {
            kind: RootKind::Settings,
            layer: Layer::Workspace,
            tree,
            shown: String::new(),
        });
    }
    (found, problems)
}

/// Where new things of a kind are written: where the others are, else `resources/`.
pub(crate) fn folder(places: &Places, kind: Kind) -> PathBuf {
    existing(places, kind)
        .or_else(|| given(places, kind).cloned())
        .unwrap_or_else(|| places.workspace.join("resources").join(usual(kind)))
}

/// Every place at which a folder of a kind may appear.
pub(crate) fn candidates(places: &Places, kind: Kind) -> Vec<PathBuf> {
    if let Some(given) = given(places, kind) {
        return vec![given.clone()];
    }
    let names: &[&str] = match kind {
        Kind::Methodology => &["methodologies", "frameworks"],
        other => &[usual(other)],
    };
    let mut all = Vec::new();
    for base in ["resources", "", "server/resources"] {
        all.extend(
            names
                .iter()
                .map(|name| places.workspace.join(base).join(name)),
        );
    }
    if kind == Kind::Prompt {
        all.push(places.workspace.join("server").join("prompts"));
    }
    all
}

fn existing(places: &Places, kind: Kind) -> Option<PathBuf> {
    candidates(places, kind).into_iter().find(|it| it.is_dir())
}

fn given(places: &Places, kind: Kind) -> Option<&PathBuf> {
    match kind {
        Kind::Prompt => places.prompts.as_ref(),
        Kind::Gate => places.gates.as_ref(),
        Kind::Methodology => places.methodologies.as_ref(),
        Kind::Style => places.styles.as_ref(),
        Kind::Script => places.scripts.as_ref(),
    }
}

/// The name of the folder for a kind.
pub(crate) const fn usual(kind: Kind) -> &'static str {
    match kind {
        Kind::Prompt => "prompts",
        Kind::Gate => "gates",
        Kind::Methodology => "methodologies",
        Kind::Style => "styles",
        Kind::Script => "scripts",
    }
}

fn shown(places: &Places, folder: &Path) -> String {
    folder
        .strip_prefix(&places.workspace)
        .unwrap_or(folder)
        .to_string_lossy()
        .replace('\\', "/")
}

fn is_below(workspace: &Path, tree: &Tree) -> bool {
    match (workspace.canonicalize(), tree) {
        (Ok(workspace), Tree::Disk(folder)) => folder.starts_with(workspace),
        _ => false,
    }
}

fn leads_out(kind: Kind, folder: &str) -> Problem {
    Problem {
        weight: Weight::Error,
        file: folder.to_owned(),
        line: None,
        column: None,
        kind,
        id: String::new(),
        message: "The folder is a link that leads out of the workspace; nothing in it is used."
            .to_owned(),
        help: Some("Name the folder itself when the program is started.".to_owned()),
        last_good_kept: false,
    }
}
