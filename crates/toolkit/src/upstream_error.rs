//! What another server, or the way to it, failed with. Knows nothing of servers: it carries what is
//! told of the failure, to those here and to those beyond this machine.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What another server, or the way to it, failed with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct UpstreamError {
    /// The stable code.
    pub code: String,
    /// The sentence.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
    /// What else is told of it as data, such as what the server itself said. Bounded.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub more: Map<String, Value>,
    /// The sentence and the hint for those beyond this machine, where these may know less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outward: Option<(String, String)>,
}

impl UpstreamError {
    /// The same, for those beyond this machine.
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
