//! The environment of a server's program: the variables that every program needs and those that the
//! configuration names. Everything else, such as our keys, is not passed on.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
};

use secrecy::ExposeSecret as _;

use crate::config::StdioConfig;

#[cfg(not(windows))]
const REQUIRED_VARIABLES: &[&str] = &[
    "HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER",
];
#[cfg(windows)]
const REQUIRED_VARIABLES: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// Builds the program's environment from ours.
pub(super) fn build_environment(
    config: &StdioConfig,
    ours: impl IntoIterator<Item = (OsString, OsString)>,
) -> BTreeMap<OsString, OsString> {
    let mut theirs: BTreeMap<OsString, OsString> = ours
        .into_iter()
        .filter(|(name, value)| {
            let passed = config
                .pass_env
                .iter()
                .any(|wanted| is_same_name(name, wanted));
            // A shell exports its functions as variables; they are code that no server asked for.
            let needed = REQUIRED_VARIABLES
                .iter()
                .any(|needed| is_same_name(name, needed))
                && !value.as_encoded_bytes().starts_with(b"()");
            passed || needed
        })
        .collect();
    for (name, value) in &config.env {
        theirs.retain(|known, _| !is_same_name(known, name));
        theirs.insert(name.into(), value.expose_secret().into());
    }
    theirs
}

/// Compares variable names, which ignore case on Windows only.
fn is_same_name(name: &OsStr, wanted: &str) -> bool {
    if cfg!(windows) {
        name.eq_ignore_ascii_case(wanted)
    } else {
        name == wanted
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{ServerConfig, TransportConfig};

    use super::*;

    fn child_environment(
        env: &[(&str, &str)],
        pass_env: &[&str],
        ours: &[(&str, &str)],
    ) -> Vec<String> {
        let TransportConfig::Stdio(mut config) = ServerConfig::stdio("s", "s", ["a"]).transport
        else {
            panic!("not stdio");
        };
        config.env = env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).into()))
            .collect();
        config.pass_env = pass_env.iter().map(|name| (*name).to_owned()).collect();
        let ours = ours
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        build_environment(&config, ours)
            .into_iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect()
    }

    #[test]
    fn nothing_is_passed_on_that_nobody_named() {
        let ours = [("PATH", "/bin"), ("LANGBASE_API_KEY", "k"), ("SEEN", "1")];
        assert_eq!(child_environment(&[], &[], &ours), ["PATH=/bin"]);
        assert_eq!(
            child_environment(&[], &["SEEN"], &ours),
            ["PATH=/bin", "SEEN=1"]
        );
    }

    #[test]
    fn the_configuration_has_the_last_word() {
        let ours = [("PATH", "/bin"), ("SEEN", "1")];
        assert_eq!(
            child_environment(&[("PATH", "/other"), ("NEW", "2")], &["SEEN"], &ours),
            ["NEW=2", "PATH=/other", "SEEN=1"]
        );
    }

    #[test]
    fn functions_of_a_shell_stay_behind() {
        let ours = [("TERM", "() { :; }; echo"), ("USER", "u")];
        assert_eq!(child_environment(&[], &[], &ours), ["USER=u"]);
    }
}
