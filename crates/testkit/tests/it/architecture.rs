//! The allowed dependencies between crates.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// Each crate and the workspace crates that it may use. Dependencies point one way; a new one is a
/// decision that is made here.
const ALLOWED_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("deliberate-core", &[]),
    ("deliberate-command-language", &["deliberate-core"]),
    ("deliberate-http-client", &["deliberate-core"]),
    (
        "deliberate-llm",
        &[
            "deliberate-core",
            "deliberate-http-client",
            "deliberate-json-schema",
        ],
    ),
    ("deliberate-store", &["deliberate-core"]),
    (
        "deliberate-toolkit",
        &[
            "deliberate-core",
            "deliberate-json-schema",
            "deliberate-store",
            "deliberate-llm",
        ],
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
            "deliberate-json-schema",
            "deliberate-store",
            "deliberate-llm",
            "deliberate-toolkit",
        ],
    ),
    ("deliberate-json-schema", &[]),
    (
        "deliberate-mcp-client",
        &[
            "deliberate-core",
            "deliberate-http-client",
            "deliberate-json-schema",
        ],
    ),
    (
        "deliberate-adapter",
        &[
            "deliberate-core",
            "deliberate-json-schema",
            "deliberate-llm",
            "deliberate-mcp-client",
        ],
    ),
    (
        "deliberate-gateway",
        &[
            "deliberate-core",
            "deliberate-index",
            "deliberate-json-schema",
            "deliberate-mcp-client",
            "deliberate-store",
            "deliberate-toolkit",
        ],
    ),
    ("deliberate-extract", &["deliberate-core"]),
    (
        "deliberate-index",
        &["deliberate-core", "deliberate-http-client"],
    ),
    ("deliberate-citations", &["deliberate-core"]),
    (
        "deliberate-research",
        &[
            "deliberate-citations",
            "deliberate-core",
            "deliberate-extract",
            "deliberate-http-client",
            "deliberate-index",
            "deliberate-store",
            "deliberate-llm",
            "deliberate-toolkit",
        ],
    ),
    (
        "deliberate-server",
        &[
            "deliberate-core",
            "deliberate-http-client",
            "deliberate-json-schema",
            "deliberate-llm",
            "deliberate-toolkit",
        ],
    ),
    (
        "deliberate",
        &[
            "deliberate-mcp-client",
            "deliberate-core",
            "deliberate-extract",
            "deliberate-gateway",
            "deliberate-http-client",
            "deliberate-index",
            "deliberate-json-schema",
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
    ("deliberate-bench", &[]),
    (
        "deliberate-testkit",
        &[
            "deliberate-bench",
            "deliberate-core",
            // For the fixtures of other crates' tests.
            "deliberate-llm",
            "deliberate-store",
            "deliberate-toolkit",
        ],
    ),
    // For tests only, like the test kit: the program's wiring with the fixtures of the conformance
    // suite.
    (
        "deliberate-conformance",
        &[
            "deliberate-adapter",
            "deliberate-http-client",
            "deliberate-mcp-client",
            "deliberate-core",
            "deliberate-reasoning",
            "deliberate-server",
            "deliberate-store",
            "deliberate-toolkit",
        ],
    ),
    // For tests only: the crates that parse untrusted bytes.
    (
        "deliberate-fuzz",
        &[
            "deliberate-citations",
            "deliberate-core",
            "deliberate-extract",
            "deliberate-command-language",
            "deliberate-json-schema",
            "deliberate-prompts",
            "deliberate-server",
            "deliberate-llm",
        ],
    ),
];

/// Dependencies that a crate must not have, direct or indirect.
const FORBIDDEN_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("deliberate-core", &["tokio", "sqlx", "reqwest", "rmcp"]),
    ("deliberate-toolkit", &["sqlx", "reqwest", "rmcp"]),
    ("deliberate-reasoning", &["sqlx", "reqwest", "rmcp"]),
    // Without its feature `fixtures`, so that it can be built together with the crates above.
    ("deliberate-testkit", &["sqlx"]),
    // The server needs the client only; the adapter is a library for other programs.
    ("deliberate", &["deliberate-adapter"]),
    (
        "deliberate-mcp-client",
        &["deliberate-adapter", "deliberate-llm"],
    ),
];

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
