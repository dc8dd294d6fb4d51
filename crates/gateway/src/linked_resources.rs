//! The resources of links in results of upstream servers, which their callers read by the links' own
//! URIs.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use deliberate_core::{Change, SessionId};
use deliberate_json_schema::round_large_integers;
use deliberate_toolkit::{
    CompletionRequest, CompletionValues, Principal, ResourceBody, ResourceChange, ResourceContext,
    ResourceData, ResourcePage, ResourceProvider, ToolError, UriTemplate,
};
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::{
    Gateway,
    gateway::{CallerView, ServerMethod},
    injection_scan::UNTRUSTED,
    tools::CALL_TOOL,
};

/// Provides the resources of links. Reading one is a call of its server, with the scopes of a call.
pub struct LinkedResources(pub Arc<Gateway>);

impl ResourceProvider for LinkedResources {
    fn is_visible_to(&self, principal: &Principal) -> bool {
        let view = CallerView(&principal.scope);
        !self.0.visible_upstreams(None, view).is_empty()
    }

    fn matches(&self, uri: &str) -> bool {
        self.0.resource_links.contains(uri)
    }

    fn templates(&self) -> Vec<UriTemplate> {
        Vec::new()
    }

    /// Lists nothing: the result with the link has named it.
    fn list<'a>(
        &'a self,
        _: Option<&'a str>,
        _: usize,
        _: ResourceContext<'a>,
    ) -> BoxFuture<'a, Result<ResourcePage, ToolError>> {
        Box::pin(async { Ok(ResourcePage::default()) })
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<Vec<ResourceData>, ToolError>>> {
        Box::pin(async move {
            let owner = context.caller.principal.name.as_deref();
            let server = self.0.resource_links.server(owner, uri)?;
            let tool = format!("{server}__{}", ServerMethod::ReadResource.name());
            let call = json!({ "tool": tool, "arguments": { "uri": uri } });
            // A resource has no form in which it could ask for input.
            let mut caller = context.caller.clone();
            caller.client.modern = false;
            let context = ResourceContext {
                caller: &caller,
                ..context
            };
            let read = context.call(CALL_TOOL, call).await;
            Some(read.map(|output| to_resource_data(&output)))
        })
    }

    fn complete<'a>(
        &'a self,
        _: &'a str,
        _: CompletionRequest<'a>,
        _: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<CompletionValues, ToolError>>> {
        Box::pin(async { None })
    }

    fn supports_subscriptions(&self) -> bool {
        false
    }

    fn changes_for(&self, _: &Change, _: Option<&SessionId>) -> Vec<ResourceChange> {
        Vec::new()
    }
}

/// Converts the output of the call. The mark of an untrusted result becomes that of its contents.
fn to_resource_data(output: &Value) -> Vec<ResourceData> {
    let result = output.get("handed_on");
    let mark = result.and_then(|result| result.get("_meta")?.get(UNTRUSTED));
    let blocks = result.and_then(|result| result.get("content")?.as_array());
    let contents = blocks.into_iter().flatten();
    contents
        .filter_map(|block| to_contents(block.get("resource")?, mark))
        .collect()
}

/// Converts the contents of a resource; returns none if they are damaged.
fn to_contents(contents: &Value, mark: Option<&Value>) -> Option<ResourceData> {
    let field = |name: &str| contents.get(name).and_then(Value::as_str);
    let body = match field("text") {
        Some(text) => ResourceBody::Text(text.to_owned()),
        None => ResourceBody::Bytes(STANDARD.decode(field("blob")?).ok()?),
    };
    let mut meta = contents.get("_meta").cloned().unwrap_or_default();
    round_large_integers(&mut meta);
    let mut meta = meta.as_object_mut().map(std::mem::take);
    if let Some(mark) = mark {
        let meta = meta.get_or_insert_with(Map::new);
        meta.insert(UNTRUSTED.to_owned(), mark.clone());
    }
    Some(ResourceData {
        uri: field("uri")?.to_owned(),
        mime_type: field("mimeType").map(str::to_owned),
        body,
        meta,
    })
}
