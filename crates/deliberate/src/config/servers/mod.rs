//! Other MCP servers in the settings: the `[servers.NAME]` tables of the file, and the settings
//! that say where further ones are written. What is in those other files is not read here.

mod fields;
pub(crate) mod ourselves;
mod table;

use std::fmt;
use std::path::PathBuf;

use deliberate_adapter::config::Listed;
use serde_json::{Map, Value};

pub(super) use fields::FIELDS;
pub(crate) use fields::{Wrong, wrong_fields};
pub(super) use table::{InFile, read, take};

use super::origin::Origin;
use super::values::Values;

/// Where servers are written besides the settings file.
#[derive(Debug, Clone)]
pub(crate) struct Gateway {
    /// The file that `deliberate servers` writes; `None` if there is no place that would be the
    /// user's.
    pub(crate) servers_file: Option<PathBuf>,
    /// Files of other clients.
    pub(crate) import: Vec<PathBuf>,
}

impl Gateway {
    pub(super) fn from_values(values: &Values) -> Self {
        Self {
            servers_file: values.optional_path("gateway.servers_file"),
            import: values.paths("gateway.import"),
        }
    }
}

/// A server of the settings file.
#[derive(Clone)]
pub(crate) struct TableServer {
    /// The server, with variables put in.
    pub(crate) listed: Listed,
    /// As it is written.
    pub(crate) fields: Map<String, Value>,
    /// Where.
    pub(crate) origin: Origin,
}

/// Its name only: every other field may hold a key.
impl fmt::Debug for TableServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("TableServer")
            .field("name", &self.listed.config.name)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
