//! Settings from the command line: a few flags of their own, and `--set` for every key.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use secrecy::{ExposeSecret, SecretString};

use super::definitions::PROVIDERS;

/// The options every command takes.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct CommonOptions {
    /// Settings file, in place of the usual one
    #[arg(long, value_name = "PATH", global = true)]
    pub(crate) config: Option<PathBuf>,
    /// Set any key of the settings file (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE", global = true, value_parser = Assignment::parse)]
    pub(crate) set: Vec<Assignment>,
    /// Database file
    #[arg(long, value_name = "PATH", global = true)]
    pub(crate) database: Option<String>,
    /// Who thinks
    #[arg(long, value_name = "NAME", global = true, ignore_case = true, hide_possible_values = true,
        value_parser = PossibleValuesParser::new(PROVIDERS.iter().copied()))]
    pub(crate) provider: Option<String>,
    /// Model to ask
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) model: Option<String>,
    /// How much is written to standard error
    #[arg(long, value_name = "LEVEL", global = true, ignore_case = true,
        value_parser = ["error", "warn", "info", "debug", "trace"])]
    pub(crate) log_level: Option<String>,
}

impl CommonOptions {
    /// The overrides they amount to.
    pub(crate) fn flags(&self) -> Flags {
        let mut flags = Flags {
            config: self.config.clone(),
            ..Flags::default()
        };
        for Assignment { key, value } in &self.set {
            flags.set(format!("--set {key}"), key, value.expose_secret());
        }
        // After `--set`, because the flag made for a setting is the more deliberate one.
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

/// One `--set KEY=VALUE`. The value may be a key, so it is kept as a secret.
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

/// Overrides from the command line. For one key the last one counts.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    /// The settings file to read.
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

/// One override.
#[derive(Debug)]
pub(super) struct FlagValue {
    pub(super) flag: String,
    pub(super) key: String,
    pub(super) value: SecretString,
}
