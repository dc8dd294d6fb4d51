//! What can be wrong with settings. Each sentence names the place, what was found there (unless it
//! is a secret) and what would be right; all of them are reported together.

use std::fmt;
use std::path::PathBuf;

use super::origin::SettingOrigin;

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SettingError {
    /// A key that is not in the table.
    #[error("unknown key `{key}` in {place}{}", did_you_mean(nearest.as_deref()))]
    UnknownKey {
        /// As written.
        key: String,
        /// Where.
        place: SettingOrigin,
        /// The known key most like it.
        nearest: Option<String>,
    },
    /// A `DELIBERATE_` variable that is not in the table.
    #[error("unknown environment variable {name}{}", did_you_mean(nearest.as_deref()))]
    UnknownVariable {
        /// As set.
        name: String,
        /// The known variable most like it.
        nearest: Option<String>,
    },
    /// A value the setting does not take.
    #[error(
        "{place}: {given} is not {allowed} (`{key}`){}",
        did_you_mean(nearest.as_deref())
    )]
    BadValue {
        /// The setting.
        key: &'static str,
        /// Where the value stands.
        place: SettingOrigin,
        /// The value, quoted, or a stand-in for a secret.
        given: String,
        /// What the setting takes.
        allowed: String,
        /// The allowed word most like it.
        nearest: Option<String>,
    },
    /// Nothing but white space, in a place where someone wrote it on purpose.
    #[error("{place}: `{key}` is empty; give it a value or leave it out")]
    Empty {
        /// The setting.
        key: &'static str,
        /// Where.
        place: SettingOrigin,
    },
    /// An array, a table or a date.
    #[error("{place}: `{key}` takes a single value, not {found}")]
    NotSingle {
        /// The setting.
        key: &'static str,
        /// Where.
        place: SettingOrigin,
        /// The TOML type.
        found: &'static str,
    },
    /// A server that can't be used as it is written.
    #[error("{place}: `{key}`: {what}")]
    Server {
        /// The server, or one of its fields.
        key: String,
        /// Where.
        place: SettingOrigin,
        /// What is wrong, without the value.
        what: String,
    },
    /// A variable of ours whose bytes are not UTF-8.
    #[error("environment variable {name} is not valid UTF-8")]
    NotUtf8 {
        /// The variable.
        name: String,
    },
    /// The settings file is not TOML.
    #[error("{place}: {message}")]
    Syntax {
        /// Where.
        place: SettingOrigin,
        /// The parser's words.
        message: String,
    },
    /// A settings file named by flag or variable that is not there.
    #[error("no settings file at {}, which {named_by} names", path.display())]
    MissingFile {
        /// The path.
        path: PathBuf,
        /// Who named it.
        named_by: SettingOrigin,
    },
    /// A settings file that cannot be read.
    #[error("cannot read the settings file {}: {reason}", path.display())]
    UnreadableFile {
        /// The path.
        path: PathBuf,
        /// The system's words.
        reason: String,
    },
    /// No home directory to put the database into.
    #[error("this user has no data directory to keep the database in; set `database.path`")]
    NoDataDirectory,
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| {
        format!("; did you mean `{nearest}`?")
    })
}

/// All mistakes of one start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SettingErrors(pub Vec<SettingError>);

impl fmt::Display for SettingErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = self.0.as_slice() {
            return only.fmt(formatter);
        }
        write!(formatter, "{} mistakes in the settings:", self.0.len())?;
        for error in &self.0 {
            write!(formatter, "\n  {error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SettingErrors {}
