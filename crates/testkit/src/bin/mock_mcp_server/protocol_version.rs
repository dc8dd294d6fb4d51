//! The protocol revisions: how a request states its revision, and how the server describes itself
//! in each.

use serde_json::{Value, json};

use super::{
    rpc_result::{RpcFailure, RpcResult, code},
    server::MockMcpServer,
};
use crate::ServedEras;

/// The stateless revision, which has no handshake.
pub(crate) const STATELESS: &str = "2026-07-28";

/// The handshake revisions, newest first.
pub(crate) const HANDSHAKE: &[&str] = &["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

const NO_SUCH_REVISION: &str = "2099-01-01";

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// Returns the revision in a request's metadata, which stateless requests have.
pub(crate) fn version(params: &Value) -> Option<&str> {
    params["_meta"][VERSION_KEY].as_str()
}

/// Methods of all revisions.
const COMMON_METHODS: &[&str] = &[
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "tools/call",
    "tools/list",
];

/// Returns whether the revision has the method.
pub(crate) fn is_known_method(method: &str, stateless: bool) -> bool {
    match method {
        "initialize"
        | "ping"
        | "logging/setLevel"
        | "resources/subscribe"
        | "resources/unsubscribe" => !stateless,
        "subscriptions/listen" => stateless,
        _ => COMMON_METHODS.contains(&method),
    }
}

impl MockMcpServer {
    /// Returns whether the request is stateless, or an error if its revision is not supported.
    pub(crate) fn is_stateless_request(
        &self,
        method: &str,
        params: &Value,
    ) -> Result<bool, RpcFailure> {
        let version = version(params);
        match self.eras {
            ServedEras::Handshake => Ok(false),
            ServedEras::Stateless if method == "initialize" => {
                Err(RpcFailure::unknown_method(method))
            }
            ServedEras::Stateless if version.is_none() => Err(RpcFailure::new(
                code::INVALID_PARAMS,
                format!("_meta must contain {VERSION_KEY}"),
            )),
            _ => match version {
                None => Ok(false),
                Some(STATELESS) => Ok(true),
                Some(other) => {
                    let mut refusal =
                        RpcFailure::new(code::UNSUPPORTED_VERSION, "unsupported protocol version");
                    refusal.data = json!({ "supported": [STATELESS], "requested": other });
                    Err(refusal)
                }
            },
        }
    }

    /// Answers `initialize`.
    pub(crate) fn initialize(&self, params: &Value) -> RpcResult {
        if self.faults.refuse_init {
            return Err(RpcFailure::new(code::INTERNAL, "not today"));
        }
        let asked = params["protocolVersion"].as_str().unwrap_or_default();
        let version = HANDSHAKE
            .iter()
            .find(|known| **known == asked)
            .unwrap_or(&"2025-11-25");
        let version = if self.faults.lie_version {
            NO_SUCH_REVISION
        } else {
            version
        };
        Ok(json!({
            "protocolVersion": version,
            "capabilities": {
                "tools": { "listChanged": true },
                "resources": { "subscribe": true, "listChanged": true },
                "prompts": { "listChanged": true },
                "completions": {},
                "logging": {},
            },
            "serverInfo": server_info(),
            "instructions": INSTRUCTIONS,
        }))
    }

    /// Answers `server/discover`.
    pub(crate) fn discover(&self) -> RpcResult {
        if self.eras == ServedEras::Handshake {
            return Err(RpcFailure::unknown_method("server/discover"));
        }
        let versions = if self.faults.lie_version {
            vec![NO_SUCH_REVISION]
        } else if self.eras == ServedEras::Stateless {
            vec![STATELESS]
        } else {
            [STATELESS].iter().chain(HANDSHAKE).copied().collect()
        };
        Ok(json!({
            "resultType": "complete",
            "supportedVersions": versions,
            "capabilities": {
                "tools": { "listChanged": true },
                "resources": { "subscribe": true, "listChanged": true },
                "prompts": { "listChanged": true },
                "completions": {},
            },
            "instructions": INSTRUCTIONS,
            "ttlMs": 60_000,
            "cacheScope": "private",
            "_meta": { "io.modelcontextprotocol/serverInfo": server_info() },
        }))
    }
}

const INSTRUCTIONS: &str = "Tools that do little, for tests.";

fn server_info() -> Value {
    json!({
        "name": "upstream",
        "title": "A server for tests",
        "version": "1",
        "unknown": { "field": true },
    })
}
