//! Upstream MCP servers from all sources: the settings file, the file that `deliberate servers`
//! writes, and the files of other clients. Connects to none of them.

mod client_configs;
mod definition;
mod display;
mod oauth_clients;
#[cfg(test)]
mod tests;
mod token_file;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use deliberate_mcp_client::config::ConfiguredServer;
use serde_json::{Map, Value};

pub(crate) use client_configs::read_file;
pub(crate) use definition::{check_with_variables, convert_fields};
pub(crate) use display::{describe_endpoint, describe_exposed_tools};
pub(crate) use oauth_clients::{OAuthLogins, oauth_http_config};

use crate::config::{LoadedConfig, SettingOrigin};

/// All configured servers, and the errors of invalid ones.
#[derive(Debug, Default)]
pub(crate) struct ServerCatalog {
    /// Valid servers, enabled or not; of two with the same name the first counts.
    pub(crate) servers: Vec<ServerDefinition>,
    /// Errors of the others.
    pub(crate) problems: Vec<ServerProblem>,
    /// Where logins are stored.
    pub(crate) logins: OAuthLogins,
}

/// A server and where it is defined.
#[derive(Clone)]
pub(crate) struct ServerDefinition {
    /// The server, with variables substituted.
    pub(crate) server: ConfiguredServer,
    /// The fields as written. They contain keys.
    pub(crate) fields: Map<String, Value>,
    pub(crate) source: DefinitionSource,
}

/// Where a server is defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DefinitionSource {
    Settings(SettingOrigin),
    /// The file that `deliberate servers` writes.
    ServersFile(PathBuf),
    /// A file of another client.
    Imported(PathBuf),
}

/// A file, or a server in it, that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerProblem {
    pub(crate) file: PathBuf,
    /// The server; `None` if the error concerns the whole file.
    pub(crate) server: Option<String>,
    /// The error, without any value.
    pub(crate) message: String,
}

impl ServerCatalog {
    /// Reads all sources. An unreadable one is a problem, never a failure.
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
        for definition_source in ours.chain(imported) {
            catalogue.load_file(&definition_source, loaded, &mut taken);
        }
        catalogue
    }

    fn load_file(
        &mut self,
        source: &DefinitionSource,
        loaded: &LoadedConfig,
        taken: &mut BTreeSet<String>,
    ) {
        let file = source.file();
        let found = match read_file(file) {
            Ok(Some(found)) => found,
            // The servers file may be missing; a file that is named should exist.
            Ok(None) if matches!(source, DefinitionSource::ServersFile(_)) => return,
            Ok(None) => return self.push_problem(file, None, "there is no such file".to_owned()),
            Err(what) => return self.push_problem(file, None, what),
        };
        for (name, value) in found {
            if taken.contains(&name) {
                tracing::debug!(server = name, file = %file.display(), "a server of the same name is defined elsewhere; skipped");
                continue;
            }
            match definition::load_definition(&name, &value, source, loaded) {
                Ok(Some(known)) => self.servers.push(known),
                Ok(None) => {
                    tracing::debug!(server = name, file = %file.display(), "this server is the program itself; skipped");
                    continue;
                }
                Err(what) => self.push_problem(file, Some(&name), what),
            }
            // An invalid entry still takes its name.
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

    pub(crate) fn get(&self, name: &str) -> Option<&ServerDefinition> {
        self.servers.iter().find(|known| known.name() == name)
    }

    pub(crate) fn enabled(&self) -> impl Iterator<Item = &ServerDefinition> {
        self.servers.iter().filter(|known| !known.server.disabled)
    }
}

impl ServerDefinition {
    pub(crate) fn name(&self) -> &str {
        &self.server.config.name
    }
}

/// Prints names only.
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
            Some(server) => write!(formatter, "server {server:?} is skipped: {}", self.message),
            None => formatter.write_str(&self.message),
        }
    }
}
