//! Settings on the command line: a few flags, and `--set` for every key.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use secrecy::{ExposeSecret, SecretString};

use super::definitions::PROVIDER_CHOICES;

/// Options of every command.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct CommonOptions {
    /// Settings file, instead of the usual one
    #[arg(long, value_name = "PATH", global = true)]
    pub(crate) config: Option<PathBuf>,
    /// Set any key of the settings file (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE", global = true, value_parser = Assignment::parse)]
    pub(crate) set: Vec<Assignment>,
    /// Database file
    #[arg(long, value_name = "PATH", global = true)]
    pub(crate) database: Option<String>,
    /// Model provider
    #[arg(long, value_name = "NAME", global = true, ignore_case = true, hide_possible_values = true,
        value_parser = PossibleValuesParser::new(PROVIDER_CHOICES.iter().copied()))]
    pub(crate) provider: Option<String>,
    /// Model name
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) model: Option<String>,
    /// Level of the log on standard error
    #[arg(long, value_name = "LEVEL", global = true, ignore_case = true,
        value_parser = ["error", "warn", "info", "debug", "trace"])]
    pub(crate) log_level: Option<String>,
}

impl CommonOptions {
    /// Returns the settings that the options override.
    pub(crate) fn flags(&self) -> Flags {
        let mut flags = Flags {
            config: self.config.clone(),
            ..Flags::default()
        };
        for Assignment { key, value } in &self.set {
            flags.set(format!("--set {key}"), key, value.expose_secret());
        }
        // After `--set`, because a flag made for one setting is more specific.
        for (flag, key, value) in [
            ("--database", "database.path", &self.database),
            ("--provider", "provider", &self.provider),
            ("--model", "model", &self.model),
            ("--log-level", "log.level", &self.log_level),
        ] {
            if let Some(value) = value {
                flags.set(flag.to_owned(), key, value);
            }
        }
        flags
    }
}

/// One `--set KEY=VALUE`. The value may be a key, so it is stored as a secret.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    key: String,
    value: SecretString,
}

impl Assignment {
    fn parse(text: &str) -> Result<Self, String> {
        let (key, value) = text
            .split_once('=')
            .ok_or("expected KEY=VALUE, such as log.level=debug")?;
        Ok(Self {
            key: key.trim().to_owned(),
            value: SecretString::from(value),
        })
    }
}

/// Settings from the command line. If a key is set more than once, the last value counts.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    pub(crate) config: Option<PathBuf>,
    pub(super) values: Vec<FlagValue>,
}

impl Flags {
    /// Adds the value that `flag` gives to `key`.
    pub(crate) fn set(&mut self, flag: String, key: &str, value: &str) {
        self.values.push(FlagValue {
            flag,
            key: key.to_owned(),
            value: SecretString::from(value),
        });
    }
}

#[derive(Debug)]
pub(super) struct FlagValue {
    pub(super) flag: String,
    pub(super) key: String,
    pub(super) value: SecretString,
}
