//! What is known of the client that sent a request.

use deliberate_toolkit::{Principal, ToolError};
use http::request::Parts;
use rmcp::{RoleServer, model::ProtocolVersion, service::RequestContext};

use crate::principal::principal;

/// The client, as far as answering it goes.
#[derive(Debug, Clone)]
pub(super) struct Client {
    /// Whether it speaks 2026-07-28 or later: every request stands for itself, and an answer may
    /// ask for input.
    pub(super) modern: bool,
    /// Whether its model may be asked.
    pub(super) samples: bool,
    /// Whether a long call may become a task.
    pub(super) tasks: bool,
    /// Whose request it is.
    pub(super) principal: Principal,
    /// Whether it started this program, and may know where its files are.
    local: bool,
}

impl Client {
    pub(super) fn of(context: &RequestContext<RoleServer>) -> Self {
        let capabilities = context.client_capabilities();
        let has = |what: fn(&rmcp::model::ClientCapabilities) -> bool| {
            capabilities.as_ref().is_some_and(what)
        };
        Self {
            modern: context
                .protocol_version()
                .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28),
            samples: has(|it| it.sampling.is_some()),
            tasks: has(rmcp::model::ClientCapabilities::supports_tasks),
            principal: principal(context),
            local: context.extensions.get::<Parts>().is_none(),
        }
    }

    /// An error as this client may read it.
    pub(super) fn told(&self, error: ToolError) -> ToolError {
        if self.local { error } else { error.outward() }
    }
}
