//! Rules for source files that no lint knows: names, uniqueness, sizes. The naming rules are in
//! CONTRIBUTING.md.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
};

/// Words that name no file, module or public type: participles, prepositions and metaphors that a
/// reader cannot search for.
const BANNED_NAMES: &[&str] = &[
    "acted",
    "again",
    "apart",
    "asked",
    "asking",
    "away",
    "before",
    "begun",
    "behind",
    "below",
    "beside",
    "bill",
    "called",
    "came",
    "chosen",
    "desk",
    "done",
    "door",
    "errands",
    "eyes",
    "face",
    "far",
    "filled",
    "fitted",
    "flight",
    "found",
    "fresh",
    "front",
    "furniture",
    "gathered",
    "given",
    "gone",
    "got",
    "grow",
    "guests",
    "habit",
    "hands",
    "happened",
    "heard",
    "hearing",
    "held",
    "here",
    "house",
    "inside",
    "judged",
    "keep",
    "keeper",
    "keeping",
    "kept",
    "kit",
    "known",
    "lab",
    "left",
    "leg",
    "likeness",
    "listed",
    "look",
    "looked",
    "looking",
    "made",
    "meant",
    "mend",
    "met",
    "mind",
    "minds",
    "moment",
    "named",
    "near",
    "obtained",
    "of",
    "ours",
    "ourselves",
    "pen",
    "persist",
    "pile",
    "place",
    "places",
    "purse",
    "ran",
    "refused",
    "rest",
    "rings",
    "said",
    "seen",
    "served",
    "settled",
    "sheet",
    "shelf",
    "shown",
    "sift",
    "signs",
    "standin",
    "standing",
    "stock",
    "stopping",
    "swapped",
    "taken",
    "talk",
    "tell",
    "telling",
    "then",
    "thing",
    "things",
    "thinker",
    "thinking",
    "told",
    "touched",
    "tried",
    "unseen",
    "waits",
    "wanted",
    "way",
    "ways",
    "went",
    "what",
    "where",
    "whole",
    "whose",
    "wish",
    "within",
    "workshop",
    "written",
];

/// Associated types of a module, which many modules have.
const SHARED_TYPE_NAMES: &[&str] = &[
    "Input", "Output", "Error", "Config", "Err", "Result", "Future",
];

/// A folder with more source files is divided into topics.
const MAX_FILES_PER_FOLDER: usize = 15;

/// A longer source file has more than one job.
const MAX_LINES: usize = 500;

/// Files that may be longer, and why.
const LONG_FILES: &[(&str, &str)] = &[
    (
        "crates/reasoning/tests/it/model.rs",
        "one state machine that is compared with the store, of no use in parts",
    ),
    (
        "crates/llm/tests/it/every_provider.rs",
        "one list of faults, run against every provider",
    ),
];

struct SourceFile {
    /// Relative to the workspace, with `/`.
    path: String,
    text: String,
}

fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn source_files() -> Vec<SourceFile> {
    let root = workspace_root();
    let listing = Command::new("git")
        .args([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "*.rs",
        ])
        .current_dir(&root)
        .output()
        .unwrap();
    let files: Vec<_> = String::from_utf8(listing.stdout)
        .unwrap()
        .lines()
        .filter(|path| root.join(path).exists())
        .map(|path| SourceFile {
            path: path.to_owned(),
            text: std::fs::read_to_string(root.join(path)).unwrap(),
        })
        .collect();
    assert!(!files.is_empty());
    files
}

/// The name of each `pub` type of a file, public to the crate or to all.
fn public_types(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim_start();
        let rest = line.strip_prefix("pub")?;
        let rest = match rest.strip_prefix('(') {
            Some(scope) => scope.split_once(')')?.1,
            None => rest,
        };
        let mut words = rest.split_whitespace();
        let keyword = words.next()?;
        if !matches!(keyword, "struct" | "enum" | "trait" | "type" | "union") {
            return None;
        }
        let name = words.next()?;
        name.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .next()
    })
}

fn is_banned(name: &str) -> bool {
    let name = name.to_lowercase();
    BANNED_NAMES.contains(&name.as_str())
}

#[test]
fn names_are_words_a_reader_can_search_for() {
    let mut banned = Vec::new();
    for file in source_files() {
        for part in file.path.trim_end_matches(".rs").split('/') {
            if is_banned(part) {
                banned.push(format!("{} is named {part:?}", file.path));
            }
        }
        for name in public_types(&file.text) {
            if is_banned(name) {
                banned.push(format!("{} has a public type {name}", file.path));
            }
        }
    }
    assert!(banned.is_empty(), "{}", banned.join("\n"));
}

#[test]
fn a_public_type_has_its_name_alone() {
    let mut types: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in source_files() {
        if !file.path.contains("/src/") {
            continue;
        }
        for name in public_types(&file.text) {
            types
                .entry(name.to_owned())
                .or_default()
                .insert(file.path.clone());
        }
    }
    let shared: Vec<_> = types
        .iter()
        .filter(|(name, files)| files.len() > 1 && !SHARED_TYPE_NAMES.contains(&name.as_str()))
        .map(|(name, files)| format!("{name}: {files:?}"))
        .collect();
    assert!(shared.is_empty(), "{}", shared.join("\n"));
}

#[test]
fn a_folder_holds_no_more_files_than_one_can_survey() {
    let mut folders: BTreeMap<String, usize> = BTreeMap::new();
    for file in source_files() {
        if let Some((folder, _)) = file.path.rsplit_once('/')
            && folder.contains("/src")
        {
            *folders.entry(folder.to_owned()).or_default() += 1;
        }
    }
    folders.retain(|_, files| *files > MAX_FILES_PER_FOLDER);
    assert!(folders.is_empty(), "{folders:?}");
}

#[test]
fn every_file_begins_with_its_purpose_and_has_one_job() {
    for file in source_files() {
        let described =
            file.text.starts_with("//!") || file.text.starts_with("#![doc = include_str!(");
        assert!(described, "{} does not say what it is for", file.path);
        let lines = file.text.lines().count();
        let allowed = LONG_FILES.iter().any(|(path, _)| *path == file.path);
        assert!(
            lines <= MAX_LINES || allowed,
            "{} has {lines} lines",
            file.path
        );
    }
}

#[test]
fn no_exception_is_out_of_date() {
    for (path, reason) in LONG_FILES {
        let text = std::fs::read_to_string(workspace_root().join(path)).unwrap();
        assert!(text.lines().count() > MAX_LINES, "{path} ({reason})");
    }
}
