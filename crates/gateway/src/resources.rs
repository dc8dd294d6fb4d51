//! The upstream servers as resources: the status and tools of each. They contain no secrets.

use std::sync::Arc;

use deliberate_core::{Change, SessionId};
use deliberate_toolkit::{
    CompletionRequest, CompletionValues, EntityKind, ResourceBody, ResourceChange, ResourceContext,
    ResourceData, ResourceInfo, ResourcePage, ResourceProvider, ToolError, UriTemplate,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::{
    Gateway,
    gateway::{CallerView, CatalogTool, Upstream},
    tools::SEARCH_TOOL,
};

const SERVERS_URI: &str = "deliberate://servers";
const SERVER_URI_TEMPLATE: &str = "deliberate://servers/{name}";
const JSON: &str = "application/json";

/// Provides `deliberate://servers` and one resource per server.
pub struct ServerResources(pub Arc<Gateway>);

impl ServerResources {
    /// Returns the resources that change when a server's tools change.
    pub fn resource_changes() -> [ResourceChange; 2] {
        [
            ResourceChange::Resource(SERVERS_URI.to_owned()),
            ResourceChange::Prefix(format!("{SERVERS_URI}/")),
        ]
    }
}

impl ResourceProvider for ServerResources {
    fn required_scope(&self) -> Option<&'static str> {
        Some(SEARCH_TOOL)
    }

    fn matches(&self, uri: &str) -> bool {
        uri == SERVERS_URI || server_name(uri).is_some()
    }

    fn templates(&self) -> Vec<UriTemplate> {
        if !self.0.has_servers() {
            return Vec::new();
        }
        vec![UriTemplate {
            uri: SERVER_URI_TEMPLATE.to_owned(),
            name: "server".to_owned(),
            title: "A connected server".to_owned(),
            description: "The server's status and tools.".to_owned(),
            mime_type: Some(JSON.to_owned()),
        }]
    }

    fn list<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: usize,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Result<ResourcePage, ToolError>> {
        let names = self.visible_names(&context);
        let all = self
            .0
            .has_servers()
            .then(|| (SERVERS_URI.to_owned(), "servers".to_owned()));
        let addresses = all.into_iter().chain(
            names
                .iter()
                .map(|name| (format!("{SERVERS_URI}/{name}"), name.clone())),
        );
        // The list itself sorts before the servers below it.
        let mut left: Vec<_> = addresses
            .filter(|(uri, _)| after.is_none_or(|after| uri.as_str() > after))
            .collect();
        let more = left.len() > limit;
        left.truncate(limit);
        let next = left.last().filter(|_| more).map(|(uri, _)| uri.clone());
        let resources = left.into_iter().map(|(uri, name)| ResourceInfo {
            title: (uri == SERVERS_URI).then(|| "Connected servers".to_owned()),
            uri,
            name,
            description: None,
            mime_type: Some(JSON.to_owned()),
            size: None,
        });
        let page = ResourcePage {
            resources: resources.collect(),
            next,
        };
        Box::pin(async move { Ok(page) })
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<Vec<ResourceData>, ToolError>>> {
        let view = CallerView(&context.caller.principal.scope);
        let page = if uri == SERVERS_URI {
            let servers: Vec<Value> = self
                .0
                .visible_upstreams(None, view)
                .iter()
                .map(|upstream| self.render_server(upstream, false, view))
                .collect();
            Some(Ok(json!({ "servers": servers })))
        } else {
            server_name(uri).map(|name| {
                let upstream = self.0.upstream(name).ok();
                let upstream = upstream.filter(|it| view.shows_server(it)).ok_or_else(|| {
                    ToolError::NotFound {
                        what: EntityKind::RESOURCE,
                        id: deliberate_core::truncate_chars(uri, 80),
                    }
                })?;
                Ok(self.render_server(&upstream, true, view))
            })
        };
        let contents = |page: Value| {
            vec![ResourceData {
                uri: uri.to_owned(),
                mime_type: Some(JSON.to_owned()),
                body: ResourceBody::Text(format!("{page:#}")),
                meta: None,
            }]
        };
        let read = page.map(|page: Result<Value, ToolError>| page.map(contents));
        Box::pin(async move { read })
    }

    fn complete<'a>(
        &'a self,
        template: &'a str,
        typed: CompletionRequest<'a>,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<CompletionValues, ToolError>>> {
        const MAX_COMPLETIONS: usize = 100;
        let choices = (template == SERVER_URI_TEMPLATE).then(|| {
            let names = self
                .visible_names(&context)
                .into_iter()
                .filter(|name| name.starts_with(typed.text));
            let values: Vec<String> = names.take(MAX_COMPLETIONS).collect();
            Ok(CompletionValues {
                values,
                has_more: false,
            })
        });
        Box::pin(async move { choices })
    }

    fn changes_for(&self, _: &Change, _: Option<&SessionId>) -> Vec<ResourceChange> {
        Vec::new()
    }
}

impl ServerResources {
    /// Returns the names of the servers that the caller sees.
    fn visible_names(&self, context: &ResourceContext<'_>) -> Vec<String> {
        let view = CallerView(&context.caller.principal.scope);
        let upstreams = self.0.visible_upstreams(None, view);
        upstreams.iter().map(|it| it.name().to_owned()).collect()
    }

    fn render_server(&self, upstream: &Upstream, whole: bool, view: CallerView<'_>) -> Value {
        let status = self
            .0
            .status()
            .into_iter()
            .find(|it| it.server == upstream.name());
        let known = upstream.catalog();
        let mut page = json!({
            "server": upstream.name(),
            "state": status.as_ref().map(|status| status.state),
            "version": status.as_ref().and_then(|status| status.version.clone()),
            "description": upstream.settings.description,
            "tools": known.as_ref().map(|known| known.tools.len()),
        });
        if let (true, Some(fields)) = (whole, page.as_object_mut()) {
            fields.insert(
                "calls".to_owned(),
                json!(status.as_ref().map(|it| it.calls)),
            );
            fields.insert(
                "failures".to_owned(),
                json!(status.as_ref().map(|it| it.failures)),
            );
            let tools = known.iter().flat_map(|known| &known.tools);
            let tools = tools
                .filter(|tool| view.shows_tool(upstream.name(), &tool.qualified_name))
                .map(render_tool);
            fields.insert("tools".to_owned(), Value::Array(tools.collect()));
        }
        page
    }
}

fn render_tool(tool: &Arc<CatalogTool>) -> Value {
    match tool.quarantine {
        // The definition of a quarantined tool is not shown.
        Some(why) => json!({ "tool": &*tool.qualified_name, "quarantined": why.message() }),
        None => {
            json!({ "tool": &*tool.qualified_name, "description": tool.summary(300), "exposed": tool.exposed })
        }
    }
}

fn server_name(uri: &str) -> Option<&str> {
    let name = uri.strip_prefix(SERVERS_URI)?.strip_prefix('/')?;
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (!name.is_empty() && name.chars().all(fine)).then_some(name)
}
