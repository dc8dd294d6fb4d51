//! Origin of a value, so that a person can find and change it.

use std::fmt;
use std::path::PathBuf;

/// Where a value was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SettingOrigin {
    /// A command-line flag, as written.
    Flag(String),
    Variable(String),
    /// A line of the settings file.
    File {
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
    },
    /// The table of settings.
    Default,
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(formatter, "flag {flag}"),
            Self::Variable(name) => write!(formatter, "environment variable {name}"),
            Self::File { path, line } => write!(formatter, "{}:{line}", path.display()),
            Self::Default => formatter.write_str("default"),
        }
    }
}
