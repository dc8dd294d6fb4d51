//! The two forms of a request: as a client of the handshake revisions sends it to a server without
//! sessions, and as a client of 2026-07-28 sends it.

use std::{fmt::Write as _, net::SocketAddr};

use serde_json::{Value, json};

use super::ENDPOINT;

/// The protocol revision of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientProtocol {
    /// 2025-11-25: the version in a header, nothing else.
    Legacy,
    /// 2026-07-28: the version and the client's capabilities with every request, and headers that
    /// repeat values of the body.
    Modern,
}

impl ClientProtocol {
    /// Both revisions.
    pub const ALL: [Self; 2] = [Self::Legacy, Self::Modern];

    /// Returns the name of the revision.
    pub fn version(self) -> &'static str {
        match self {
            Self::Legacy => "2025-11-25",
            Self::Modern => "2026-07-28",
        }
    }

    /// Builds the message of a request.
    pub fn message(self, id: u64, method: &str, params: Value) -> Value {
        let mut params = params;
        if self == Self::Modern
            && let Some(fields) = params.as_object_mut()
        {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": self.version(),
                "io.modelcontextprotocol/clientInfo": { "name": "load", "version": "0" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            fields.insert("_meta".to_owned(), meta);
        }
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    }

    /// Builds the bytes of a request.
    pub fn request(self, host: SocketAddr, id: u64, method: &str, params: Value) -> Vec<u8> {
        let name = header_name_value(method, &params);
        let message = self.message(id, method, params).to_string();
        let mut more = format!("mcp-protocol-version: {}\r\n", self.version());
        if self == Self::Modern {
            // Writing into a string does not fail.
            let _ = write!(more, "mcp-method: {method}\r\n");
            if let Some(name) = name {
                let _ = write!(more, "mcp-name: {name}\r\n");
            }
        }
        let mut bytes = request_head("POST", ENDPOINT, &host.to_string(), &more, message.len());
        bytes.push_str(&message);
        bytes.into_bytes()
    }
}

/// Returns the name that a request's header must repeat.
fn header_name_value(method: &str, params: &Value) -> Option<String> {
    let field = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return None,
    };
    params[field].as_str().map(str::to_owned)
}

/// Builds the head of a request with a JSON body of this length; `more` contains whole header
/// lines.
pub fn request_head(method: &str, target: &str, host: &str, more: &str, length: usize) -> String {
    format!(
        "{method} {target} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {length}\r\n{more}\r\n"
    )
}
