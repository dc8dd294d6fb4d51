//! Errors of the gateway: of an upstream server, or before one is called.

use deliberate_core::truncate_chars;
use deliberate_mcp_client::{ClientErrorKind, transport::TransportError};
use deliberate_store::StoreError;
use deliberate_toolkit::{ArgumentIssue, ErrorCode, ToolError};
use serde_json::{Value, json};

use super::upstream_error::to_upstream_error;

#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The upstream server or its connection failed.
    #[error(transparent)]
    Server(Box<deliberate_mcp_client::ClientError>),
    #[error("there is no server named {name:?}")]
    UnknownServer {
        name: String,
        /// A server with a similar name.
        nearest: Option<String>,
        /// All servers.
        all: Vec<String>,
    },
    /// The server is configured but cannot be used.
    #[error("server {server:?} is left out: {why}")]
    ExcludedServer { server: String, why: String },
    #[error("there is no tool named {name:?}")]
    UnknownTool {
        name: String,
        /// Tools with similar names.
        similar: Vec<String>,
    },
    /// An argument that a method needs is missing.
    #[error("{tool} needs the argument {field:?}, a string")]
    MissingArgument { tool: String, field: &'static str },
    #[error("the tool {tool:?} of server {server:?} is quarantined: {why}")]
    Quarantined {
        server: String,
        tool: String,
        why: String,
    },
    /// The definition is not the one that was inspected.
    #[error("the definition of {tool:?} of server {server:?} changed again after it was inspected")]
    ChangedAgain { server: String, tool: String },
    /// The state of a repeated call matches no suspended call.
    #[error(
        "no such call is waiting for input: it was answered, it expired, or it belongs to another caller"
    )]
    NotSuspended,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<deliberate_mcp_client::ClientError> for GatewayError {
    fn from(error: deliberate_mcp_client::ClientError) -> Self {
        Self::Server(Box::new(error))
    }
}

impl GatewayError {
    pub(crate) fn unknown_tool(name: &str, similar: Vec<String>) -> Self {
        Self::UnknownTool {
            name: truncate_chars(name, 80),
            similar,
        }
    }

    /// Returns a short, stable code.
    pub fn code(&self) -> &str {
        match self {
            Self::Server(error) => error.code(),
            Self::UnknownServer { .. } => ErrorCode::UnknownServer.as_str(),
            Self::ExcludedServer { .. } => ErrorCode::LeftOut.as_str(),
            Self::UnknownTool { .. } => ErrorCode::UnknownTool.as_str(),
            Self::MissingArgument { .. } => ErrorCode::Validation.as_str(),
            Self::Quarantined { .. } => ErrorCode::Quarantined.as_str(),
            Self::ChangedAgain { .. } => ErrorCode::ChangedAgain.as_str(),
            Self::NotSuspended => ErrorCode::NotWaiting.as_str(),
            Self::Store(error) => error.code().as_str(),
        }
    }

    /// Returns the next step, if there is one.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Server(error) => return server_error_hint(error),
            Self::UnknownServer { nearest, all, .. } => {
                let meant = nearest
                    .as_ref()
                    .map_or_else(String::new, |name| format!("Did you mean {name}? "));
                format!("{meant}{}", join_names(all))
            }
            Self::ExcludedServer { server, .. } => {
                format!(
                    "The operator can find the problem with `deliberate servers test {server}`."
                )
            }
            Self::UnknownTool { similar: near, .. } if near.is_empty() => {
                "Search for tools with gateway_search.".to_owned()
            }
            Self::UnknownTool { similar: near, .. } => {
                format!("Did you mean {}?", near.join(" or "))
            }
            Self::Quarantined { server, tool, .. } => format!(
                "The operator can inspect it (`deliberate servers tools {server}`) \
                 and approve it (`deliberate servers approve {server} {}`).",
                shell_tool_name(server, tool)
            ),
            Self::MissingArgument { field, .. } => format!("Add {field} to `arguments`."),
            Self::ChangedAgain { server, .. } => {
                format!("Inspect it again (`deliberate servers tools {server}`), then approve it.")
            }
            Self::NotSuspended => "Start the call again.".to_owned(),
            Self::Store(error) => return error.hint(),
        })
    }

    /// Returns the error as JSON, for programs.
    pub fn to_json(&self) -> Value {
        if let Self::Server(error) = self {
            let mut error_json = error.to_json();
            if let (Some(fields), Some(hint)) =
                (error_json.as_object_mut(), server_error_hint(error))
            {
                fields.insert("hint".to_owned(), hint.into());
            }
            return error_json;
        }
        let mut error = json!({ "code": self.code(), "message": self.to_string() });
        if let (Some(fields), Some(hint)) = (error.as_object_mut(), self.hint()) {
            fields.insert("hint".to_owned(), hint.into());
        }
        error
    }
}

/// Returns the hint of an upstream error, with the login command of this program.
pub(crate) fn server_error_hint(error: &deliberate_mcp_client::ClientError) -> Option<String> {
    match &error.kind {
        ClientErrorKind::Transport(TransportError::Unauthorized {
            forbidden: false, ..
        }) => Some(format!(
            "Log in with `deliberate servers login {}`, or check the key in its `headers`.",
            error.server
        )),
        _ => error.hint(),
    }
}

fn join_names(all: &[String]) -> String {
    const MAX_NAMES: usize = 20;
    if all.is_empty() {
        return "No servers are configured.".to_owned();
    }
    let names: Vec<&str> = all.iter().take(MAX_NAMES).map(String::as_str).collect();
    let more = if all.len() > MAX_NAMES { ", …" } else { "" };
    format!("The servers are: {}{more}.", names.join(", "))
}

/// Returns a tool name that can be used in a command: the tool's own name if it has no characters
/// that are special to a shell.
fn shell_tool_name(server: &str, tool: &str) -> String {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    if !tool.starts_with('-') && tool.chars().all(fine) {
        return tool.to_owned();
    }
    deliberate_mcp_client::tool_name::qualified_tool_name(server, tool)
}

impl From<GatewayError> for ToolError {
    fn from(error: GatewayError) -> Self {
        match error {
            GatewayError::Store(error) => Self::Store(error),
            GatewayError::Server(error) => match &error.kind {
                ClientErrorKind::Cancelled => Self::Cancelled,
                ClientErrorKind::InvalidArguments(faults) => {
                    let issue = |fault: &deliberate_json_schema::SchemaViolation| {
                        let place = format!("arguments{}", fault.path.replace('/', "."));
                        ArgumentIssue::new(place, format!("{}, got {}", fault.rule, fault.value))
                    };
                    Self::Invalid(faults.iter().map(issue).collect())
                }
                _ => Self::Upstream(Box::new(to_upstream_error(&error))),
            },
            error => Self::from_code_text(error.code(), error.to_string(), error.hint()),
        }
    }
}
