//! Tests of the settings as a whole: each test builds its own environment and files.

use std::path::Path;

use secrecy::ExposeSecret as _;
use tempfile::TempDir;

use super::load::SettingEntry;
use super::origin::SettingOrigin;
use super::{AppSettings, Environment, LoadedConfig, error::SettingErrors, flags::Flags};

mod errors;
mod precedence;
mod reference_page;
mod servers;

const KEY: &str = "sk-very-secret-0123";

/// A user with their own directories.
struct TestUser {
    directory: TempDir,
    variables: Vec<(String, String)>,
    flags: Flags,
}

impl TestUser {
    fn new() -> Self {
        Self {
            directory: TempDir::new().unwrap(),
            variables: Vec::new(),
            flags: Flags::default(),
        }
    }

    fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    fn flag(mut self, flag: &str, key: &str, value: &str) -> Self {
        self.flags.set(flag.to_owned(), key, value);
        self
    }

    /// Writes the usual settings file.
    fn file(self, text: &str) -> Self {
        let directory = self.path("config/deliberate");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("config.toml"), text).unwrap();
        self
    }

    fn path(&self, inside: &str) -> std::path::PathBuf {
        self.directory.path().join(inside)
    }

    fn environment(&self) -> Environment {
        let mut environment: Environment = self.variables.iter().cloned().collect();
        environment.home = Some(self.path("home"));
        environment.data_dir = Some(self.path("data"));
        environment.config_dir = Some(self.path("config"));
        environment
    }

    fn load(&self) -> Result<LoadedConfig, SettingErrors> {
        AppSettings::load_from(&self.flags, self.environment())
    }

    fn load_valid(&self) -> LoadedConfig {
        self.load().unwrap()
    }

    /// Returns the error message, with the temporary directory replaced.
    fn error_text(&self) -> String {
        let errors = self.load().unwrap_err().to_string();
        errors.replace(&self.directory.path().display().to_string(), "DIR")
    }
}

fn find_entry<'a>(loaded: &'a LoadedConfig, key: &str) -> &'a SettingEntry {
    loaded
        .entries
        .iter()
        .find(|entry| entry.key == key)
        .unwrap()
}

fn file_origin(path: &Path, line: usize) -> SettingOrigin {
    SettingOrigin::File {
        path: path.to_owned(),
        line,
    }
}

#[test]
fn secrets_appear_nowhere() {
    let user = TestUser::new()
        .variable("LANGBASE_API_KEY", KEY)
        .variable("OPENROUTER_API_KEY", KEY)
        .flag("--set api_key", "api_key", KEY)
        .file(&format!("[anthropic]\napi_key = \"{KEY}\"\n"));
    let loaded = user.load_valid();
    let everything = format!("{loaded:?} {:?} {:?}", user.flags, user.environment());
    assert!(!everything.contains(KEY), "{everything}");
    assert_eq!(
        find_entry(&loaded, "langbase.api_key").display_value,
        "set (hidden)"
    );
    assert_eq!(
        find_entry(&loaded, "openai.api_key").display_value,
        "not set"
    );
    let key = loaded.settings.accounts["langbase"]
        .api_key
        .clone()
        .unwrap();
    assert_eq!(key.expose_secret(), KEY);
    let vendor = loaded.environment.secret("OPENROUTER_API_KEY").unwrap();
    assert_eq!(vendor.expose_secret(), KEY);
    assert!(loaded.environment.secret("GROQ_API_KEY").is_none());
}

#[test]
fn a_refused_secret_is_not_shown_either() {
    let complaint = TestUser::new()
        .variable("LANGBASE_API_KEY", "sk very secret")
        .variable("OPENAI_BASE_URL", "https://me:sk-pass@host/v1")
        .file(&format!("api_key = \"{KEY}\nprovider = auto\n"))
        .error_text();
    assert!(
        !complaint.contains("secret") && !complaint.contains("sk-pass"),
        "{complaint}"
    );
}

#[test]
fn common_options_become_flags() {
    #[derive(Debug, clap::Parser)]
    struct ConfigCli {
        #[command(flatten)]
        common: super::CommonOptions,
    }
    let cli = <ConfigCli as clap::Parser>::parse_from([
        "deliberate",
        "--set",
        "log.level=trace",
        "--log-level",
        "DEBUG",
        "--set",
        &format!("api_key={KEY}"),
        "--set",
        "model=a=b",
        "--database",
        "x.db",
    ]);
    assert!(!format!("{cli:?}").contains(KEY));
    let mut user = TestUser::new();
    user.flags = cli.common.flags();
    let loaded = user.load_valid();
    assert_eq!(find_entry(&loaded, "log.level").display_value, "debug");
    assert_eq!(
        find_entry(&loaded, "log.level").origin,
        SettingOrigin::Flag("--log-level".to_owned())
    );
    assert_eq!(
        find_entry(&loaded, "api_key").origin,
        SettingOrigin::Flag("--set api_key".to_owned())
    );
    assert_eq!(loaded.settings.model.as_deref(), Some("a=b"));
    assert_eq!(loaded.settings.database.path, Path::new("x.db"));
}
