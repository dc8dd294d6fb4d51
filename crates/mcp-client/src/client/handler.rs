//! The requests and notifications that a server may send to its client.

use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::jsonrpc::{RpcError, code};

/// Answers a server's requests and receives its notifications. By default every request is rejected
/// and every notification is ignored.
pub trait ClientHandler: Send + Sync + 'static {
    /// Returns the capabilities that are declared to the server when connecting.
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities::default()
    }

    /// Answers `sampling/createMessage`: the server asks for a model's reply.
    fn sample<'a>(
        &'a self,
        _server: &'a str,
        _params: Value,
    ) -> BoxFuture<'a, Result<Value, RpcError>> {
        Box::pin(async { Err(unsupported_error("sampling")) })
    }

    /// Answers `elicitation/create`: the server asks the user.
    fn elicit<'a>(
        &'a self,
        _server: &'a str,
        _params: Value,
    ) -> BoxFuture<'a, Result<Value, RpcError>> {
        Box::pin(async { Ok(json!({ "action": "cancel" })) })
    }

    /// Answers `roots/list`: the directories that the server may work in.
    fn list_roots<'a>(&'a self, _server: &'a str) -> BoxFuture<'a, Vec<Value>> {
        Box::pin(async { Vec::new() })
    }

    /// Returns the user behind the handler of a call, if it has one. A request of the server that may
    /// belong to several calls of one user goes to the newest of them.
    fn audience(&self) -> Option<&str> {
        None
    }

    /// Receives `notifications/message`: a log message of the server. Must not block.
    fn log(&self, _server: &str, _params: &Value) {}

    /// Receives a change of the server or its connection. Must not block.
    fn on_server_event(&self, _server: &str, _what: ServerEvent) {}
}

/// The capabilities that are declared to a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientCapabilities {
    /// A model can be asked.
    pub sampling: bool,
    /// The user can be asked to fill in a form.
    pub elicitation: bool,
    /// The user can be asked to open a URL.
    pub elicitation_url: bool,
    /// The client has roots.
    pub roots: bool,
}

impl ClientCapabilities {
    /// Returns the capabilities in the protocol's form.
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

/// A change of the server or its connection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerEvent {
    /// The list of tools changed.
    ToolsChanged,
    /// The list of prompts changed.
    PromptsChanged,
    /// The list of resources changed.
    ResourcesChanged,
    /// The resource with this URI changed.
    ResourceUpdated(String),
    /// The connection was established.
    Connected,
    /// The connection was lost.
    Disconnected,
}

/// A handler that rejects every request.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoClientHandler;

impl ClientHandler for NoClientHandler {}

fn unsupported_error(what: &str) -> RpcError {
    RpcError::new(
        code::METHOD_NOT_FOUND,
        format!("this client does not support {what}"),
    )
}
