//! The requests besides tool calls: lists, resources, prompts, completion and subscriptions, all
//! answered from the registry.
//!
//! These requests do not pass the dispatcher as a whole, so each has a timeout and catches panics
//! here. This module knows the registry and the protocol, but not the contents of the providers.

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
    CallerContext, Principal, Registry, ResourceProvider, ToolError, ToolScope, with_request_limits,
};
use futures::FutureExt;
use rmcp::{ErrorData, RoleServer, model::CacheScope, service::RequestContext};

use crate::principal::principal;

/// The timeout of such a request.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);

/// Clients may cache lists that change only with the program for an hour; notifications tell of
/// earlier changes.
pub(crate) const LIST_TTL_MS: u64 = 3_600_000;

/// The longest accepted URI.
const MAX_URI_LEN: usize = 8_192;

/// The caller context for requests that go through the dispatcher.
fn caller_context(context: &RequestContext<RoleServer>) -> CallerContext {
    CallerContext {
        cancellation: context.ct.clone(),
        principal: principal(context),
        ..CallerContext::default()
    }
}

/// Runs a request until its timeout, its cancellation, or the end of the server's grace period. A
/// panic fails only this request.
async fn run_guarded<T>(
    registry: &Registry,
    context: &RequestContext<RoleServer>,
    work: impl Future<Output = Result<T, ErrorData>>,
) -> Result<T, ErrorData> {
    let principal = principal(context);
    let limited = with_request_limits(&principal, REQUEST_TIMEOUT, work);
    let caught = AssertUnwindSafe(limited).catch_unwind();
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
                Err(ErrorData::internal_error("the request failed because of an internal error", None))
            }
            Err(_) => {
                let text = format!("the request was stopped after {} s, its limit", REQUEST_TIMEOUT.as_secs());
                Err(ErrorData::internal_error(text, None))
            }
        },
    }
}

/// Tells whether the principal may see the resources of a provider.
fn may_see(principal: &Principal, family: &dyn ResourceProvider) -> bool {
    family.is_visible_to(principal)
}

/// A list that depends on the principal must not be cached for others.
fn cache_scope(principal: &Principal) -> CacheScope {
    // Without names and restrictions everyone sees the same list.
    match (&principal.name, &principal.scope) {
        (None, ToolScope::All) => CacheScope::Public,
        _ => CacheScope::Private,
    }
}
