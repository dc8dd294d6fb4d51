//! Which crate may know which, and how files are kept.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// Each crate, and the ones of ours that it may use. Arrows point one way; a new arrow is a
/// decision, and is made here.
const ALLOWED_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("deliberate-core", &[]),
    ("deliberate-command-language", &[]),
    ("deliberate-llm", &[]),
    ("deliberate-store", &["deliberate-core"]),
    (
        "deliberate-toolkit",
        &["deliberate-core", "deliberate-store", "deliberate-llm"],
    ),
    (
        "deliberate-reasoning",
        &[
            "deliberate-core",
            "deliberate-store",
            "deliberate-llm",
            "deliberate-toolkit",
        ],
    ),
    (
        "deliberate-prompts",
        &[
            "deliberate-core",
            "deliberate-command-language",
            "deliberate-store",
            "deliberate-llm",
            "deliberate-toolkit",
        ],
    ),
    ("deliberate-adapter", &["deliberate-core", "deliberate-llm"]),
    (
        "deliberate-gateway",
        &[
            "deliberate-adapter",
            "deliberate-core",
            "deliberate-store",
            "deliberate-toolkit",
        ],
    ),
    ("deliberate-extract", &[]),
    ("deliberate-index", &[]),
    ("deliberate-citations", &["deliberate-core"]),
    (
        "deliberate-research",
        &[
            "deliberate-citations",
            "deliberate-core",
            "deliberate-extract",
            "deliberate-index",
            "deliberate-store",
            "deliberate-llm",
            "deliberate-toolkit",
        ],
    ),
    (
        "deliberate-server",
        &["deliberate-core", "deliberate-llm", "deliberate-toolkit"],
    ),
    (
        "deliberate",
        &[
            "deliberate-adapter",
            "deliberate-core",
            "deliberate-extract",
            "deliberate-gateway",
            "deliberate-index",
            "deliberate-command-language",
            "deliberate-prompts",
            "deliberate-reasoning",
            "deliberate-research",
            "deliberate-server",
            "deliberate-store",
            "deliberate-llm",
            "deliberate-toolkit",
        ],
    ),
    ("deliberate-testkit", &["deliberate-core"]),
    // For tests only, as the kit is: the program's wiring with the suite's fixtures in front.
    (
        "deliberate-conformance",
        &[
            "deliberate-adapter",
            "deliberate-core",
            "deliberate-reasoning",
            "deliberate-server",
            "deliberate-store",
            "deliberate-toolkit",
        ],
    ),
    // For tests only: whoever reads foreign bytes.
    (
        "deliberate-fuzz",
        &[
            "deliberate-citations",
            "deliberate-extract",
            "deliberate-command-language",
            "deliberate-server",
            "deliberate-llm",
        ],
    ),
];

/// What a crate must not know, whatever brings it in.
const FORBIDDEN_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("deliberate-core", &["tokio", "sqlx", "reqwest", "rmcp"]),
    ("deliberate-toolkit", &["sqlx", "reqwest", "rmcp"]),
    ("deliberate-reasoning", &["sqlx", "reqwest", "rmcp"]),
];

/// A source file longer than this has more than one job.
const MAX_FILE_LINES: usize = 800;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn arrows_between_crates_point_one_way() {
    let metadata: Value = serde_json::from_str(&cargo(&[
        "metadata",
        "--no-deps",
        "--format-version",
        "1",
        "--locked",
    ]))
    .unwrap();
    let allowed: BTreeMap<&str, BTreeSet<&str>> = ALLOWED_DEPENDENCIES
        .iter()
        .map(|(name, uses)| (*name, uses.iter().copied().collect()))
        .collect();
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let uses: BTreeSet<&str> = package["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|dependency| dependency["kind"].is_null())
            .filter_map(|dependency| dependency["name"].as_str())
            .filter(|dependency| dependency.starts_with("deliberate"))
            .collect();
        let allowed = allowed
            .get(name)
            .unwrap_or_else(|| panic!("{name} has no entry in ARROWS"));
        let beyond: Vec<_> = uses.difference(allowed).collect();
        assert!(beyond.is_empty(), "{name} must not use {beyond:?}");
    }
}

#[test]
fn nobody_knows_what_they_must_not() {
    for (name, strangers) in FORBIDDEN_DEPENDENCIES {
        let tree = cargo(&[
            "tree", "-p", name, "-e", "normal", "--prefix", "none", "--locked",
        ]);
        for stranger in *strangers {
            let known = tree
                .lines()
                .any(|line| line.split(' ').next() == Some(stranger));
            assert!(!known, "{name} must not know {stranger}");
        }
    }
}

fn source_files() -> Vec<(PathBuf, String)> {
    let listed = Command::new("git")
        .args([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "*.rs",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    String::from_utf8(listed.stdout)
        .unwrap()
        .lines()
        .map(|path| root().join(path))
        .filter(|path| path.exists())
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            (path, text)
        })
        .collect()
}

#[test]
fn every_file_says_what_it_is_for_and_keeps_to_one_job() {
    let files = source_files();
    assert!(!files.is_empty());
    for (path, text) in files {
        assert!(
            text.starts_with("//!"),
            "{} does not begin by saying what it is for",
            path.display()
        );
        let lines = text.lines().count();
        assert!(
            lines <= MAX_FILE_LINES,
            "{} has {lines} lines",
            path.display()
        );
    }
}
