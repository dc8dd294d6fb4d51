//! What can go wrong at the gateway: with the other server, or before it is asked.

use deliberate_adapter::{ClientErrorKind, transport::TransportError};
use deliberate_core::truncate_chars;
use deliberate_store::StoreError;
use deliberate_toolkit::{ArgumentIssue, ToolError};
use serde_json::{Value, json};

use super::upstream_error::to_upstream_error;

/// Why there is nothing to give.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The other server, or the way to it.
    #[error(transparent)]
    Server(Box<deliberate_adapter::ClientError>),
    /// There is no such server.
    #[error("there is no server named {name:?}")]
    UnknownServer {
        /// What was asked for.
        name: String,
        /// One that is named alike.
        nearest: Option<String>,
        /// Those that there are.
        all: Vec<String>,
    },
    /// The server is written down, but can't be used.
    #[error("server {server:?} is left out: {why}")]
    ExcludedServer {
        /// The server.
        server: String,
        /// Why.
        why: String,
    },
    /// There is no such tool.
    #[error("there is no tool named {name:?}")]
    UnknownTool {
        /// What was asked for.
        name: String,
        /// Some that are named alike.
        near: Vec<String>,
    },
    /// The tool is kept back.
    #[error("the tool {tool:?} of server {server:?} is kept back: {why}")]
    Quarantined {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// Why, in a few words.
        why: String,
    },
    /// A definition is not the one that was shown.
    #[error("the definition of {tool:?} of server {server:?} changed again after it was looked at")]
    ChangedAgain {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// What is sent again does not belong to a call that waits.
    #[error("no such call waits for input: it was answered, it expired, or it is another's")]
    NotSuspended,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<deliberate_adapter::ClientError> for GatewayError {
    fn from(error: deliberate_adapter::ClientError) -> Self {
        Self::Server(Box::new(error))
    }
}

impl GatewayError {
    pub(crate) fn unknown_tool(name: &str, near: Vec<String>) -> Self {
        Self::UnknownTool {
            name: truncate_chars(name, 80),
            near,
        }
    }

    /// A short stable word for it.
    pub fn code(&self) -> &str {
        match self {
            Self::Server(error) => error.code(),
            Self::UnknownServer { .. } => "UnknownServer",
            Self::ExcludedServer { .. } => "LeftOut",
            Self::UnknownTool { .. } => "UnknownTool",
            Self::Quarantined { .. } => "Quarantined",
            Self::ChangedAgain { .. } => "ChangedAgain",
            Self::NotSuspended => "NotWaiting",
            Self::Store(error) => error.code(),
        }
    }

    /// What to do next, where there is something.
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
                format!("Whoever runs this server can mend it: `deliberate servers test {server}`.")
            }
            Self::UnknownTool { near, .. } if near.is_empty() => {
                "gateway_search finds tools by words.".to_owned()
            }
            Self::UnknownTool { near, .. } => format!("Did you mean {}?", near.join(" or ")),
            Self::Quarantined { server, tool, .. } => format!(
                "Whoever runs this server can look at it (`deliberate servers tools {server}`) \
                 and let it through (`deliberate servers approve {server} {}`).",
                shell_tool_name(server, tool)
            ),
            Self::ChangedAgain { server, .. } => {
                format!("Look at it again (`deliberate servers tools {server}`), then approve it.")
            }
            Self::NotSuspended => "Make the call again from its start.".to_owned(),
            Self::Store(error) => return error.hint(),
        })
    }

    /// The error as data, for programs.
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

/// What to do about a server that failed. Here there is a command to log in with.
pub(crate) fn server_error_hint(error: &deliberate_adapter::ClientError) -> Option<String> {
    match &error.kind {
        ClientErrorKind::Transport(TransportError::Unauthorized { .. }) => Some(format!(
            "Log in with `deliberate servers login {}`, or check the key in its `headers`.",
            error.server
        )),
        _ => error.hint(),
    }
}

/// Which servers there are.
fn join_names(all: &[String]) -> String {
    const MAX_NAMES: usize = 20;
    if all.is_empty() {
        return "There are none.".to_owned();
    }
    let names: Vec<&str> = all.iter().take(MAX_NAMES).map(String::as_str).collect();
    let more = if all.len() > MAX_NAMES { ", …" } else { "" };
    format!("The servers are: {}{more}.", names.join(", "))
}

/// The name of a tool as it can be put into a command: its own, if it holds nothing that a shell
/// would understand.
fn shell_tool_name(server: &str, tool: &str) -> String {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    if !tool.starts_with('-') && tool.chars().all(fine) {
        return tool.to_owned();
    }
    deliberate_adapter::tool_name::qualified_tool_name(server, tool)
}

impl From<GatewayError> for ToolError {
    fn from(error: GatewayError) -> Self {
        match error {
            GatewayError::Store(error) => Self::Store(error),
            GatewayError::Server(error) => match &error.kind {
                ClientErrorKind::Cancelled => Self::Cancelled,
                ClientErrorKind::InvalidArguments(faults) => {
                    let issue = |fault: &deliberate_adapter::schema::SchemaViolation| {
                        let place = format!("arguments{}", fault.path.replace('/', "."));
                        ArgumentIssue::new(place, format!("{}, got {}", fault.rule, fault.value))
                    };
                    Self::Invalid(faults.iter().map(issue).collect())
                }
                _ => Self::Upstream(Box::new(to_upstream_error(&error))),
            },
            error => Self::Custom {
                code: error.code().to_owned(),
                message: error.to_string(),
                hint: error.hint(),
            },
        }
    }
}
