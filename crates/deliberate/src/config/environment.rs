//! Environment variables and user directories of the process. Only this file reads them; tests
//! build their own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use secrecy::SecretString;

#[derive(Default, Clone)]
pub(crate) struct Environment {
    variables: BTreeMap<String, String>,
    /// Names of variables that are not UTF-8: an error only if the variable is ours.
    pub(super) unreadable: BTreeSet<String>,
    pub(crate) home: Option<PathBuf>,
    /// Directory for user-specific data.
    pub(crate) data_dir: Option<PathBuf>,
    /// Directory for user-specific settings.
    pub(crate) config_dir: Option<PathBuf>,
    /// Folders of the user's own files, from which papers may be read.
    pub(crate) readable: Vec<PathBuf>,
}

impl Environment {
    /// Reads the environment of this process.
    pub(crate) fn from_process() -> Self {
        let mut environment = Self {
            home: dirs::home_dir(),
            data_dir: dirs::data_dir(),
            config_dir: dirs::config_dir(),
            readable: default_readable_folders(),
            ..Self::default()
        };
        for (name, value) in std::env::vars_os() {
            let Ok(name) = name.into_string() else {
                continue;
            };
            match value.into_string() {
                Ok(value) => {
                    environment.variables.insert(name, value);
                }
                Err(_) => {
                    environment.unreadable.insert(name);
                }
            }
        }
        environment
    }

    /// Returns the trimmed value of a variable. An empty one counts as not set, because clients
    /// write that for a blank field.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let value = self.variables.get(name)?.trim();
        (!value.is_empty()).then_some(value)
    }

    /// Returns a provider's key by the name of its variable, such as `OPENROUTER_API_KEY`.
    pub(crate) fn secret(&self, name: &str) -> Option<SecretString> {
        self.get(name).map(SecretString::from)
    }

    /// Returns the names of non-empty variables that start with `prefix`.
    pub(super) fn names_starting_with<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = &'a str> {
        let set = self
            .variables
            .iter()
            .filter(|(_, value)| !value.trim().is_empty())
            .map(|(name, _)| name);
        set.chain(&self.unreadable)
            .map(String::as_str)
            .filter(move |name| name.starts_with(prefix))
    }

    pub(super) fn is_unreadable(&self, name: &str) -> bool {
        self.unreadable.contains(name)
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        Self {
            variables: variables.into_iter().collect(),
            ..Self::default()
        }
    }
}

/// Prints names only, since any variable may contain a key.
impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Environment")
            .field("variables", &self.variables.keys())
            .field("unreadable", &self.unreadable)
            .field("home", &self.home)
            .field("data_dir", &self.data_dir)
            .field("config_dir", &self.config_dir)
            .field("readable", &self.readable)
            .finish()
    }
}

/// Returns the user's documents, downloads and desktop folders, and the working directory unless it
/// is or contains the home directory or is the root.
fn default_readable_folders() -> Vec<PathBuf> {
    let home = dirs::home_dir();
    let started = std::env::current_dir().ok().filter(|folder| {
        let is_above = home.as_ref().is_some_and(|home| home.starts_with(folder));
        folder.parent().is_some() && !is_above
    });
    let own = [
        (dirs::document_dir(), "Documents"),
        (dirs::download_dir(), "Downloads"),
        (dirs::desktop_dir(), "Desktop"),
    ];
    // Without desktop settings, as in a container, the folders have these names.
    let own = own.into_iter().filter_map(|(named, usual)| {
        let usual = || home.as_ref().map(|home| home.join(usual));
        named.or_else(|| usual().filter(|folder| folder.is_dir()))
    });
    own.chain(started).collect()
}
