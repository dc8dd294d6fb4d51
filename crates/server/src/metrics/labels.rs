//! The label values of the metrics. Every set is closed or bounded, so that no caller can create
//! more of them.

use std::{
    collections::BTreeSet,
    sync::{PoisonError, RwLock},
};

use deliberate_toolkit::ErrorCode;
use http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;

/// The longest label that is a name.
const MAX_NAME_BYTES: usize = 64;

/// The label for everything without one of its own.
const OTHER: &str = "other";

/// The first segment of each served path, and its label.
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
pub(super) struct ModelRequestLabels {
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

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct UpstreamCallLabels {
    pub(super) server: String,
    pub(super) tool: String,
    pub(super) outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct UpstreamCallerLabels {
    pub(super) server: String,
    pub(super) caller: String,
    pub(super) outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ServerLabel {
    pub(super) server: String,
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

/// The reason why a request was rejected before it reached a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RejectionReason {
    /// Too many requests of one client, or too many concurrent ones.
    Rate,
    /// No token, or an invalid one.
    Auth,
    /// A `Host` header that is not allowed.
    Host,
    /// An `Origin` header that is not allowed.
    Origin,
    /// A body that is too large, too slow or invalid.
    Body,
    /// Headers that are too large or invalid.
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
    /// Watchers of progress over a WebSocket.
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

/// `ok`, the error code, or `other` for an unknown one: codes that come back from a store are text
/// and may not be valid.
pub(super) fn outcome_label(error: Option<&str>) -> &'static str {
    let Some(code) = error else {
        return "ok";
    };
    code.parse().map_or(OTHER, ErrorCode::as_str)
}

/// The label of a path.
pub(super) fn route_label(path: &str) -> &'static str {
    let mut parts = path.strip_prefix('/').unwrap_or(path).split('/');
    let first = parts.next().unwrap_or_default();
    ROUTES
        .iter()
        .find(|(known, _)| *known == first)
        .map_or(OTHER, |(_, word)| word)
}

/// The label of a status.
pub(super) fn status_label(status: StatusCode) -> &'static str {
    match status.as_u16() {
        100..=199 => "1xx",
        200..=299 => "2xx",
        300..=399 => "3xx",
        400..=499 => "4xx",
        _ => "5xx",
    }
}

/// The names so far that are labels, up to a limit; further ones are `other`.
#[derive(Debug)]
pub(super) struct BoundedNames {
    names: RwLock<BTreeSet<String>>,
    limit: usize,
}

impl BoundedNames {
    pub(super) const fn new(limit: usize) -> Self {
        Self {
            names: RwLock::new(BTreeSet::new()),
            limit,
        }
    }

    /// The label of a name.
    pub(super) fn label_for(&self, name: &str) -> String {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./@".contains(letter);
        if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.chars().all(plain) {
            return OTHER.to_owned();
        }
        let known = |met: &BTreeSet<String>| met.contains(name);
        if known(&self.names.read().unwrap_or_else(PoisonError::into_inner)) {
            return name.to_owned();
        }
        let mut met = self.names.write().unwrap_or_else(PoisonError::into_inner);
        if met.len() >= self.limit && !known(&met) {
            return OTHER.to_owned();
        }
        met.insert(name.to_owned());
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_code_is_a_label() {
        for code in ErrorCode::ALL {
            assert_eq!(outcome_label(Some(code.as_str())), code.as_str());
        }
        assert_eq!(outcome_label(Some("DiskFull")), "DiskFull");
        assert_eq!(outcome_label(Some("nobody's code")), OTHER);
        assert_eq!(outcome_label(None), "ok");
    }
}
