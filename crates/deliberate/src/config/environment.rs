//! What the process sees of the machine: its environment variables and the user's directories.
//! This is the only place that reads them; tests make their own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use secrecy::SecretString;

/// Environment variables and user directories.
#[derive(Default, Clone)]
pub(crate) struct Environment {
    variables: BTreeMap<String, String>,
    /// Names whose value is not UTF-8: an error if the variable is ours, nobody's business if not.
    pub(super) unreadable: BTreeSet<String>,
    /// The user's home directory.
    pub(crate) home: Option<PathBuf>,
    /// Where this user's programs keep data.
    pub(crate) data_dir: Option<PathBuf>,
    /// Where this user's programs keep settings.
    pub(crate) config_dir: Option<PathBuf>,
    /// Folders the user's own files are in.
    pub(crate) readable: Vec<PathBuf>,
}

impl Environment {
    /// That of this process.
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

    /// The variable's value without surrounding white space. An empty one counts as not set,
    /// because that is what clients write for a field left blank.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let value = self.variables.get(name)?.trim();
        (!value.is_empty()).then_some(value)
    }

    /// A vendor's key by the name of its variable, such as `OPENROUTER_API_KEY`.
    pub(crate) fn secret(&self, name: &str) -> Option<SecretString> {
        self.get(name).map(SecretString::from)
    }

    /// Names that are set to something and begin with `prefix`.
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

/// Names only: any variable may hold a key.
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

/// The user's documents, downloads and desktop, and where the program was started, unless that is a
/// whole home or disk.
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
    // Where no desktop wrote down what they are called, as in a container, they are called so.
    let own = own.into_iter().filter_map(|(named, usual)| {
        let usual = || home.as_ref().map(|home| home.join(usual));
        named.or_else(|| usual().filter(|folder| folder.is_dir()))
    });
    own.chain(started).collect()
}
