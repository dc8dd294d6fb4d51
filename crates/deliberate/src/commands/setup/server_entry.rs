//! What a client is told about this server, whatever its file looks like.

use std::collections::BTreeMap;

use secrecy::SecretString;

/// One server in a client's file.
#[derive(Debug)]
pub(super) struct ServerEntry {
    /// The name the client shows.
    pub(super) name: String,
    /// The program.
    pub(super) command: String,
    /// Its arguments.
    pub(super) args: Vec<String>,
    /// Variables to set. Any of them may be a key.
    pub(super) env: BTreeMap<String, SecretString>,
}

/// What becomes of a client's file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ClientConfigEdit {
    /// It says so already.
    Unchanged,
    /// The whole new text.
    Changed(String),
    /// It is not safe to change it; why.
    ManualEditNeeded(String),
}
