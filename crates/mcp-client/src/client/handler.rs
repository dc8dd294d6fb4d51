//! What a server may ask and tell its client.

use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::jsonrpc::{RpcError, code};

/// Answers a server and hears what it tells. Everything has a default: what a server asks is
/// refused, what it tells is ignored.
pub trait ClientHandler: Send + Sync + 'static {
    /// What is declared to the server when it is connected.
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities::default()
    }

    /// `sampling/createMessage`: lets a model think.
    fn sample<'a>(
        &'a self,
        _server: &'a str,
        _params: Value,
    ) -> BoxFuture<'a, Result<Value, RpcError>> {
        Box::pin(async { Err(unsupported_error("sampling")) })
    }

    /// `elicitation/create`: asks a person.
    fn elicit<'a>(
        &'a self,
        _server: &'a str,
        _params: Value,
    ) -> BoxFuture<'a, Result<Value, RpcError>> {
        Box::pin(async { Ok(json!({ "action": "cancel" })) })
    }

    /// `roots/list`: where the server may work.
    fn list_roots<'a>(&'a self, _server: &'a str) -> BoxFuture<'a, Vec<Value>> {
        Box::pin(async { Vec::new() })
    }

    /// `notifications/message`: what the server logs. Must not block.
    fn log(&self, _server: &str, _params: &Value) {}

    /// Something is not as it was. Must not block.
    fn on_server_event(&self, _server: &str, _what: ServerEvent) {}
}

/// What is declared to a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientCapabilities {
    /// A model can be asked.
    pub sampling: bool,
    /// A person can be asked to fill a form.
    pub elicitation: bool,
    /// A person can be asked to open an address.
    pub elicitation_url: bool,
    /// There are roots.
    pub roots: bool,
}

impl ClientCapabilities {
    /// The capabilities, as the protocol writes them.
    pub(super) fn to_json(self) -> Value {
        let mut capabilities = json!({});
        if let Some(fields) = capabilities.as_object_mut() {
            if self.sampling {
                fields.insert("sampling".to_owned(), json!({}));
            }
            if self.elicitation || self.elicitation_url {
                let mut modes = json!({});
                if let Some(modes) = modes.as_object_mut() {
                    if self.elicitation {
                        modes.insert("form".to_owned(), json!({}));
                    }
                    if self.elicitation_url {
                        modes.insert("url".to_owned(), json!({}));
                    }
                }
                fields.insert("elicitation".to_owned(), modes);
            }
            if self.roots {
                fields.insert("roots".to_owned(), json!({ "listChanged": true }));
            }
        }
        capabilities
    }
}

/// What is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerEvent {
    /// The list of tools.
    ToolsChanged,
    /// The list of prompts.
    PromptsChanged,
    /// The list of resources.
    ResourcesChanged,
    /// One resource.
    ResourceUpdated(String),
    /// There is a connection.
    Connected,
    /// There is none any more.
    Disconnected,
}

/// Refuses everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoClientHandler;

impl ClientHandler for NoClientHandler {}

fn unsupported_error(what: &str) -> RpcError {
    RpcError::new(code::METHOD_NOT_FOUND, format!("{what} is not offered"))
}
