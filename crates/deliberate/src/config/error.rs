//! Errors in settings. Each message names the place, the value found there (unless it is a secret)
//! and the allowed values; all errors are reported together.

use std::fmt;
use std::path::PathBuf;

use super::origin::SettingOrigin;

/// One error in the settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SettingError {
    /// A key that is not in the table of settings.
    #[error("unknown key `{key}` in {place}{}", did_you_mean(nearest.as_deref()))]
    UnknownKey {
        key: String,
        place: SettingOrigin,
        /// The most similar known key.
        nearest: Option<String>,
    },
    /// A `DELIBERATE_` variable that is not in the table of settings.
    #[error("unknown environment variable {name}{}", did_you_mean(nearest.as_deref()))]
    UnknownVariable {
        name: String,
        /// The most similar known variable.
        nearest: Option<String>,
    },
    /// A value that the setting does not accept.
    #[error(
        "{place}: {given} is not {allowed} (`{key}`){}",
        did_you_mean(nearest.as_deref())
    )]
    BadValue {
        key: &'static str,
        place: SettingOrigin,
        /// The value in quotes, or a placeholder for a secret.
        given: String,
        allowed: String,
        /// The most similar allowed word.
        nearest: Option<String>,
    },
    /// Only white space in a place that was written on purpose.
    #[error("{place}: `{key}` is empty; set a value or remove it")]
    Empty {
        key: &'static str,
        place: SettingOrigin,
    },
    /// An array, a table or a date instead of a single value.
    #[error("{place}: `{key}` takes a single value, not {found}")]
    NotSingle {
        key: &'static str,
        place: SettingOrigin,
        /// TOML type of the value.
        found: &'static str,
    },
    /// An invalid server entry.
    #[error("{place}: `{key}`: {what}")]
    Server {
        /// The server, or one of its fields.
        key: String,
        place: SettingOrigin,
        /// The error, without the value.
        what: String,
    },
    /// One of our variables is not UTF-8.
    #[error("environment variable {name} is not valid UTF-8")]
    NotUtf8 { name: String },
    /// The settings file is not TOML.
    #[error("{place}: {message}")]
    Syntax {
        place: SettingOrigin,
        /// The parser's message.
        message: String,
    },
    /// The settings file named by a flag or variable does not exist.
    #[error("there is no settings file at {}, named by {named_by}", path.display())]
    MissingFile {
        path: PathBuf,
        named_by: SettingOrigin,
    },
    /// The settings file cannot be read.
    #[error("cannot read the settings file {}: {reason}", path.display())]
    UnreadableFile {
        path: PathBuf,
        /// The system's message.
        reason: String,
    },
    /// There is no directory for the database.
    #[error("this user has no data directory for the database; set `database.path`")]
    NoDataDirectory,
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| {
        format!("; did you mean `{nearest}`?")
    })
}

/// All errors in the settings of one start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SettingErrors(pub Vec<SettingError>);

impl fmt::Display for SettingErrors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = self.0.as_slice() {
            return only.fmt(formatter);
        }
        write!(formatter, "{} errors in the settings:", self.0.len())?;
        for error in &self.0 {
            write!(formatter, "\n  {error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SettingErrors {}
