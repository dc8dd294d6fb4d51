//! Upstream servers in the settings: the `[servers.NAME]` tables of the file, and the settings that
//! name further files. Those files are not read here.

mod fields;
pub(crate) mod self_reference;
mod table;

use std::fmt;
use std::path::PathBuf;

use deliberate_mcp_client::config::ConfiguredServer;
use serde_json::{Map, Value};

pub(super) use fields::FIELDS;
pub(crate) use fields::{FieldError, find_invalid_fields};
pub(super) use table::{ServerTable, load_servers, read_tables};

use super::{origin::SettingOrigin, resolved::ResolvedSettings};

/// Files that list upstream servers besides the settings file.
#[derive(Debug, Clone)]
pub(crate) struct GatewaySettings {
    /// The file that `deliberate servers` writes; `None` if the user has no configuration
    /// directory.
    pub(crate) servers_file: Option<PathBuf>,
    /// Files of other clients.
    pub(crate) import: Vec<PathBuf>,
}

impl GatewaySettings {
    pub(super) fn from_values(values: &ResolvedSettings) -> Self {
        Self {
            servers_file: values.optional_path("gateway.servers_file"),
            import: values.paths("gateway.import"),
        }
    }
}

/// A server of the settings file.
#[derive(Clone)]
pub(crate) struct SettingsFileServer {
    /// The server, with variables substituted.
    pub(crate) server: ConfiguredServer,
    /// The fields as written.
    pub(crate) fields: Map<String, Value>,
    pub(crate) origin: SettingOrigin,
}

/// Prints the name only: every other field may contain a key.
impl fmt::Debug for SettingsFileServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SettingsFileServer")
            .field("name", &self.server.config.name)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}
