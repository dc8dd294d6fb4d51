//! Why a transport could not do what it was asked, and what the server may have seen of it.

use std::time::Duration;

/// Why a message did not get through.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The program can't be started.
    #[error("{command:?} can't be started: {reason}")]
    NotStarted {
        /// The program.
        command: String,
        /// Why, in words.
        reason: String,
    },
    /// Nobody is there: the connection was refused, the name is unknown.
    #[error("there is no connection: {reason}")]
    Unreachable {
        /// Why, in words.
        reason: String,
    },
    /// The connection ended. `sent` says whether the message may have arrived before.
    #[error("the connection ended: {reason}")]
    Closed {
        /// How, in words.
        reason: String,
        /// Whether the message may have arrived.
        sent: DeliveryStatus,
    },
    /// The server answered with an HTTP error.
    #[error("HTTP status {status}{}", .message.as_deref().map(|message| format!(": {message}")).unwrap_or_default())]
    Http {
        /// The status.
        status: u16,
        /// What the body says, shortened; without secrets.
        message: Option<String>,
        /// When to try again, if it said so.
        retry_after: Option<Duration>,
    },
    /// The server wants someone to log in.
    #[error("the server refuses us: {reason}")]
    Unauthorized {
        /// Why, in words.
        reason: String,
    },
    /// The answer is larger than allowed.
    #[error("the answer is larger than the {limit} bytes that are allowed")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// The answer is not what the protocol says.
    #[error("the server does not speak the protocol: {reason}")]
    Garbage {
        /// What is wrong, in words.
        reason: String,
    },
    /// It took too long to connect.
    #[error("no connection within {} ms", .after.as_millis())]
    ConnectTimeout {
        /// How long.
        after: Duration,
    },
    /// The message can't be sent by this transport.
    #[error("{reason}")]
    Unsendable {
        /// Why.
        reason: String,
    },
}

/// Whether a server may have seen a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    /// Surely not: sending it again does nothing twice.
    No,
    /// It may have.
    Maybe,
    /// It has, and said so.
    Yes,
}

impl TransportError {
    /// Whether the server may have seen the message.
    pub fn delivery_status(&self) -> DeliveryStatus {
        match self {
            Self::NotStarted { .. }
            | Self::Unreachable { .. }
            | Self::ConnectTimeout { .. }
            | Self::Unauthorized { .. }
            | Self::Unsendable { .. } => DeliveryStatus::No,
            Self::Closed { sent, .. } => *sent,
            // A server that is too busy, sends us elsewhere, or knows nothing of the address, did
            // nothing.
            Self::Http { status, .. } => match status {
                300..=499 => DeliveryStatus::No,
                _ => DeliveryStatus::Maybe,
            },
            Self::TooLarge { .. } | Self::Garbage { .. } => DeliveryStatus::Yes,
        }
    }
}
