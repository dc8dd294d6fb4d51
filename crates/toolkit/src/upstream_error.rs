//! Errors of upstream servers and the connections to them. The module does not know the servers: it
//! carries the texts for local clients and for clients beyond this machine.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An error of an upstream server or of the connection to it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UpstreamError {
    /// The stable code, as text because it may come from a record of another version.
    pub code: String,
    /// The message.
    pub message: String,
    /// The next step.
    pub hint: Option<String>,
    /// Further data, such as the server's own error. Its size is bounded.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub more: Map<String, Value>,
    /// The message and hint for clients beyond this machine, if these may see less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outward: Option<(String, String)>,
}

impl UpstreamError {
    /// Returns the error for clients beyond this machine.
    pub(crate) fn redacted(self) -> Self {
        match self.outward {
            Some((message, hint)) => Self {
                message,
                hint: Some(hint),
                more: Map::new(),
                outward: None,
                code: self.code,
            },
            None => self,
        }
    }
}
