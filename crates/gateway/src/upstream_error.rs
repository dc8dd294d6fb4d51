//! Converts an upstream server's failure into a tool error: with the server's own message, bounded,
//! and without details that are only for the operator.

use deliberate_core::truncate_json;
use deliberate_mcp_client::{
    ClientError, ClientErrorKind,
    jsonrpc::{RpcError, code::URL_ELICITATION},
    transport::{DeliveryStatus, TransportError},
};
use deliberate_toolkit::UpstreamError;
use serde_json::{Map, Value};

use super::injection_scan;
use crate::error::server_error_hint;

/// The maximum size of an upstream error's data.
const MAX_DATA_BYTES: usize = 16 * 1024;
/// The maximum number of characters of a message.
const MAX_CHARS: usize = 1_000;

pub(crate) fn to_upstream_error(error: &ClientError) -> UpstreamError {
    let (hint, more) = match &error.kind {
        ClientErrorKind::Rpc(rpc) => (
            url_elicitation_hint(rpc).or_else(|| server_error_hint(error)),
            rpc_error_fields(rpc),
        ),
        _ => (server_error_hint(error), Map::new()),
    };
    UpstreamError {
        code: error.code().to_owned(),
        message: injection_scan::to_one_line(&error.to_string(), MAX_CHARS),
        hint,
        more,
        outward: redacted_message(error),
    }
}

/// Returns the code and data of an upstream error.
fn rpc_error_fields(rpc: &RpcError) -> Map<String, Value> {
    let mut more = Map::new();
    more.insert("rpc_code".to_owned(), rpc.code.into());
    if let Some(data) = &rpc.data {
        more.insert(
            "data".to_owned(),
            truncate_json(data.clone(), MAX_DATA_BYTES),
        );
    }
    more
}

/// Returns a hint with the URLs that the user has to open before the call.
fn url_elicitation_hint(rpc: &RpcError) -> Option<String> {
    const MAX_URLS: usize = 5;
    let data = rpc.data.as_ref().filter(|_| rpc.code == URL_ELICITATION)?;
    let wanted = data.get("elicitations").and_then(Value::as_array)?;
    let urls: Vec<String> = wanted
        .iter()
        .filter_map(|it| it.get("url")?.as_str())
        .take(MAX_URLS)
        .map(|url| injection_scan::to_one_line(url, 500))
        .collect();
    (!urls.is_empty()).then(|| {
        format!(
            "The user has to open {} first. Then call again.",
            urls.join(" and ")
        )
    })
}

/// Returns the message and hint for remote callers, if the original names commands, folders or
/// addresses, which are for the operator only.
fn redacted_message(error: &ClientError) -> Option<(String, String)> {
    let server = &error.server;
    let what = match &error.kind {
        ClientErrorKind::Transport(transport) => match transport {
            TransportError::NotStarted { .. } => "could not be started",
            TransportError::Unauthorized {
                forbidden: true, ..
            } => "does not allow this",
            TransportError::Unauthorized { .. } => "rejected the login",
            TransportError::Http { status: 404, .. } => "has no MCP server at its address",
            TransportError::Closed { .. } => "closed the connection",
            TransportError::TooLarge { .. } => return None,
            _ => "is unreachable",
        },
        ClientErrorKind::Backoff { .. } => "is unreachable at the moment",
        ClientErrorKind::Config(_) => "is misconfigured",
        _ => return None,
    };
    let why = format!("To find the cause, run `deliberate servers test {server}`.");
    let hint = match (&error.kind, error.delivery) {
        (ClientErrorKind::Backoff { wait, .. }, _) => {
            format!("Retry in {} ms. {why}", wait.as_millis())
        }
        (_, DeliveryStatus::No) => why,
        _ => format!("The operation may have completed. Check before retrying. {why}"),
    };
    Some((format!("server {server:?} {what}"), hint))
}

#[cfg(test)]
mod tests {
    use deliberate_toolkit::ToolError;
    use serde_json::json;

    use super::*;

    fn to_tool_error(kind: ClientErrorKind) -> ToolError {
        crate::GatewayError::from(ClientError::new("files", kind)).into()
    }

    #[test]
    fn commands_and_folders_are_not_told_beyond_this_machine() {
        let started = || TransportError::NotStarted {
            command: "/home/ann/x".to_owned(),
            reason: "no such file".to_owned(),
        };
        for kind in [
            ClientErrorKind::Transport(started()),
            ClientErrorKind::Transport(TransportError::Unreachable {
                reason: "http://10.0.0.1/home/ann".to_owned(),
            }),
            ClientErrorKind::Backoff {
                wait: std::time::Duration::from_secs(1),
                reason: started().to_string(),
            },
        ] {
            let error = to_tool_error(kind);
            assert!(error.to_string().contains("/home/ann"), "{error}");
            let error = error.redacted();
            let all = format!("{error} {:?} {}", error.hint(), error.to_json());
            assert!(!all.contains("/home/ann"), "{all}");
            assert!(all.contains("deliberate servers test files"), "{all}");
        }
    }

    #[test]
    fn codes_of_client_errors_are_error_codes() {
        let reason = || "why".to_owned();
        let after = std::time::Duration::ZERO;
        let transport = [
            TransportError::NotStarted {
                command: reason(),
                reason: reason(),
            },
            TransportError::Unreachable { reason: reason() },
            TransportError::Closed {
                reason: reason(),
                sent: DeliveryStatus::No,
            },
            TransportError::Http {
                status: 500,
                message: None,
                retry_after: None,
            },
            TransportError::Unauthorized {
                reason: reason(),
                forbidden: false,
            },
            TransportError::TooLarge { limit: 1 },
            TransportError::Garbage { reason: reason() },
            TransportError::ConnectTimeout { after },
            TransportError::Unsendable { reason: reason() },
        ];
        let kinds = [
            ClientErrorKind::Timeout { after },
            ClientErrorKind::Cancelled,
            ClientErrorKind::Rpc(Box::new(RpcError {
                code: -1,
                message: reason(),
                data: None,
            })),
            ClientErrorKind::Malformed { reason: reason() },
            ClientErrorKind::Domain {
                message: reason(),
                result: Box::default(),
            },
            ClientErrorKind::InvalidArguments(Vec::new()),
            ClientErrorKind::UnknownTool { nearest: None },
            ClientErrorKind::Unsupported { capability: "x" },
            ClientErrorKind::RateLimited { wait: after },
            ClientErrorKind::Backoff {
                wait: after,
                reason: reason(),
            },
            ClientErrorKind::Stopped,
        ];
        let transport = transport.map(ClientErrorKind::Transport);
        for kind in kinds.into_iter().chain(transport) {
            let error = ClientError::new("files", kind);
            let code = error.code().parse::<deliberate_toolkit::ErrorCode>();
            assert!(code.is_ok(), "{code:?}");
        }
    }

    #[test]
    fn what_the_server_said_is_told_on() {
        let rpc = RpcError {
            code: URL_ELICITATION,
            message: "log\nin".to_owned(),
            data: Some(
                json!({ "elicitations": [{ "mode": "url", "url": "https://a.example/in",
                "elicitationId": "e", "message": "Log in" }] }),
            ),
        };
        let error = to_tool_error(ClientErrorKind::Rpc(rpc.clone().into())).redacted();
        assert_eq!(error.to_json()["rpc_code"], URL_ELICITATION);
        assert_eq!(error.to_json()["data"], rpc.data.unwrap());
        assert!(error.hint().unwrap().contains("https://a.example/in"));
        let huge = RpcError {
            code: -1,
            message: String::new(),
            data: Some(json!("x".repeat(1_000_000))),
        };
        let error = to_tool_error(ClientErrorKind::Rpc(huge.into()));
        assert!(error.to_json().to_string().len() < 20_000);
    }
}
