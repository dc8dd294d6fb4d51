//! Brings the sources together: flag over environment over file over default. Every value keeps
//! its origin, and every mistake is collected before any is reported.

use std::io::ErrorKind;
use std::path::PathBuf;

use secrecy::ExposeSecret;

use super::environment::Environment;
use super::error::{ConfigError, ConfigErrors};
use super::file::{Contents, FileValue};
use super::flags::Flags;
use super::nearest;
use super::origin::Origin;
use super::servers::TableServer;
use super::settings::Settings;
use super::table::{self, Fallback, OUR_PREFIX, SETTINGS, Setting};
use super::value::{self, Value};
use super::values::Values;

/// The settings of this run.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    /// For the program.
    pub(crate) settings: Settings,
    /// For people: one per setting, in the order of the table.
    pub(crate) entries: Vec<Entry>,
    /// The settings file that was read.
    pub(crate) file: Option<PathBuf>,
    /// The servers of the settings file.
    pub(crate) servers: Vec<TableServer>,
    /// For vendors' own variables and for finding clients.
    pub(crate) environment: Environment,
}

impl Loaded {
    /// Whether nobody set `key`.
    pub(crate) fn is_default(&self, key: &str) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.key == key && entry.origin == Origin::Default)
    }
}

/// One line of `deliberate config`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Dotted key.
    pub(crate) key: &'static str,
    /// The value in force; a secret as `set (hidden)`.
    pub(crate) shown_value: String,
    /// Where it came from.
    pub(crate) origin: Origin,
    /// What it is for.
    pub(crate) help: &'static str,
    /// What applies when nobody sets it.
    pub(crate) default: &'static str,
}

impl Settings {
    /// Reads the settings of this process.
    pub(crate) fn load(flags: &Flags) -> Result<Loaded, ConfigErrors> {
        Self::load_from(flags, Environment::of_process())
    }

    /// Reads the settings in a given environment.
    pub(crate) fn load_from(
        flags: &Flags,
        environment: Environment,
    ) -> Result<Loaded, ConfigErrors> {
        let mut loader = Loader {
            environment: &environment,
            flags,
            in_file: Vec::new(),
            servers: Vec::new(),
            errors: Vec::new(),
        };
        let file = loader.read_file();
        loader.check_names();

        let mut values = Values::default();
        let mut entries = Vec::with_capacity(SETTINGS.len());
        for setting in SETTINGS {
            let (value, origin) = loader.resolve(setting);
            entries.push(Entry {
                key: setting.key,
                shown_value: value
                    .as_ref()
                    .map_or_else(|| setting.fallback.shown().to_owned(), Value::shown),
                origin,
                help: setting.help,
                default: setting.fallback.shown(),
            });
            if let Some(value) = value {
                values.0.insert(setting.key, value);
            }
        }
        if !loader.errors.is_empty() {
            return Err(ConfigErrors(loader.errors));
        }
        Ok(Loaded {
            settings: Self::from_values(&values),
            entries,
            file,
            servers: loader.servers,
            environment,
        })
    }
}

impl Fallback {
    /// For people.
    pub(crate) fn shown(&self) -> &'static str {
        match self {
            Self::Value(text) => text,
            Self::Unset { .. } => "not set",
            Self::Computed { shown, .. } => shown,
        }
    }
}

struct Loader<'a> {
    environment: &'a Environment,
    flags: &'a Flags,
    in_file: Vec<FileValue>,
    servers: Vec<TableServer>,
    errors: Vec<ConfigError>,
}

impl Loader<'_> {
    /// Reads the settings file, if there is one, and returns its path.
    fn read_file(&mut self) -> Option<PathBuf> {
        let (path, named_by) = self.file_path()?;
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            // Only a file somebody asked for can be missing.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.errors
                    .extend(named_by.map(|named_by| ConfigError::MissingFile { path, named_by }));
                return None;
            }
            Err(error) => {
                self.errors.push(ConfigError::UnreadableFile {
                    path,
                    reason: error.to_string(),
                });
                return None;
            }
        };
        let mut contents = Contents::parse(&path, &text);
        self.servers = contents.take_servers(self.environment);
        self.errors.extend(contents.take_errors());
        self.in_file = contents.values;
        Some(path)
    }

    fn file_path(&self) -> Option<(PathBuf, Option<Origin>)> {
        if let Some(path) = &self.flags.config {
            return Some((path.clone(), Some(Origin::Flag("--config".to_owned()))));
        }
        if let Some(text) = self.environment.get(table::CONFIG_VARIABLE) {
            let origin = Origin::Variable(table::CONFIG_VARIABLE.to_owned());
            return Some((value::path(text, &origin, self.environment), Some(origin)));
        }
        let directory = self.environment.config_dir.as_ref()?;
        Some((directory.join("deliberate").join("config.toml"), None))
    }

    /// Complains about keys in `--set` and variables that are not in the table.
    fn check_names(&mut self) {
        for given in &self.flags.values {
            if table::find(&given.key).is_none() {
                self.errors.push(ConfigError::UnknownKey {
                    key: given.key.clone(),
                    place: Origin::Flag("--set".to_owned()),
                    nearest: nearest::key(&given.key),
                });
            }
        }
        for name in self.environment.names_starting_with(OUR_PREFIX) {
            let known = SETTINGS.iter().flat_map(|setting| setting.env);
            if !known
                .chain(table::OTHER_VARIABLES)
                .any(|known| *known == name)
            {
                self.errors.push(ConfigError::UnknownVariable {
                    name: name.to_owned(),
                    nearest: nearest::variable(name),
                });
            }
        }
    }

    fn resolve(&mut self, setting: &'static Setting) -> (Option<Value>, Origin) {
        // The file is checked as a whole, even where something else overrides it: it is there to
        // stay. A flag or variable that does not count is not worth a refusal.
        let in_file = self.file_value(setting);
        let (value, origin) = self
            .flag_value(setting)
            .or_else(|| self.variable_value(setting))
            .or(in_file)
            .unwrap_or_else(|| (self.fallback_value(setting), Origin::Default));
        match value {
            Ok(value) => (value, origin),
            Err(error) => {
                self.errors.push(error);
                (None, origin)
            }
        }
    }

    fn flag_value(&self, setting: &'static Setting) -> Option<Candidate> {
        let given = self
            .flags
            .values
            .iter()
            .rfind(|given| given.key == setting.key)?;
        let origin = Origin::Flag(given.flag.clone());
        Some(self.candidate(setting, given.value.expose_secret(), origin))
    }

    fn variable_value(&self, setting: &'static Setting) -> Option<Candidate> {
        let (ours, shared): (Vec<&str>, Vec<&str>) = setting
            .env
            .iter()
            .partition(|name| name.starts_with(OUR_PREFIX));
        ours.into_iter().chain(shared).find_map(|name| {
            let origin = Origin::Variable(name.to_owned());
            if self.environment.is_unreadable(name) {
                let name = name.to_owned();
                return Some((Err(ConfigError::NotUtf8 { name }), origin));
            }
            let text = self.environment.get(name)?;
            Some(self.candidate(setting, text, origin))
        })
    }

    fn file_value(&mut self, setting: &'static Setting) -> Option<Candidate> {
        let given = self
            .in_file
            .iter()
            .find(|given| given.setting.key == setting.key)?;
        let (value, origin) = self.candidate(setting, &given.text, given.origin.clone());
        match value {
            Ok(value) => Some((Ok(value), origin)),
            Err(error) => {
                self.errors.push(error);
                Some((Ok(None), origin))
            }
        }
    }

    fn fallback_value(&self, setting: &'static Setting) -> Result<Option<Value>, ConfigError> {
        match setting.fallback {
            Fallback::Value(text) => {
                value::parse(setting, text, &Origin::Default, self.environment).map(Some)
            }
            Fallback::Computed { .. } if setting.key == "database.path" => {
                let directory = self.environment.data_dir.as_ref();
                let directory = directory.ok_or(ConfigError::NoDataDirectory)?;
                let path = directory.join("deliberate").join("deliberate.db");
                Ok(Some(Value::Path(path)))
            }
            Fallback::Computed { .. } if setting.key == "prompts.workspace" => {
                let directory = self.environment.data_dir.as_ref();
                let path = directory.map(|it| it.join("deliberate").join("prompts"));
                Ok(path.map(Value::Path))
            }
            Fallback::Computed { .. } if setting.key == "gateway.servers_file" => {
                let directory = self.environment.config_dir.as_ref();
                let path = directory.map(|it| it.join("deliberate").join("servers.json"));
                Ok(path.map(Value::Path))
            }
            Fallback::Computed { .. } | Fallback::Unset { .. } => Ok(None),
        }
    }

    fn candidate(&self, setting: &'static Setting, text: &str, origin: Origin) -> Candidate {
        let value = value::parse(setting, text, &origin, self.environment).map(Some);
        (value, origin)
    }
}

type Candidate = (Result<Option<Value>, ConfigError>, Origin);
