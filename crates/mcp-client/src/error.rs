//! Errors between a caller and a server, classified where they occur: by class, by whether the
//! server may have acted, and by whether a retry here or at another server can help.

use std::{fmt, sync::Arc, time::Duration};

use deliberate_json_schema::SchemaViolation;
use serde::Serialize;
use serde_json::{Value, json};

use super::jsonrpc::{RpcError, code};
use crate::transport::{DeliveryStatus, TransportError};

/// The maximum number of characters that are shown of a server's message.
const MAX_SHOWN_CHARS: usize = 500;

/// A failed request, with the details that help to find the cause.
#[derive(Debug, Clone)]
pub struct ClientError {
    /// The kind of failure.
    pub kind: ClientErrorKind,
    /// Whether the server may have acted on the request.
    pub delivery: DeliveryStatus,
    /// The server.
    pub server: Arc<str>,
    /// The tool, resource or prompt.
    pub subject: Option<Arc<str>>,
    /// The last lines that the server wrote to its standard error, if it is a program that we
    /// started.
    pub diagnosis: Option<Arc<str>>,
    /// The error of the first server, if this is the error of its fallback.
    pub earlier_error: Option<Box<Self>>,
}

/// The kinds of failure.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ClientErrorKind {
    /// The request or the answer was lost in the transport.
    Transport(TransportError),
    /// No answer arrived in time.
    Timeout {
        /// The time that was waited.
        after: Duration,
    },
    /// The caller or the server cancelled the request.
    Cancelled,
    /// The server answered with a JSON-RPC error.
    Rpc(Box<RpcError>),
    /// The server's answer violates the protocol.
    Malformed {
        /// What is wrong with the answer.
        reason: String,
    },
    /// The tool ran and reported that it failed.
    Domain {
        /// The text of the result.
        message: String,
        /// The complete result.
        result: Box<Value>,
    },
    /// The arguments violate the tool's schema; nothing was sent.
    InvalidArguments(Vec<SchemaViolation>),
    /// The server has no such tool.
    UnknownTool {
        /// A tool with a similar name.
        nearest: Option<String>,
    },
    /// The server lacks a capability that the request needs.
    Unsupported {
        /// The missing capability.
        capability: &'static str,
    },
    /// The configured rate limit of the server is exhausted.
    RateLimited {
        /// The time until the next call is allowed.
        wait: Duration,
    },
    /// The request was not tried, because the server failed recently and is in backoff.
    Backoff {
        /// The remaining backoff.
        wait: Duration,
        /// The reason of the recent failure.
        reason: String,
    },
    /// The client was closed.
    Stopped,
    /// The configuration is invalid.
    Config(crate::config::ServerConfigError),
}

/// The three classes of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorClass {
    /// A message violates the protocol or was rejected by it.
    Protocol,
    /// The request or the answer was lost in the transport.
    Transport,
    /// The tool ran and failed.
    Domain,
}

impl ClientError {
    /// Creates an error of this server.
    pub fn new(server: impl Into<Arc<str>>, kind: ClientErrorKind) -> Self {
        Self {
            delivery: kind.delivery_status(),
            kind,
            server: server.into(),
            subject: None,
            diagnosis: None,
            earlier_error: None,
        }
    }

    /// Adds the tool, resource or prompt that the error is about.
    pub fn with_subject(mut self, what: impl Into<Arc<str>>) -> Self {
        self.subject = Some(what.into());
        self
    }

    /// Returns the class of the error.
    pub fn class(&self) -> ErrorClass {
        match &self.kind {
            ClientErrorKind::Transport(_)
            | ClientErrorKind::Timeout { .. }
            | ClientErrorKind::Cancelled
            | ClientErrorKind::RateLimited { .. }
            | ClientErrorKind::Backoff { .. }
            | ClientErrorKind::Stopped => ErrorClass::Transport,
            ClientErrorKind::Domain { .. } => ErrorClass::Domain,
            ClientErrorKind::Rpc(_)
            | ClientErrorKind::Malformed { .. }
            | ClientErrorKind::InvalidArguments(_)
            | ClientErrorKind::UnknownTool { .. }
            | ClientErrorKind::Unsupported { .. }
            | ClientErrorKind::Config(_) => ErrorClass::Protocol,
        }
    }

    /// Returns true if the same request may succeed later or at another server.
    pub fn is_transient(&self) -> bool {
        match &self.kind {
            ClientErrorKind::Transport(error) => match error {
                TransportError::Http { status, .. } => {
                    *status == 408 || *status == 429 || *status >= 500
                }
                TransportError::TooLarge { .. }
                | TransportError::Unsendable { .. }
                | TransportError::Unauthorized { .. } => false,
                _ => true,
            },
            ClientErrorKind::Timeout { .. }
            | ClientErrorKind::RateLimited { .. }
            | ClientErrorKind::Backoff { .. }
            | ClientErrorKind::Malformed { .. } => true,
            ClientErrorKind::Rpc(error) => error.code == code::INTERNAL,
            ClientErrorKind::Cancelled
            | ClientErrorKind::Domain { .. }
            | ClientErrorKind::InvalidArguments(_)
            | ClientErrorKind::UnknownTool { .. }
            | ClientErrorKind::Unsupported { .. }
            | ClientErrorKind::Stopped
            | ClientErrorKind::Config(_) => false,
        }
    }

    /// Returns true if another server may know what this one does not: an unknown tool or method,
    /// or parameters of another version.
    pub fn may_differ_elsewhere(&self) -> bool {
        match &self.kind {
            ClientErrorKind::Rpc(error) => matches!(
                error.code,
                code::METHOD_NOT_FOUND | code::INVALID_PARAMS | code::INVALID_REQUEST | code::PARSE
            ),
            ClientErrorKind::UnknownTool { .. }
            | ClientErrorKind::Unsupported { .. }
            | ClientErrorKind::Transport(TransportError::Unauthorized { .. }) => true,
            _ => false,
        }
    }

    /// Returns true if the same request may succeed later or at another server and cannot repeat an
    /// effect.
    pub fn is_repeatable(&self, idempotent: bool) -> bool {
        self.is_transient() && self.repeats_no_effect(idempotent)
    }

    /// Returns true if the fallback server may be called after this failure: it may succeed there, and
    /// no effect can be repeated. `unknown` is for what this server does not know.
    pub fn may_fall_back(&self, idempotent: bool, unknown: bool) -> bool {
        (self.is_transient() || (unknown && self.may_differ_elsewhere()))
            && self.repeats_no_effect(idempotent)
    }

    /// Returns true if sending the request again, here or to another server, cannot repeat an effect:
    /// the server certainly did not act, or acting again changes nothing (`idempotent`).
    pub fn repeats_no_effect(&self, idempotent: bool) -> bool {
        idempotent || self.delivery == DeliveryStatus::No
    }

    /// Returns a short, stable code.
    pub fn code(&self) -> &'static str {
        match &self.kind {
            ClientErrorKind::Transport(error) => match error {
                TransportError::NotStarted { .. } => "NotStarted",
                TransportError::Unreachable { .. } => "Unreachable",
                TransportError::Closed { .. } => "ConnectionClosed",
                TransportError::Http { .. } => "Http",
                TransportError::Unauthorized { .. } => "Unauthorized",
                TransportError::TooLarge { .. } => "AnswerTooLong",
                TransportError::Garbage { .. } => "Malformed",
                TransportError::ConnectTimeout { .. } => "ConnectTimeout",
                TransportError::Unsendable { .. } => "Unsendable",
            },
            ClientErrorKind::Timeout { .. } => "Timeout",
            ClientErrorKind::Cancelled => "Cancelled",
            ClientErrorKind::Rpc(_) => "Rpc",
            ClientErrorKind::Malformed { .. } => "Malformed",
            ClientErrorKind::Domain { .. } => "ToolFailed",
            ClientErrorKind::InvalidArguments(_) => "Validation",
            ClientErrorKind::UnknownTool { .. } => "UnknownTool",
            ClientErrorKind::Unsupported { .. } => "Unsupported",
            ClientErrorKind::RateLimited { .. } => "RateLimited",
            ClientErrorKind::Backoff { .. } => "Resting",
            ClientErrorKind::Stopped => "Stopped",
            ClientErrorKind::Config(_) => "Config",
        }
    }

    /// Returns the next step, if there is one.
    pub fn hint(&self) -> Option<String> {
        let hint = match &self.kind {
            ClientErrorKind::Transport(TransportError::NotStarted { .. }) => {
                "Check `command`: the program must be installed and on the PATH.".to_owned()
            }
            ClientErrorKind::Transport(TransportError::Unauthorized { forbidden: true, .. }) => {
                "The server knows the login, but it may not do this. Use a key or login with the permission or scope \
                 that the server names."
                    .to_owned()
            }
            ClientErrorKind::Transport(TransportError::Http { status: 404 | 405 | 410, .. }) => {
                "There is no MCP server at this address. Check `url`: its path, such as /mcp, and `type`.".to_owned()
            }
            ClientErrorKind::Transport(TransportError::Unauthorized { .. }) => {
                "Check the key or token in `headers` or `auth` of this server.".to_owned()
            }
            ClientErrorKind::Transport(TransportError::TooLarge { .. }) => {
                "Ask for less at once, or raise `message_bytes` of this server.".to_owned()
            }
            ClientErrorKind::Transport(TransportError::Closed { .. } | TransportError::Http { .. })
                if self.delivery != DeliveryStatus::No =>
            {
                "The operation may have completed. Check before retrying.".to_owned()
            }
            ClientErrorKind::Transport(_) => "Check that the server is running, then retry.".to_owned(),
            ClientErrorKind::Timeout { .. } if self.delivery == DeliveryStatus::No => {
                "The server did not answer like an MCP server. Check that it is one, and raise `connect_ms` \
                 if it is slow to start."
                    .to_owned()
            }
            ClientErrorKind::Timeout { .. } => {
                "The operation may have completed. Check before retrying, or raise `answer_ms` of this server.".to_owned()
            }
            ClientErrorKind::InvalidArguments(_) => "Correct the arguments and call the tool again.".to_owned(),
            ClientErrorKind::UnknownTool { nearest: Some(name) } => format!("Did you mean {name}?"),
            ClientErrorKind::UnknownTool { nearest: None } => "List the tools to see their names.".to_owned(),
            ClientErrorKind::RateLimited { wait } | ClientErrorKind::Backoff { wait, .. } => {
                format!("Retry in {} ms.", wait.as_millis())
            }
            _ => return None,
        };
        Some(hint)
    }

    /// Returns the error as JSON, for logs and programs.
    pub fn to_json(&self) -> Value {
        let mut error = json!({
            "type": format!("{}_error", match self.class() {
                ErrorClass::Protocol => "protocol",
                ErrorClass::Transport => "transport",
                ErrorClass::Domain => "domain",
            }),
            "code": self.code(),
            "message": self.to_string(),
            "server": &*self.server,
            "retryable": self.is_transient(),
            "sent": self.delivery,
        });
        if let Some(fields) = error.as_object_mut() {
            if let ClientErrorKind::Rpc(rpc) = &self.kind {
                fields.insert("rpc_code".to_owned(), rpc.code.into());
            }
            let more = [
                ("about", self.subject.as_deref().map(str::to_owned)),
                ("hint", self.hint()),
                ("diagnosis", self.diagnosis.as_deref().map(str::to_owned)),
            ];
            for (name, text) in more {
                if let Some(text) = text {
                    fields.insert(name.to_owned(), text.into());
                }
            }
        }
        if let (Some(earlier), Some(fields)) = (&self.earlier_error, error.as_object_mut()) {
            fields.insert("earlier".to_owned(), earlier.to_json());
        }
        error
    }
}

impl ClientErrorKind {
    fn delivery_status(&self) -> DeliveryStatus {
        match self {
            Self::Transport(error) => error.delivery_status(),
            Self::Timeout { .. } | Self::Cancelled => DeliveryStatus::Maybe,
            Self::Rpc(error) => match error.code {
                // The server examined the request and did not start it.
                code::PARSE
                | code::INVALID_REQUEST
                | code::METHOD_NOT_FOUND
                | code::HEADER_MISMATCH
                | code::MISSING_CAPABILITY
                | code::UNSUPPORTED_VERSION => DeliveryStatus::No,
                // Some servers use this code for errors that occur after the work was done.
                code::INVALID_PARAMS => DeliveryStatus::Maybe,
                _ => DeliveryStatus::Yes,
            },
            Self::Malformed { .. } | Self::Domain { .. } => DeliveryStatus::Yes,
            Self::InvalidArguments(_)
            | Self::UnknownTool { .. }
            | Self::Unsupported { .. }
            | Self::RateLimited { .. }
            | Self::Backoff { .. }
            | Self::Stopped
            | Self::Config(_) => DeliveryStatus::No,
        }
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subject {
            Some(about) => write!(f, "server {:?}, {about:?}: ", self.server)?,
            None => write!(f, "server {:?}: ", self.server)?,
        }
        match &self.kind {
            ClientErrorKind::Transport(error) => write!(f, "{error}"),
            ClientErrorKind::Timeout { after } => {
                write!(f, "no answer within {} ms", after.as_millis())
            }
            ClientErrorKind::Cancelled => f.write_str("the call was cancelled"),
            ClientErrorKind::Rpc(error) => {
                write!(f, "error {}: {}", error.code, truncate_line(&error.message))
            }
            ClientErrorKind::Malformed { reason } => {
                write!(f, "the answer is malformed: {}", truncate_line(reason))
            }
            ClientErrorKind::Domain { message, .. } => {
                write!(f, "the tool failed: {}", truncate_line(message))
            }
            ClientErrorKind::InvalidArguments(faults) => {
                for (at, fault) in faults.iter().enumerate() {
                    write!(f, "{}{fault}", if at > 0 { "; " } else { "" })?;
                }
                Ok(())
            }
            ClientErrorKind::UnknownTool { .. } => f.write_str("the tool does not exist"),
            ClientErrorKind::Unsupported { capability } => {
                write!(f, "the server does not support {capability}")
            }
            ClientErrorKind::RateLimited { .. } => f.write_str("rate limit exceeded"),
            ClientErrorKind::Backoff {
                reason: because, ..
            } => {
                let because = truncate_line(because);
                write!(f, "the server is unreachable at the moment ({because})")
            }
            ClientErrorKind::Stopped => f.write_str("the client was closed"),
            ClientErrorKind::Config(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ClientError {}

/// Shortens a server's message to one line; a cut is marked.
fn truncate_line(text: &str) -> String {
    let mut letters = text
        .trim()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c });
    let mut line: String = letters.by_ref().take(MAX_SHOWN_CHARS).collect();
    line.truncate(line.trim_end().len());
    if letters.next().is_some() {
        line.push('…');
    }
    line
}
