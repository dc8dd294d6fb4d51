//! What a client can look through besides calling tools: lists, resources, prompts, completion
//! and subscriptions, all of them answered from the registry.
//!
//! These requests do not pass the gate as a whole, so each is held in time and kept from taking
//! anything down here. Knows the registry and the protocol; nothing of what the families hold.

pub(crate) mod capabilities;
pub(crate) mod completion;
mod error;
mod pagination;
pub(crate) mod prompts;
pub(crate) mod resources;
pub(crate) mod subscriptions;
pub(crate) mod tools;

use std::{panic::AssertUnwindSafe, time::Duration};

use deliberate_toolkit::{
    CallerContext, Principal, Registry, ResourceProvider, ToolError, ToolScope,
};
use futures::FutureExt;
use rmcp::{ErrorData, RoleServer, model::CacheScope, service::RequestContext};

use crate::principal::principal;

/// The longest such a request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);

/// Lists of what changes only with the program may be kept for an hour; whoever wants to know
/// sooner hears of changes.
pub(crate) const LIST_TTL_MS: u64 = 3_600_000;

/// No address is longer.
const MAX_URI_LEN: usize = 8_192;

/// Who asks, for what goes through the gate.
fn caller_context(context: &RequestContext<RoleServer>) -> CallerContext {
    CallerContext {
        cancellation: context.ct.clone(),
        principal: principal(context),
        ..CallerContext::default()
    }
}

/// Does the work until its time is over, nobody wants it any more, or what runs is cut off because
/// the server stops; a panic in it is an error of this request alone.
async fn run_guarded<T>(
    registry: &Registry,
    context: &RequestContext<RoleServer>,
    work: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, ErrorData> {
    let caught = AssertUnwindSafe(work).catch_unwind();
    tokio::select! {
        biased;
        () = context.ct.cancelled() => {
            Err(ErrorData::internal_error("the request was cancelled", None))
        }
        () = registry.shutdown_started() => Err(error::to_rpc_error(&ToolError::Stopping)),
        ended = tokio::time::timeout(REQUEST_TIMEOUT, caught) => match ended {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => {
                tracing::error!("a request panicked");
                Err(ErrorData::internal_error("the request failed because of a fault in the program", None))
            }
            Err(_) => {
                let text = format!("the request was stopped after {} s, its limit", REQUEST_TIMEOUT.as_secs());
                Err(ErrorData::internal_error(text, None))
            }
        },
    }
}

/// Whether they may see what is in that family.
fn may_see(principal: &Principal, family: &dyn ResourceProvider) -> bool {
    family
        .required_scope()
        .is_none_or(|needed| principal.scope.allows(needed))
}

/// Lists that show less to some must not be shown to others from a cache.
fn cache_scope(principal: &Principal) -> CacheScope {
    // Where everyone is nameless, all see the same.
    match (&principal.name, &principal.scope) {
        (None, ToolScope::All) => CacheScope::Public,
        _ => CacheScope::Private,
    }
}
