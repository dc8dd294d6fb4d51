//! What can go wrong between a caller and a server, sorted once, where it happened: by class, by
//! whether the server may have acted, and by whether trying again or elsewhere can help.

use std::{fmt, sync::Arc, time::Duration};

use serde::Serialize;
use serde_json::{Value, json};

use super::jsonrpc::{RpcError, code};
use crate::{
    schema::SchemaViolation,
    transport::{DeliveryStatus, TransportError},
};

/// How much of what a server said is shown.
const MAX_SHOWN_CHARS: usize = 500;

/// A call that came to nothing, with what helps to find out why.
#[derive(Debug, Clone)]
pub struct ClientError {
    /// What happened.
    pub kind: ClientErrorKind,
    /// Whether the server may have acted on the request.
    pub delivery: DeliveryStatus,
    /// Which server.
    pub server: Arc<str>,
    /// Which tool, resource or prompt.
    pub subject: Option<Arc<str>>,
    /// What the server last wrote to its standard error, if it is a program of ours.
    pub diagnosis: Option<Arc<str>>,
    /// What failed before: this is how the server did that was called in its place.
    pub earlier_error: Option<Box<Self>>,
}

/// What can happen.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ClientErrorKind {
    /// The bytes did not get through.
    Transport(TransportError),
    /// No answer came in time.
    Timeout {
        /// How long it was waited for.
        after: Duration,
    },
    /// The caller, or the server, took it back.
    Cancelled,
    /// The server answered with an error of the protocol.
    Rpc(Box<RpcError>),
    /// The server's answer is not what the protocol says.
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
    /// The tool ran, and says that it failed.
    Domain {
        /// What it says.
        message: String,
        /// The whole result.
        result: Box<Value>,
    },
    /// The arguments break the tool's rules; nothing was sent.
    InvalidArguments(Vec<SchemaViolation>),
    /// There is no such tool here.
    UnknownTool {
        /// One that is named alike.
        nearest: Option<String>,
    },
    /// The server does not have what is asked for.
    Unsupported {
        /// Which of its capabilities is missing.
        capability: &'static str,
    },
    /// Too many calls in too short a time, by the limit we set for the server.
    RateLimited {
        /// When the next may be made.
        wait: Duration,
    },
    /// It was not tried, because it failed just now; it will be again after a while.
    Backoff {
        /// How long.
        wait: Duration,
        /// How it failed.
        reason: String,
    },
    /// The client was closed.
    Stopped,
    /// The configuration is wrong.
    Config(crate::config::ServerConfigError),
}

/// The three classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorClass {
    /// The two sides did not understand each other.
    Protocol,
    /// The bytes did not get through.
    Transport,
    /// The tool ran and failed.
    Domain,
}

impl ClientError {
    /// An error of that server.
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

    /// The same, about that tool or resource.
    pub fn with_subject(mut self, what: impl Into<Arc<str>>) -> Self {
        self.subject = Some(what.into());
        self
    }

    /// Which class it is of.
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

    /// Whether it may pass: the same request may succeed later, or at another server.
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

    /// Whether another server may know what this one does not: an unknown tool or method, or
    /// parameters of another version.
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

    /// Whether it may be sent again without doing something twice: the server surely did not act,
    /// or acting again changes nothing (`idempotent`).
    pub fn is_repeatable(&self, idempotent: bool) -> bool {
        self.is_transient() && (idempotent || self.delivery == DeliveryStatus::No)
    }

    /// A short stable word for it.
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

    /// What to do next, where there is something.
    pub fn hint(&self) -> Option<String> {
        let hint = match &self.kind {
            ClientErrorKind::Transport(TransportError::NotStarted { .. }) => {
                "Check `command`: the program must be installed and on the PATH.".to_owned()
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
                "It may have happened all the same: look before trying again.".to_owned()
            }
            ClientErrorKind::Transport(_) => "Check that the server runs, and try again.".to_owned(),
            ClientErrorKind::Timeout { .. } if self.delivery == DeliveryStatus::No => {
                "It did not answer as an MCP server does; check that it is one, and that it is \
                 not slow to start (`connect_ms`)."
                    .to_owned()
            }
            ClientErrorKind::Timeout { .. } => {
                "It may have happened all the same: look before trying again, or raise `answer_ms` of this server.".to_owned()
            }
            ClientErrorKind::InvalidArguments(_) => "Correct the arguments and call again.".to_owned(),
            ClientErrorKind::UnknownTool { nearest: Some(name) } => format!("Did you mean {name}?"),
            ClientErrorKind::UnknownTool { nearest: None } => "List the tools to see their names.".to_owned(),
            ClientErrorKind::RateLimited { wait } | ClientErrorKind::Backoff { wait, .. } => {
                format!("Try again in {} ms.", wait.as_millis())
            }
            _ => return None,
        };
        Some(hint)
    }

    /// The error as data, for logs and programs.
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
                // The server looked at the request and did not begin.
                code::PARSE
                | code::INVALID_REQUEST
                | code::METHOD_NOT_FOUND
                | code::HEADER_MISMATCH
                | code::MISSING_CAPABILITY
                | code::UNSUPPORTED_VERSION => DeliveryStatus::No,
                // Some servers say so of what they answered themselves, when all was done.
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
                write!(f, "there was no answer within {} ms", after.as_millis())
            }
            ClientErrorKind::Cancelled => f.write_str("the call was cancelled"),
            ClientErrorKind::Rpc(error) => {
                write!(f, "error {}: {}", error.code, truncate_line(&error.message))
            }
            ClientErrorKind::Malformed { reason } => write!(f, "the answer is malformed: {reason}"),
            ClientErrorKind::Domain { message, .. } => {
                write!(f, "the tool failed: {}", truncate_line(message))
            }
            ClientErrorKind::InvalidArguments(faults) => {
                for (at, fault) in faults.iter().enumerate() {
                    write!(f, "{}{fault}", if at > 0 { "; " } else { "" })?;
                }
                Ok(())
            }
            ClientErrorKind::UnknownTool { .. } => f.write_str("there is no such tool"),
            ClientErrorKind::Unsupported { capability } => {
                write!(f, "the server has no {capability}")
            }
            ClientErrorKind::RateLimited { .. } => {
                f.write_str("too many calls in too short a time")
            }
            ClientErrorKind::Backoff {
                reason: because, ..
            } => {
                write!(f, "it can't be reached at the moment ({because})")
            }
            ClientErrorKind::Stopped => f.write_str("the client was closed"),
            ClientErrorKind::Config(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ClientError {}

/// What a server said, short and on one line.
fn truncate_line(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_SHOWN_CHARS)
        .collect();
    line.trim().to_owned()
}
