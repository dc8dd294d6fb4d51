//! The library and its chain runs as MCP resources: clients can list, read and subscribe to them.
//!
//! Knows nothing of how resources are sent to a client.

mod change_events;
mod complete;
mod list;
mod markdown;
mod read;
mod run_json;
mod uri;

use std::sync::Arc;

use deliberate_core::{Change, SessionId};
use deliberate_toolkit::{
    CompletionRequest, CompletionValues, ResourceChange, ResourceContext, ResourceData,
    ResourcePage, ResourceProvider, ToolError, UriTemplate,
};
use futures::future::BoxFuture;

use super::mcp_prompts::TOOL;
use crate::engine::Engine;
use uri::{LibraryResourceKind, LibraryUri};

pub use change_events::library_resource_changes;

/// Serves prompts, gates, methodologies, styles, runs and problems under `deliberate://` URIs;
/// legacy `resource://` URIs resolve to the same resources.
pub struct LibraryResources(pub Arc<Engine>);

impl ResourceProvider for LibraryResources {
    fn required_scope(&self) -> Option<&'static str> {
        Some(TOOL)
    }

    fn matches(&self, uri: &str) -> bool {
        LibraryUri::parse(uri).is_some()
    }

    fn templates(&self) -> Vec<UriTemplate> {
        uri::templates()
    }

    fn list<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: usize,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Result<ResourcePage, ToolError>> {
        Box::pin(async move {
            let library = self.0.live_library.library().await;
            list::list(&library, after, limit, context).await
        })
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<Vec<ResourceData>, ToolError>>> {
        Box::pin(async move {
            let address = LibraryUri::parse(uri)?;
            let library = self.0.live_library.library().await;
            Some(read::read(uri, address, &library, context).await)
        })
    }

    fn complete<'a>(
        &'a self,
        template: &'a str,
        typed: CompletionRequest<'a>,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<CompletionValues, ToolError>>> {
        Box::pin(async move {
            let kind = LibraryResourceKind::from_template(template)?;
            let library = self.0.live_library.library().await;
            Some(complete::complete_id(kind, &library, typed, context).await)
        })
    }

    fn changes_for(&self, change: &Change, _: Option<&SessionId>) -> Vec<ResourceChange> {
        change_events::store_resource_changes(change)
    }
}
