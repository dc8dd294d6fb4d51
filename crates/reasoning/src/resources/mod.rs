//! Sessions and their entities as resources, for clients in which a person picks what to read.
//!
//! Reading goes through `reasoning_get` and `reasoning_sessions`, so the same limits, scopes and
//! invocation log apply as for a tool call. This module does not know how resources reach a client.

mod complete;
mod invalidation;
mod list;
mod read;
mod uri;

use deliberate_core::{Change, SessionId};
use deliberate_toolkit::{
    CompletionRequest, CompletionValues, ResourceChange, ResourceContext, ResourceData,
    ResourcePage, ResourceProvider, ToolError, UriTemplate,
};
use futures::future::BoxFuture;

use uri::{
    ReasoningResourceFormat, ReasoningResourceKind, ReasoningUri, URI_PREFIX, resource_not_found,
};

pub(crate) use complete::complete_sessions as matching_sessions;

/// The tool that lists sessions.
const LIST_TOOL: &str = "reasoning_sessions";

/// Tells whether the caller may learn the ids and titles of sessions. Who may only read them must
/// have been given an id.
pub(crate) fn may_list_sessions(context: ResourceContext<'_>) -> bool {
    context.caller.principal.scope.allows(LIST_TOOL)
}

/// Sessions, graphs, branches and thoughts as resources with `deliberate://` URIs.
pub struct ReasoningResources;

impl ResourceProvider for ReasoningResources {
    fn required_scope(&self) -> Option<&'static str> {
        Some("reasoning_get")
    }

    fn matches(&self, uri: &str) -> bool {
        ReasoningUri::parse(uri).is_some()
    }

    fn templates(&self) -> Vec<UriTemplate> {
        let of = |kind: ReasoningResourceKind| {
            ReasoningResourceFormat::ALL.map(|form| kind.template(form))
        };
        ReasoningResourceKind::ALL
            .into_iter()
            .flat_map(of)
            .collect()
    }

    fn list<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: usize,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Result<ResourcePage, ToolError>> {
        Box::pin(async move {
            if may_list_sessions(context) {
                list::list(after, limit, context).await
            } else {
                Ok(ResourcePage::default())
            }
        })
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<Vec<ResourceData>, ToolError>>> {
        Box::pin(async move {
            if !uri.starts_with(URI_PREFIX) {
                return None;
            }
            Some(match ReasoningUri::parse(uri) {
                Some(address) => read::read(uri, address, context).await,
                None => Err(resource_not_found(uri)),
            })
        })
    }

    fn complete<'a>(
        &'a self,
        template: &'a str,
        typed: CompletionRequest<'a>,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<CompletionValues, ToolError>>> {
        Box::pin(async move {
            let of_template = |kind: &ReasoningResourceKind| {
                let mut forms = ReasoningResourceFormat::ALL.into_iter();
                forms.any(|form| kind.template(form).uri == template)
            };
            let what = ReasoningResourceKind::ALL.into_iter().find(of_template)?;
            Some(complete::complete_ids(what, typed, context).await)
        })
    }

    fn changes_for(&self, change: &Change, session: Option<&SessionId>) -> Vec<ResourceChange> {
        invalidation::changes_for(change, session)
    }
}
