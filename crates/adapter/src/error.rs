//! What can go wrong between a caller and a server, sorted once, where it happened: by class, by
//! whether the server may have acted, and by whether trying again or elsewhere can help.

use std::{fmt, sync::Arc, time::Duration};

use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    schema::Fault,
    transport::{Sent, TransportError},
    wire::{RpcError, code},
};

/// How much of what a server said is shown.
const MAX_SHOWN_CHARS: usize = 500;

/// A call that came to nothing, with what helps to find out why.
#[derive(Debug, Clone)]
pub struct Error {
    /// What happened.
    pub kind: ErrorKind,
    /// Whether the server may have acted on the request.
    pub sent: Sent,
    /// Which server.
    pub server: Arc<str>,
    /// Which tool, resource or prompt.
    pub about: Option<Arc<str>>,
    /// What the server last wrote to its standard error, if it is a program of ours.
    pub diagnosis: Option<Arc<str>>,
    /// What failed before: this is how the server did that was called in its place.
    pub earlier: Option<Box<Self>>,
}

/// What can happen.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
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
    Invalid(Vec<Fault>),
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
    Resting {
        /// How long.
        wait: Duration,
        /// How it failed.
        because: String,
    },
    /// The client was closed.
    Stopped,
    /// The configuration is wrong.
    Config(crate::config::ConfigError),
}

/// The three classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// The two sides did not understand each other.
    Protocol,
    /// The bytes did not get through.
    Transport,
    /// The tool ran and failed.
    Domain,
}

impl Error {
    /// An error of that server.
    pub fn new(server: impl Into<Arc<str>>, kind: ErrorKind) -> Self {
        Self {
            sent: kind.sent(),
            kind,
            server: server.into(),
            about: None,
            diagnosis: None,
            earlier: None,
        }
    }

    /// The same, about that tool or resource.
    pub fn about(mut self, what: impl Into<Arc<str>>) -> Self {
        self.about = Some(what.into());
        self
    }

    /// Which class it is of.
    pub fn class(&self) -> Class {
        match &self.kind {
            ErrorKind::Transport(_)
            | ErrorKind::Timeout { .. }
            | ErrorKind::Cancelled
            | ErrorKind::RateLimited { .. }
            | ErrorKind::Resting { .. }
            | ErrorKind::Stopped => Class::Transport,
            ErrorKind::Domain { .. } => Class::Domain,
            ErrorKind::Rpc(_)
            | ErrorKind::Malformed { .. }
            | ErrorKind::Invalid(_)
            | ErrorKind::UnknownTool { .. }
            | ErrorKind::Unsupported { .. }
            | ErrorKind::Config(_) => Class::Protocol,
        }
    }

    /// Whether it may pass: the same request may succeed later, or at another server.
    pub fn is_transient(&self) -> bool {
        match &self.kind {
            ErrorKind::Transport(error) => match error {
                TransportError::Http { status, .. } => {
                    *status == 408 || *status == 429 || *status >= 500
                }
                TransportError::TooLarge { .. }
                | TransportError::Unsendable { .. }
                | TransportError::Unauthorized { .. } => false,
                _ => true,
            },
            ErrorKind::Timeout { .. }
            | ErrorKind::RateLimited { .. }
            | ErrorKind::Resting { .. }
            | ErrorKind::Malformed { .. } => true,
            ErrorKind::Rpc(error) => error.code == code::INTERNAL,
            ErrorKind::Cancelled
            | ErrorKind::Domain { .. }
            | ErrorKind::Invalid(_)
            | ErrorKind::UnknownTool { .. }
            | ErrorKind::Unsupported { .. }
            | ErrorKind::Stopped
            | ErrorKind::Config(_) => false,
        }
    }

    /// Whether another server may know what this one does not: an unknown tool or method, or
    /// parameters of another version.
    pub fn may_differ_elsewhere(&self) -> bool {
        match &self.kind {
            ErrorKind::Rpc(error) => matches!(
                error.code,
                code::METHOD_NOT_FOUND | code::INVALID_PARAMS | code::INVALID_REQUEST | code::PARSE
            ),
            ErrorKind::UnknownTool { .. }
            | ErrorKind::Unsupported { .. }
            | ErrorKind::Transport(TransportError::Unauthorized { .. }) => true,
            _ => false,
        }
    }

    /// Whether it may be sent again without doing something twice: the server surely did not act,
    /// or acting again changes nothing (`idempotent`).
    pub fn may_be_repeated(&self, idempotent: bool) -> bool {
        self.is_transient() && (idempotent || self.sent == Sent::No)
    }

    /// A short stable word for it.
    pub fn code(&self) -> &'static str {
        match &self.kind {
            ErrorKind::Transport(error) => match error {
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
            ErrorKind::Timeout { .. } => "Timeout",
            ErrorKind::Cancelled => "Cancelled",
            ErrorKind::Rpc(_) => "Rpc",
            ErrorKind::Malformed { .. } => "Malformed",
            ErrorKind::Domain { .. } => "ToolFailed",
            ErrorKind::Invalid(_) => "Validation",
            ErrorKind::UnknownTool { .. } => "UnknownTool",
            ErrorKind::Unsupported { .. } => "Unsupported",
            ErrorKind::RateLimited { .. } => "RateLimited",
            ErrorKind::Resting { .. } => "Resting",
            ErrorKind::Stopped => "Stopped",
            ErrorKind::Config(_) => "Config",
        }
    }

    /// What to do next, where there is something.
    pub fn hint(&self) -> Option<String> {
        let hint = match &self.kind {
            ErrorKind::Transport(TransportError::NotStarted { .. }) => {
                "Check `command`: the program must be installed and on the PATH.".to_owned()
            }
            ErrorKind::Transport(TransportError::Unauthorized { .. }) => {
                "Check the key or token in `headers` or `auth` of this server.".to_owned()
            }
            ErrorKind::Transport(TransportError::TooLarge { .. }) => {
                "Ask for less at once, or raise `message_bytes` of this server.".to_owned()
            }
            ErrorKind::Transport(TransportError::Closed { .. } | TransportError::Http { .. })
                if self.sent != Sent::No =>
            {
                "It may have happened all the same: look before trying again.".to_owned()
            }
            ErrorKind::Transport(_) => "Check that the server runs, and try again.".to_owned(),
            ErrorKind::Timeout { .. } if self.sent == Sent::No => {
                "It did not answer as an MCP server does; check that it is one, and that it is \
                 not slow to start (`connect_ms`)."
                    .to_owned()
            }
            ErrorKind::Timeout { .. } => {
                "It may have happened all the same: look before trying again, or raise `answer_ms` of this server.".to_owned()
            }
            ErrorKind::Invalid(_) => "Correct the arguments and call again.".to_owned(),
            ErrorKind::UnknownTool { nearest: Some(name) } => format!("Did you mean {name}?"),
            ErrorKind::UnknownTool { nearest: None } => "List the tools to see their names.".to_owned(),
            ErrorKind::RateLimited { wait } | ErrorKind::Resting { wait, .. } => {
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
                Class::Protocol => "protocol",
                Class::Transport => "transport",
                Class::Domain => "domain",
            }),
            "code": self.code(),
            "message": self.to_string(),
            "server": &*self.server,
            "retryable": self.is_transient(),
            "sent": self.sent,
        });
        if let Some(fields) = error.as_object_mut() {
            if let ErrorKind::Rpc(rpc) = &self.kind {
                fields.insert("rpc_code".to_owned(), rpc.code.into());
            }
            let more = [
                ("about", self.about.as_deref().map(str::to_owned)),
                ("hint", self.hint()),
                ("diagnosis", self.diagnosis.as_deref().map(str::to_owned)),
            ];
            for (name, text) in more {
                if let Some(text) = text {
                    fields.insert(name.to_owned(), text.into());
                }
            }
        }
        if let (Some(earlier), Some(fields)) = (&self.earlier, error.as_object_mut()) {
            fields.insert("earlier".to_owned(), earlier.to_json());
        }
        error
    }
}

impl ErrorKind {
    fn sent(&self) -> Sent {
        match self {
            Self::Transport(error) => error.sent(),
            Self::Timeout { .. } | Self::Cancelled => Sent::Maybe,
            Self::Rpc(error) => match error.code {
                // The server looked at the request and did not begin.
                code::PARSE
                | code::INVALID_REQUEST
                | code::METHOD_NOT_FOUND
                | code::HEADER_MISMATCH
                | code::MISSING_CAPABILITY
                | code::UNSUPPORTED_VERSION => Sent::No,
                // Some servers say so of what they answered themselves, when all was done.
                code::INVALID_PARAMS => Sent::Maybe,
                _ => Sent::Yes,
            },
            Self::Malformed { .. } | Self::Domain { .. } => Sent::Yes,
            Self::Invalid(_)
            | Self::UnknownTool { .. }
            | Self::Unsupported { .. }
            | Self::RateLimited { .. }
            | Self::Resting { .. }
            | Self::Stopped
            | Self::Config(_) => Sent::No,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.about {
            Some(about) => write!(f, "server {:?}, {about:?}: ", self.server)?,
            None => write!(f, "server {:?}: ", self.server)?,
        }
        match &self.kind {
            ErrorKind::Transport(error) => write!(f, "{error}"),
            ErrorKind::Timeout { after } => {
                write!(f, "there was no answer within {} ms", after.as_millis())
            }
            ErrorKind::Cancelled => f.write_str("the call was cancelled"),
            ErrorKind::Rpc(error) => {
                write!(f, "error {}: {}", error.code, shown(&error.message))
            }
            ErrorKind::Malformed { reason } => write!(f, "the answer is malformed: {reason}"),
            ErrorKind::Domain { message, .. } => write!(f, "the tool failed: {}", shown(message)),
            ErrorKind::Invalid(faults) => {
                for (at, fault) in faults.iter().enumerate() {
                    write!(f, "{}{fault}", if at > 0 { "; " } else { "" })?;
                }
                Ok(())
            }
            ErrorKind::UnknownTool { .. } => f.write_str("there is no such tool"),
            ErrorKind::Unsupported { capability } => {
                write!(f, "the server has no {capability}")
            }
            ErrorKind::RateLimited { .. } => f.write_str("too many calls in too short a time"),
            ErrorKind::Resting { because, .. } => {
                write!(f, "it can't be reached at the moment ({because})")
            }
            ErrorKind::Stopped => f.write_str("the client was closed"),
            ErrorKind::Config(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Error {}

/// What a server said, short and on one line.
fn shown(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_SHOWN_CHARS)
        .collect();
    line.trim().to_owned()
}
