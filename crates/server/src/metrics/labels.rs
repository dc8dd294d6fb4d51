//! The words metrics are told apart by. Every set is closed or bounded, so that no caller can
//! make the server remember more of them. Knows nothing of what is counted.

use std::{
    collections::BTreeSet,
    sync::{PoisonError, RwLock},
};

use http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;

/// How many providers are told apart; the settings name one, sampling adds another.
const MAX_PROVIDERS: usize = 32;

/// The longest name of a provider that is shown.
const MAX_PROVIDER_BYTES: usize = 40;

/// What stands for anything that has no word of its own.
const OTHER: &str = "other";

/// The stable codes of errors.
const CODES: &[&str] = &[
    "ApiError",
    "BranchClosed",
    "BranchNotFound",
    "Busy",
    "Cancelled",
    "CheckpointNotFound",
    "Closed",
    "Config",
    "Conflict",
    "Connection",
    "CutOff",
    "Forbidden",
    "GraphNotFound",
    "Internal",
    "InvalidResponse",
    "LangbaseUnavailable",
    "LimitReached",
    "Migration",
    "NodeNotFound",
    "NodePruned",
    "Overloaded",
    "Pending",
    "ProviderUnavailable",
    "Query",
    "RateLimited",
    "SessionNotFound",
    "SetAside",
    "Stopping",
    "SuspensionNotFound",
    "ThoughtNotFound",
    "Timeout",
    "UnknownTool",
    "Validation",
    "WrongMode",
];

/// The first part of each path that is served, and the word for it.
const ROUTES: &[(&str, &str)] = &[
    ("mcp", "mcp"),
    ("health", "health"),
    ("metrics", "metrics"),
    ("sse", "sse"),
    ("messages", "messages"),
    ("ws", "ws"),
    (".well-known", "well-known"),
    ("", "page"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct CallLabels {
    pub(super) tool: &'static str,
    pub(super) outcome: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ToolLabel {
    pub(super) tool: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct AskLabels {
    pub(super) provider: String,
    pub(super) outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ProviderLabel {
    pub(super) provider: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct TokenLabels {
    pub(super) provider: String,
    pub(super) kind: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RequestLabels {
    pub(super) route: &'static str,
    pub(super) status: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RouteLabel {
    pub(super) route: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ReasonLabel {
    pub(super) reason: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct TransportLabel {
    pub(super) transport: &'static str,
}

/// Why a request was turned away before it reached a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RejectionReason {
    /// Too many requests from one client, or at once.
    Rate,
    /// No token, or a wrong one.
    Auth,
    /// A `Host` that is not this server's.
    Host,
    /// An `RequestOrigin` that is not allowed.
    Origin,
    /// A body that is too large, too slow or not readable.
    Body,
    /// Headers that are too large or do not fit.
    Header,
}

impl RejectionReason {
    pub(super) const ALL: [Self; 6] = [
        Self::Rate,
        Self::Auth,
        Self::Host,
        Self::Origin,
        Self::Body,
        Self::Header,
    ];

    pub(super) const fn label(self) -> ReasonLabel {
        let reason = match self {
            Self::Rate => "rate",
            Self::Auth => "auth",
            Self::Host => "host",
            Self::Origin => "origin",
            Self::Body => "body",
            Self::Header => "header",
        };
        ReasonLabel { reason }
    }
}

/// What clients are connected by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportKind {
    /// Standard input and output.
    Stdio,
    /// Open HTTP connections.
    Http,
    /// Sessions of older clients over streamable HTTP.
    HttpSession,
    /// Streams of the older HTTP+SSE transport.
    Sse,
    /// Those who watch progress over a web socket.
    WebSocket,
}

impl TransportKind {
    pub(super) const ALL: [Self; 5] = [
        Self::Stdio,
        Self::Http,
        Self::HttpSession,
        Self::Sse,
        Self::WebSocket,
    ];

    pub(super) const fn label(self) -> TransportLabel {
        let transport = match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::HttpSession => "http_session",
            Self::Sse => "sse",
            Self::WebSocket => "websocket",
        };
        TransportLabel { transport }
    }
}

/// `ok`, or the code, or `other` for one that is not known: codes that come back from a store
/// are text, and text is not trusted to be one of ours.
pub(super) fn outcome_label(error: Option<&str>) -> &'static str {
    let Some(code) = error else {
        return "ok";
    };
    CODES
        .iter()
        .find(|known| **known == code)
        .copied()
        .unwrap_or(OTHER)
}

/// The class of a path.
pub(super) fn route_label(path: &str) -> &'static str {
    let mut parts = path.strip_prefix('/').unwrap_or(path).split('/');
    let first = parts.next().unwrap_or_default();
    ROUTES
        .iter()
        .find(|(known, _)| *known == first)
        .map_or(OTHER, |(_, word)| word)
}

/// The class of a status.
pub(super) fn status_label(status: StatusCode) -> &'static str {
    match status.as_u16() {
        100..=199 => "1xx",
        200..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        _ => "5xx",
    }
}

/// The providers that were met, not too many.
#[derive(Debug, Default)]
pub(super) struct ProviderNames(RwLock<BTreeSet<String>>);

impl ProviderNames {
    /// The name to show for a provider.
    pub(super) fn label_for(&self, provider: &str) -> String {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if provider.len() > MAX_PROVIDER_BYTES || !provider.chars().all(plain) {
            return OTHER.to_owned();
        }
        let known = |met: &BTreeSet<String>| met.contains(provider);
        if known(&self.0.read().unwrap_or_else(PoisonError::into_inner)) {
            return provider.to_owned();
        }
        let mut met = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if met.len() >= MAX_PROVIDERS && !known(&met) {
            return OTHER.to_owned();
        }
        met.insert(provider.to_owned());
        provider.to_owned()
    }
}
