//! The environment of a child process: a few inherited variables, and those of the check that
//! cannot be used to run another program.

use std::{collections::BTreeMap, ffi::OsString};

/// The variables that a child inherits.
const INHERITED: [&str; 7] = ["PATH", "HOME", "USER", "LANG", "TERM", "TMPDIR", "CI"];

/// The variables that cannot be set: they make loaders, interpreters and build tools run or load
/// other code. An allowlist of commands is useless if a variable can turn one command into another.
const BLOCKED_NAMES: [&str; 22] = [
    "PATH",
    "HOME",
    "SHELL",
    "ENV",
    "IFS",
    "SHELLOPTS",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "BROWSER",
    "CC",
    "CXX",
    "CFLAGS",
    "CXXFLAGS",
    "LDFLAGS",
    "CPPFLAGS",
    "AR",
    "LD",
    "GCONV_PATH",
    "TMPDIR",
    "PS4",
    "PROMPT_COMMAND",
];

/// The prefixes of variables that cannot be set.
const BLOCKED_PREFIXES: [&str; 24] = [
    "LD_",
    "DYLD_",
    "BASH_",
    "CARGO",
    "RUSTC",
    "RUSTDOC",
    "RUSTFLAGS",
    "RUSTUP",
    "PYTHON",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NPM_",
    "GIT_",
    "PERL",
    "RUBY",
    "GEM_",
    "JAVA_",
    "_JAVA",
    "JDK_",
    "MAVEN_",
    "GRADLE_",
    "GO",
    "MAKE",
    "XDG_",
];

/// The maximum number of variables that are added.
const MAX_VARIABLES: usize = 50;

/// Builds the environment of a child: inherited variables, then `given`, then the last argument,
/// which nothing can override.
pub(super) fn child_environment(
    given: &BTreeMap<String, String>,
    ours_to_say: &[(&str, OsString)],
) -> Vec<(OsString, OsString)> {
    let is_kept = |name: &str| INHERITED.contains(&name) || name.starts_with("LC_");
    let mut all: BTreeMap<OsString, OsString> = std::env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(is_kept))
        .collect();
    let wanted = given
        .iter()
        .filter(|(name, value)| is_settable(name, value));
    all.extend(
        wanted
            .take(MAX_VARIABLES)
            .map(|(name, value)| (name.into(), value.into())),
    );
    all.extend(
        ours_to_say
            .iter()
            .map(|(name, value)| (name.into(), value.clone())),
    );
    all.into_iter().collect()
}

fn is_settable(name: &str, value: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let plain = !name.is_empty()
        && name
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || it == '_')
        && !value.contains('\0');
    plain
        && !BLOCKED_NAMES.contains(&upper.as_str())
        && !BLOCKED_PREFIXES
            .iter()
            .any(|start| upper.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_harmless_variables_can_be_set() {
        for name in [
            "PATH",
            "Path",
            "LD_PRELOAD",
            "DYLD_INSERT_LIBRARIES",
            "BASH_ENV",
            "NODE_OPTIONS",
            "RUSTC_WRAPPER",
            "CARGO_HOME",
            "PYTHONPATH",
            "GIT_SSH_COMMAND",
            "HOME",
            "A=B",
            "",
        ] {
            assert!(!is_settable(name, "x"), "{name}");
        }
        for name in [
            "NODE_ENV",
            "RUST_LOG",
            "RUST_BACKTRACE",
            "CI",
            "MY_FLAG",
            "LANG",
        ] {
            assert!(is_settable(name, "x"), "{name}");
        }
        assert!(!is_settable("MY_FLAG", "a\0b"));
    }

    #[test]
    fn few_of_our_variables_are_handed_on() {
        let ours = [("SCRIPT_TOOL_ID", OsString::from("real"))];
        let given = BTreeMap::from([("SCRIPT_TOOL_ID".to_owned(), "false".to_owned())]);
        let all = child_environment(&given, &ours);
        let known = |name: &str| {
            INHERITED.contains(&name) || name.starts_with("LC_") || name == "SCRIPT_TOOL_ID"
        };
        assert!(all.iter().all(|(name, _)| known(name.to_str().unwrap())));
        assert!(all.contains(&("SCRIPT_TOOL_ID".into(), "real".into())));
    }
}
