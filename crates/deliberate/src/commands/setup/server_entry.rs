//! The entry of this server in a client's file, independent of the file's format.

use std::collections::BTreeMap;

use secrecy::SecretString;

/// One server in a client's file.
#[derive(Debug)]
pub(super) struct ServerEntry {
    /// Name that the client displays.
    pub(super) name: String,
    pub(super) command: String,
    pub(super) args: Vec<String>,
    /// Environment variables, any of which may be a key.
    pub(super) env: BTreeMap<String, SecretString>,
}

/// Result of editing a client's file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ClientConfigEdit {
    /// The entry is already there.
    Unchanged,
    /// The whole new text.
    Changed(String),
    /// It cannot be changed safely, for this reason.
    ManualEditNeeded(String),
}
