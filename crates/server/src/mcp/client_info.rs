//! What is known of the client that sent a request.

use deliberate_toolkit::{Principal, ToolError};
use http::request::Parts;
use rmcp::{RoleServer, model::ProtocolVersion, service::RequestContext};

use crate::principal::principal;

/// The client, as far as answering it goes.
#[derive(Debug, Clone)]
pub(super) struct ClientInfo {
    /// Whether it speaks 2026-07-28 or later: every request stands for itself, and an answer may
    /// ask for input.
    pub(super) modern: bool,
    /// Whether its model may be asked.
    pub(super) supports_sampling: bool,
    /// What else it can be asked for.
    pub(super) request_support: ClientRequestSupport,
    /// Whether a long call may become a task.
    pub(super) tasks: bool,
    /// Whose request it is.
    pub(super) principal: Principal,
    /// Whether it started this program, and may know where its files are.
    local: bool,
}

/// What a client can be asked for besides its model.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClientRequestSupport {
    /// To have its user fill in a form.
    pub(super) elicitation: bool,
    /// To have its user open a page.
    pub(super) elicitation_url: bool,
    /// For the folders that are its own.
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
                // Who names no way means forms: there was no other when it was made.
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

    /// An error as this client may read it.
    pub(super) fn visible_error(&self, error: ToolError) -> ToolError {
        if self.local { error } else { error.redacted() }
    }
}
