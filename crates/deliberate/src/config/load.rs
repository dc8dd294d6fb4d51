//! Merges the sources: flag over environment over file over default. Every value keeps its origin,
//! and all errors are collected before any is reported.

use std::io::ErrorKind;
use std::path::PathBuf;

use secrecy::ExposeSecret;

use super::{
    definitions::{self, SETTINGS, SettingDefault, SettingDefinition, VARIABLE_PREFIX},
    environment::Environment,
    error::{SettingError, SettingErrors},
    file::{ConfigFileContents, FileValue},
    flags::Flags,
    origin::SettingOrigin,
    parse::{self, SettingValue},
    resolved::ResolvedSettings,
    servers::SettingsFileServer,
    settings::AppSettings,
    suggest,
};

/// The settings of this run.
#[derive(Debug, Clone)]
pub(crate) struct LoadedConfig {
    pub(crate) settings: AppSettings,
    /// One entry per setting, in the order of the table, for `deliberate config`.
    pub(crate) entries: Vec<SettingEntry>,
    /// The settings file that was read.
    pub(crate) file: Option<PathBuf>,
    /// Servers of the settings file.
    pub(crate) servers: Vec<SettingsFileServer>,
    /// For the API-key variables of providers and for finding clients.
    pub(crate) environment: Environment,
    /// Values that were ignored, each as a sentence for the log.
    pub(crate) warnings: Vec<String>,
}

impl LoadedConfig {
    /// Returns whether `key` has its default value because nothing sets it.
    pub(crate) fn is_default(&self, key: &str) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.key == key && entry.origin == SettingOrigin::Default)
    }
}

/// One line of `deliberate config`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SettingEntry {
    pub(crate) key: &'static str,
    /// The current value; a secret as `set (hidden)`.
    pub(crate) display_value: String,
    pub(crate) origin: SettingOrigin,
    pub(crate) help: &'static str,
    pub(crate) default: &'static str,
}

impl AppSettings {
    /// Loads the settings of this process.
    pub(crate) fn load(flags: &Flags) -> Result<LoadedConfig, SettingErrors> {
        Self::load_from(flags, Environment::from_process())
    }

    /// Loads the settings in a given environment.
    pub(crate) fn load_from(
        flags: &Flags,
        environment: Environment,
    ) -> Result<LoadedConfig, SettingErrors> {
        let mut loader = ConfigLoader {
            environment: &environment,
            flags,
            file_values: Vec::new(),
            servers: Vec::new(),
            errors: Vec::new(),
            warnings: Vec::new(),
        };
        let file = loader.read_file();
        loader.check_names();

        let mut values = ResolvedSettings::default();
        let mut entries = Vec::with_capacity(SETTINGS.len());
        for setting in SETTINGS {
            let (value, origin) = loader.resolve(setting);
            entries.push(SettingEntry {
                key: setting.key,
                display_value: value.as_ref().map_or_else(
                    || setting.default.display().to_owned(),
                    SettingValue::display,
                ),
                origin,
                help: setting.help,
                default: setting.default.display(),
            });
            if let Some(value) = value {
                values.0.insert(setting.key, value);
            }
        }
        if !loader.errors.is_empty() {
            return Err(SettingErrors(loader.errors));
        }
        Ok(LoadedConfig {
            settings: Self::from_values(&values),
            entries,
            file,
            servers: loader.servers,
            warnings: loader.warnings,
            environment,
        })
    }
}

impl SettingDefault {
    /// Returns the default as displayed to people.
    pub(crate) fn display(&self) -> &'static str {
        match self {
            Self::Value(text) => text,
            Self::Unset { .. } => "not set",
            Self::Computed { display: shown, .. } => shown,
        }
    }
}

struct ConfigLoader<'a> {
    environment: &'a Environment,
    flags: &'a Flags,
    file_values: Vec<FileValue>,
    servers: Vec<SettingsFileServer>,
    errors: Vec<SettingError>,
    warnings: Vec<String>,
}

impl ConfigLoader<'_> {
    /// Reads the settings file, if there is one, and returns its path.
    fn read_file(&mut self) -> Option<PathBuf> {
        let (path, named_by) = self.file_path()?;
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            // The usual file may be missing; one that was named may not.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.errors
                    .extend(named_by.map(|named_by| SettingError::MissingFile { path, named_by }));
                return None;
            }
            Err(error) => {
                self.errors.push(SettingError::UnreadableFile {
                    path,
                    reason: error.to_string(),
                });
                return None;
            }
        };
        let mut contents = ConfigFileContents::parse(&path, &text);
        self.servers = contents.take_servers(self.environment);
        self.errors.extend(contents.take_errors());
        self.file_values = contents.values;
        Some(path)
    }

    fn file_path(&self) -> Option<(PathBuf, Option<SettingOrigin>)> {
        if let Some(path) = &self.flags.config {
            return Some((
                path.clone(),
                Some(SettingOrigin::Flag("--config".to_owned())),
            ));
        }
        if let Some(text) = self.environment.get(definitions::CONFIG_VARIABLE) {
            let origin = SettingOrigin::Variable(definitions::CONFIG_VARIABLE.to_owned());
            return Some((
                parse::expand_path(text, &origin, self.environment),
                Some(origin),
            ));
        }
        let directory = self.environment.config_dir.as_ref()?;
        Some((directory.join("deliberate").join("config.toml"), None))
    }

    /// Reports keys in `--set` and variables that are not in the table.
    fn check_names(&mut self) {
        for value in &self.flags.values {
            if definitions::find_setting(&value.key).is_none() {
                self.errors.push(SettingError::UnknownKey {
                    key: value.key.clone(),
                    place: SettingOrigin::Flag("--set".to_owned()),
                    nearest: suggest::nearest_key(&value.key),
                });
            }
        }
        for name in self.environment.names_starting_with(VARIABLE_PREFIX) {
            let known = SETTINGS.iter().flat_map(|setting| setting.env);
            if !known
                .chain(definitions::OTHER_VARIABLES)
                .any(|known| *known == name)
            {
                self.errors.push(SettingError::UnknownVariable {
                    name: name.to_owned(),
                    nearest: suggest::nearest_variable(name),
                });
            }
        }
    }

    fn resolve(
        &mut self,
        setting: &'static SettingDefinition,
    ) -> (Option<SettingValue>, SettingOrigin) {
        // The whole file is checked, even values that something else overrides, because the file
        // stays. An invalid flag or variable that is overridden is not an error.
        let in_file = self.file_value(setting);
        let (value, origin) = self
            .flag_value(setting)
            .or_else(|| self.variable_value(setting))
            .or(in_file)
            .unwrap_or_else(|| (self.fallback_value(setting), SettingOrigin::Default));
        match value {
            Ok(value) => (value, origin),
            Err(error) => {
                self.errors.push(error);
                (None, origin)
            }
        }
    }

    fn flag_value(&self, setting: &'static SettingDefinition) -> Option<CandidateValue> {
        let value = self
            .flags
            .values
            .iter()
            .rfind(|value| value.key == setting.key)?;
        let origin = SettingOrigin::Flag(value.flag.clone());
        Some(self.candidate(setting, value.value.expose_secret(), origin))
    }

    fn variable_value(&mut self, setting: &'static SettingDefinition) -> Option<CandidateValue> {
        let (ours, shared): (Vec<&str>, Vec<&str>) = setting
            .env
            .iter()
            .partition(|name| name.starts_with(VARIABLE_PREFIX));
        ours.into_iter().chain(shared).find_map(|name| {
            let origin = SettingOrigin::Variable(name.to_owned());
            if self.environment.is_unreadable(name) {
                let name = name.to_owned();
                return Some((Err(SettingError::NotUtf8 { name }), origin));
            }
            let text = self.environment.get(name)?;
            let (value, origin) = self.candidate(setting, text, origin);
            match value {
                Err(error) if name == definitions::LOG_LEVEL_VARIABLE => {
                    self.warnings.push(format!("ignored {error}"));
                    None
                }
                value => Some((value, origin)),
            }
        })
    }

    fn file_value(&mut self, setting: &'static SettingDefinition) -> Option<CandidateValue> {
        let file_value = self
            .file_values
            .iter()
            .find(|file_value| file_value.setting.key == setting.key)?;
        let (value, origin) = self.candidate(setting, &file_value.text, file_value.origin.clone());
        match value {
            Ok(value) => Some((Ok(value), origin)),
            Err(error) => {
                self.errors.push(error);
                Some((Ok(None), origin))
            }
        }
    }

    fn fallback_value(
        &self,
        setting: &'static SettingDefinition,
    ) -> Result<Option<SettingValue>, SettingError> {
        match setting.default {
            SettingDefault::Value(text) => {
                parse::parse_value(setting, text, &SettingOrigin::Default, self.environment)
                    .map(Some)
            }
            SettingDefault::Computed { .. } if setting.key == "database.path" => {
                let directory = self.environment.data_dir.as_ref();
                let directory = directory.ok_or(SettingError::NoDataDirectory)?;
                let path = directory.join("deliberate").join("deliberate.db");
                Ok(Some(SettingValue::Path(path)))
            }
            SettingDefault::Computed { .. } if setting.key == "prompts.workspace" => {
                let directory = self.environment.data_dir.as_ref();
                let path = directory.map(|it| it.join("deliberate").join("prompts"));
                Ok(path.map(SettingValue::Path))
            }
            SettingDefault::Computed { .. } if setting.key == "gateway.servers_file" => {
                let directory = self.environment.config_dir.as_ref();
                let path = directory.map(|it| it.join("deliberate").join("servers.json"));
                Ok(path.map(SettingValue::Path))
            }
            SettingDefault::Computed { .. } | SettingDefault::Unset { .. } => Ok(None),
        }
    }

    fn candidate(
        &self,
        setting: &'static SettingDefinition,
        text: &str,
        origin: SettingOrigin,
    ) -> CandidateValue {
        let value = parse::parse_value(setting, text, &origin, self.environment).map(Some);
        (value, origin)
    }
}

type CandidateValue = (Result<Option<SettingValue>, SettingError>, SettingOrigin);
