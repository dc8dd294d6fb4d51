//! The properties of the client that sent a request.

use deliberate_toolkit::{Principal, ToolError};
use http::request::Parts;
use rmcp::{RoleServer, model::ProtocolVersion, service::RequestContext};

use crate::principal::principal;

/// The properties of a client that its answers depend on.
#[derive(Debug, Clone)]
pub(super) struct ClientInfo {
    /// Whether it speaks 2026-07-28 or later: requests are stateless, and an answer may request
    /// input.
    pub(super) modern: bool,
    pub(super) supports_sampling: bool,
    /// The other requests that it supports.
    pub(super) request_support: ClientRequestSupport,
    pub(super) tasks: bool,
    pub(super) principal: Principal,
    /// Whether the client started this program and may see its file paths.
    local: bool,
}

/// The requests besides sampling that a client supports.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClientRequestSupport {
    /// Forms for its user.
    pub(super) elicitation: bool,
    /// Web pages for its user.
    pub(super) elicitation_url: bool,
    /// Its root directories.
    pub(super) roots: bool,
}

impl ClientInfo {
    pub(super) fn from_context(context: &RequestContext<RoleServer>) -> Self {
        let capabilities = context.client_capabilities();
        let has = |what: fn(&rmcp::model::ClientCapabilities) -> bool| {
            capabilities.as_ref().is_some_and(what)
        };
        Self {
            modern: context
                .protocol_version()
                .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28),
            supports_sampling: has(|it| it.sampling.is_some()),
            request_support: ClientRequestSupport {
                // A client that names no mode means forms: there was no other mode in its revision.
                elicitation: has(|it| {
                    let ways = it.elicitation.as_ref();
                    ways.is_some_and(|ways| ways.form.is_some() || ways.url.is_none())
                }),
                elicitation_url: has(|it| {
                    let ways = it.elicitation.as_ref();
                    ways.is_some_and(|ways| ways.url.is_some())
                }),
                roots: has(|it| it.roots.is_some()),
            },
            tasks: has(rmcp::model::ClientCapabilities::supports_tasks),
            principal: principal(context),
            local: context.extensions.get::<Parts>().is_none(),
        }
    }

    /// Tells whether the client asks its model for input that an answer requests. Its model then does
    /// not see the conversation in which the call was made.
    pub(super) fn asks_by_input(&self) -> bool {
        self.modern && self.supports_sampling
    }

    /// The error without details that this client must not see.
    pub(super) fn visible_error(&self, error: ToolError) -> ToolError {
        if self.local { error } else { error.redacted() }
    }
}
