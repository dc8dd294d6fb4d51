//! Other MCP servers, brought together from wherever they are written: the settings file, the file
//! that `deliberate servers` writes, and the files of other clients. Connects to none of them.

mod client_configs;
mod definition;
mod display;
mod jsonc;
mod oauth_clients;
#[cfg(test)]
mod tests;
mod token_file;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use deliberate_adapter::config::ConfiguredServer;
use serde_json::{Map, Value};

pub(crate) use client_configs::read_file;
pub(crate) use definition::{check_with_variables, convert_fields};
pub(crate) use display::{describe_endpoint, describe_exposed_tools};
pub(crate) use jsonc::to_json;
pub(crate) use oauth_clients::{OAuthLogins, oauth_http_config};

use crate::config::{LoadedConfig, SettingOrigin};

/// All servers there are, and what is wrong with those that can't be used.
#[derive(Debug, Default)]
pub(crate) struct ServerCatalog {
    /// Those that can be used, switched off or not; the first of a name counts.
    pub(crate) servers: Vec<ServerDefinition>,
    /// Why others can't be.
    pub(crate) problems: Vec<ServerProblem>,
    /// Where logins at them are kept.
    pub(crate) logins: OAuthLogins,
}

/// A server and where it is written.
#[derive(Clone)]
pub(crate) struct ServerDefinition {
    /// The server, with variables put in.
    pub(crate) server: ConfiguredServer,
    /// As it is written. Holds keys.
    pub(crate) fields: Map<String, Value>,
    /// Where.
    pub(crate) source: DefinitionSource,
}

/// Where a server is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DefinitionSource {
    /// The settings file.
    Settings(SettingOrigin),
    /// The file that `deliberate servers` writes.
    ServersFile(PathBuf),
    /// A file of another client.
    Imported(PathBuf),
}

/// A file, or a server in it, that can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerProblem {
    /// The file.
    pub(crate) file: PathBuf,
    /// The server; `None` if it is the whole file.
    pub(crate) server: Option<String>,
    /// What is wrong, without any value.
    pub(crate) message: String,
}

impl ServerCatalog {
    /// Reads all places. What can't be read is a problem, never a failure.
    pub(crate) fn read(loaded: &LoadedConfig) -> Self {
        let mut catalogue = Self {
            logins: OAuthLogins::from_environment(&loaded.environment),
            ..Self::default()
        };
        let mut taken: BTreeSet<String> = BTreeSet::new();
        for server in &loaded.servers {
            taken.insert(server.server.config.name.clone());
            catalogue.servers.push(ServerDefinition {
                server: server.server.clone(),
                fields: server.fields.clone(),
                source: DefinitionSource::Settings(server.origin.clone()),
            });
        }
        let gateway = &loaded.settings.gateway;
        let ours = gateway
            .servers_file
            .iter()
            .cloned()
            .map(DefinitionSource::ServersFile);
        let imported = gateway
            .import
            .iter()
            .cloned()
            .map(DefinitionSource::Imported);
        for place in ours.chain(imported) {
            catalogue.load_file(&place, loaded, &mut taken);
        }
        catalogue
    }

    fn load_file(
        &mut self,
        place: &DefinitionSource,
        loaded: &LoadedConfig,
        taken: &mut BTreeSet<String>,
    ) {
        let file = place.file();
        let found = match read_file(file) {
            Ok(Some(found)) => found,
            // Nobody has to have a file of servers; a file that is named should be there.
            Ok(None) if matches!(place, DefinitionSource::ServersFile(_)) => return,
            Ok(None) => return self.push_problem(file, None, "there is no such file".to_owned()),
            Err(what) => return self.push_problem(file, None, what),
        };
        for (name, value) in found {
            if taken.contains(&name) {
                tracing::debug!(server = name, file = %file.display(), "the same name is known from elsewhere; left out");
                continue;
            }
            match definition::load_definition(&name, &value, place, loaded) {
                Ok(Some(known)) => self.servers.push(known),
                Ok(None) => {
                    tracing::debug!(server = name, file = %file.display(), "it is this program; left out");
                    continue;
                }
                Err(what) => self.push_problem(file, Some(&name), what),
            }
            // A broken one was still meant to be the one of that name.
            taken.insert(name);
        }
    }

    fn push_problem(&mut self, file: &Path, server: Option<&str>, what: String) {
        self.problems.push(ServerProblem {
            file: file.to_owned(),
            server: server.map(str::to_owned),
            message: what,
        });
    }

    /// The server of that name.
    pub(crate) fn get(&self, name: &str) -> Option<&ServerDefinition> {
        self.servers.iter().find(|known| known.name() == name)
    }

    /// Those that are switched on.
    pub(crate) fn enabled(&self) -> impl Iterator<Item = &ServerDefinition> {
        self.servers.iter().filter(|known| !known.server.disabled)
    }
}

impl ServerDefinition {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.server.config.name
    }
}

/// Names only.
impl fmt::Debug for ServerDefinition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ServerDefinition")
            .field("name", &self.name())
            .field("place", &self.source)
            .finish_non_exhaustive()
    }
}

impl DefinitionSource {
    fn file(&self) -> &Path {
        match self {
            Self::Settings(SettingOrigin::File { path, .. })
            | Self::ServersFile(path)
            | Self::Imported(path) => path,
            Self::Settings(_) => Path::new(""),
        }
    }
}

impl fmt::Display for DefinitionSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(origin) => origin.fmt(formatter),
            Self::ServersFile(path) | Self::Imported(path) => path.display().fmt(formatter),
        }
    }
}

impl fmt::Display for ServerProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: ", self.file.display())?;
        match &self.server {
            Some(server) => write!(formatter, "server {server:?} is left out: {}", self.message),
            None => formatter.write_str(&self.message),
        }
    }
}
