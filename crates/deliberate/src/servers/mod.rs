//! Other MCP servers, brought together from wherever they are written: the settings file, the file
//! that `deliberate servers` writes, and the files of other clients. Connects to none of them.

mod entry;
mod foreign;
mod jsonc;
mod logins;
mod shown;
#[cfg(test)]
mod tests;
mod tokens;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};

use deliberate_adapter::config::Listed;
use serde_json::{Map, Value};

pub(crate) use entry::{as_ours, check};
pub(crate) use foreign::read_file;
pub(crate) use jsonc::plain;
pub(crate) use logins::{Logins, with_login};
pub(crate) use shown::{exposed, reached};

use crate::config::{Loaded, Origin};

/// All servers there are, and what is wrong with those that can't be used.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    /// Those that can be used, switched off or not; the first of a name counts.
    pub(crate) known: Vec<Known>,
    /// Why others can't be.
    pub(crate) problems: Vec<Problem>,
    /// Where logins at them are kept.
    pub(crate) logins: Logins,
}

/// A server and where it is written.
#[derive(Clone)]
pub(crate) struct Known {
    /// The server, with variables put in.
    pub(crate) listed: Listed,
    /// As it is written. Holds keys.
    pub(crate) fields: Map<String, Value>,
    /// Where.
    pub(crate) place: Place,
}

/// Where a server is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// The settings file.
    Settings(Origin),
    /// The file that `deliberate servers` writes.
    Ours(PathBuf),
    /// A file of another client.
    Imported(PathBuf),
}

/// A file, or a server in it, that can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The file.
    pub(crate) file: PathBuf,
    /// The server; `None` if it is the whole file.
    pub(crate) server: Option<String>,
    /// What is wrong, without any value.
    pub(crate) what: String,
}

impl Catalogue {
    /// Reads all places. What can't be read is a problem, never a failure.
    pub(crate) fn read(loaded: &Loaded) -> Self {
        let mut catalogue = Self {
            logins: Logins::of(&loaded.environment),
            ..Self::default()
        };
        let mut taken: BTreeSet<String> = BTreeSet::new();
        for server in &loaded.servers {
            taken.insert(server.listed.config.name.clone());
            catalogue.known.push(Known {
                listed: server.listed.clone(),
                fields: server.fields.clone(),
                place: Place::Settings(server.origin.clone()),
            });
        }
        let gateway = &loaded.settings.gateway;
        let ours = gateway.servers_file.iter().cloned().map(Place::Ours);
        let imported = gateway.import.iter().cloned().map(Place::Imported);
        for place in ours.chain(imported) {
            catalogue.take_file(&place, loaded, &mut taken);
        }
        catalogue
    }

    fn take_file(&mut self, place: &Place, loaded: &Loaded, taken: &mut BTreeSet<String>) {
        let file = place.file();
        let found = match read_file(file) {
            Ok(Some(found)) => found,
            // Nobody has to have a file of servers; a file that is named should be there.
            Ok(None) if matches!(place, Place::Ours(_)) => return,
            Ok(None) => return self.refuse(file, None, "there is no such file".to_owned()),
            Err(what) => return self.refuse(file, None, what),
        };
        for (name, value) in found {
            if taken.contains(&name) {
                tracing::debug!(server = name, file = %file.display(), "the same name is known from elsewhere; left out");
                continue;
            }
            match entry::taken(&name, &value, place, loaded) {
                Ok(Some(known)) => self.known.push(known),
                Ok(None) => {
                    tracing::debug!(server = name, file = %file.display(), "it is this program; left out");
                    continue;
                }
                Err(what) => self.refuse(file, Some(&name), what),
            }
            // A broken one was still meant to be the one of that name.
            taken.insert(name);
        }
    }

    fn refuse(&mut self, file: &Path, server: Option<&str>, what: String) {
        self.problems.push(Problem {
            file: file.to_owned(),
            server: server.map(str::to_owned),
            what,
        });
    }

    /// The server of that name.
    pub(crate) fn get(&self, name: &str) -> Option<&Known> {
        self.known.iter().find(|known| known.name() == name)
    }

    /// Those that are switched on.
    pub(crate) fn on(&self) -> impl Iterator<Item = &Known> {
        self.known.iter().filter(|known| !known.listed.disabled)
    }
}

impl Known {
    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.listed.config.name
    }
}

/// Names only.
impl fmt::Debug for Known {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Known")
            .field("name", &self.name())
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

impl Place {
    fn file(&self) -> &Path {
        match self {
            Self::Settings(Origin::File { path, .. }) | Self::Ours(path) | Self::Imported(path) => {
                path
            }
            Self::Settings(_) => Path::new(""),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(origin) => origin.fmt(formatter),
            Self::Ours(path) | Self::Imported(path) => path.display().fmt(formatter),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: ", self.file.display())?;
        match &self.server {
            Some(server) => write!(formatter, "server {server:?} is left out: {}", self.what),
            None => formatter.write_str(&self.what),
        }
    }
}
