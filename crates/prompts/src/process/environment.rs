//! The environment of a child process: a few inherited variables, and those of the check or script
//! that cannot be used to run another program.

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

/// The variables that a gate may set for a command. A gate may be a caller's, and no list of harmful
/// variables is complete: `PYTEST_ADDOPTS` alone loads any module.
const GATE_NAMES: [&str; 11] = [
    "CI",
    "COLUMNS",
    "FORCE_COLOR",
    "LANG",
    "LANGUAGE",
    "NODE_ENV",
    "NO_COLOR",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TZ",
];

/// The prefixes of variables that a gate may set: locales, and its own ones.
const GATE_PREFIXES: [&str; 2] = ["LC_", "GATE_"];

/// Who chose the variables of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VariableSource {
    /// A gate, which a caller may have written.
    Gate,
    /// The file of a script that the operator allowed by name.
    AllowedScript,
}

/// The maximum number of variables that are added.
const MAX_VARIABLES: usize = 50;

/// Builds the environment of a child: inherited variables, then `given`, then the last argument,
/// which nothing can override.
pub(super) fn child_environment(
    source: VariableSource,
    given: &BTreeMap<String, String>,
    ours_to_say: &[(&str, OsString)],
) -> Vec<(OsString, OsString)> {
    let is_kept = |name: &str| INHERITED.contains(&name) || name.starts_with("LC_");
    let mut all: BTreeMap<OsString, OsString> = std::env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(is_kept))
        .collect();
    let wanted = given
        .iter()
        .filter(|(name, value)| is_settable(source, name, value));
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

fn is_settable(source: VariableSource, name: &str, value: &str) -> bool {
    if source == VariableSource::Gate {
        let is_own = GATE_PREFIXES.iter().any(|start| name.starts_with(start));
        if !GATE_NAMES.contains(&name) && !is_own {
            return false;
        }
    }
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
            assert!(
                !is_settable(VariableSource::AllowedScript, name, "x"),
                "{name}"
            );
            assert!(!is_settable(VariableSource::Gate, name, "x"), "{name}");
        }
        for name in [
            "NODE_ENV",
            "RUST_LOG",
            "RUST_BACKTRACE",
            "CI",
            "GATE_FLAG",
            "LANG",
        ] {
            assert!(
                is_settable(VariableSource::AllowedScript, name, "x"),
                "{name}"
            );
            assert!(is_settable(VariableSource::Gate, name, "x"), "{name}");
        }
        for name in [
            "MY_FLAG",
            "PYTEST_ADDOPTS",
            "PYTEST_PLUGINS",
            "VITEST",
            "gate_x",
        ] {
            assert!(!is_settable(VariableSource::Gate, name, "x"), "{name}");
        }
        assert!(is_settable(VariableSource::AllowedScript, "MY_FLAG", "x"));
        assert!(!is_settable(
            VariableSource::AllowedScript,
            "MY_FLAG",
            "a\0b"
        ));
    }

    #[test]
    fn few_of_our_variables_are_handed_on() {
        let ours = [("SCRIPT_TOOL_ID", OsString::from("real"))];
        let given = BTreeMap::from([("SCRIPT_TOOL_ID".to_owned(), "false".to_owned())]);
        let all = child_environment(VariableSource::AllowedScript, &given, &ours);
        let known = |name: &str| {
            INHERITED.contains(&name) || name.starts_with("LC_") || name == "SCRIPT_TOOL_ID"
        };
        assert!(all.iter().all(|(name, _)| known(name.to_str().unwrap())));
        assert!(all.contains(&("SCRIPT_TOOL_ID".into(), "real".into())));
    }
}
