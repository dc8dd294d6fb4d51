//! Transport errors, and whether the server may have received the message.

use std::time::Duration;

/// The reason why a message was not delivered or answered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The program could not be started.
    #[error("{command:?} could not be started: {reason}")]
    NotStarted {
        /// The program.
        command: String,
        /// The reason.
        reason: String,
    },
    /// The server is unreachable: the connection was refused, or the host name is unknown.
    #[error("could not connect: {reason}")]
    Unreachable {
        /// The reason.
        reason: String,
    },
    /// The connection ended. `sent` says whether the message may have arrived before that.
    #[error("the connection ended: {reason}")]
    Closed {
        /// The reason.
        reason: String,
        /// Whether the message may have arrived.
        sent: DeliveryStatus,
    },
    /// The server answered with an HTTP error.
    #[error("HTTP status {status}{}", .message.as_deref().map(|message| format!(": {message}")).unwrap_or_default())]
    Http {
        /// The status code.
        status: u16,
        /// The message in the body, shortened and without secrets.
        message: Option<String>,
        /// The time to wait before a retry, if the server gave one.
        retry_after: Option<Duration>,
    },
    /// The server requires a login.
    #[error("the server rejected the login: {reason}")]
    Unauthorized {
        /// The reason.
        reason: String,
        /// Whether the login is valid but lacks the permission (403).
        forbidden: bool,
    },
    /// The answer is larger than allowed.
    #[error("the answer is larger than the limit of {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The answer violates the protocol.
    #[error("the server violates the protocol: {reason}")]
    Garbage {
        /// What is wrong with the answer.
        reason: String,
    },
    /// No connection was established in time.
    #[error("no connection within {} ms", .after.as_millis())]
    ConnectTimeout {
        /// The time that was waited.
        after: Duration,
    },
    /// This transport cannot send the message.
    #[error("{reason}")]
    Unsendable {
        /// The reason.
        reason: String,
    },
}

/// Whether the server may have received a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    /// Certainly not: a retry repeats nothing.
    No,
    /// It may have received the message.
    Maybe,
    /// It has received the message and answered.
    Yes,
}

impl TransportError {
    /// Returns whether the server may have received the message.
    pub fn delivery_status(&self) -> DeliveryStatus {
        match self {
            Self::NotStarted { .. }
            | Self::Unreachable { .. }
            | Self::ConnectTimeout { .. }
            | Self::Unauthorized { .. }
            | Self::Unsendable { .. } => DeliveryStatus::No,
            Self::Closed { sent, .. } => *sent,
            // A server that is too busy, redirects, or does not know the address has done nothing.
            Self::Http { status, .. } => match status {
                300..=499 => DeliveryStatus::No,
                _ => DeliveryStatus::Maybe,
            },
            Self::TooLarge { .. } | Self::Garbage { .. } => DeliveryStatus::Yes,
        }
    }
}
