//! What a registry has at addresses, listed and read.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use deliberate_toolkit::{
    Body, Contents, Desk, Principal, Registry, Resource, Resources, Template, ToolError,
};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        self, CacheScope, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
        ListResourcesRequestMethod, ListResourcesResult, PaginatedRequestParams,
        ReadResourceRequestMethod, ReadResourceRequestParams, ReadResourceResponse,
        ReadResourceResult, ResourceContents, ResourceTemplate,
    },
    service::RequestContext,
};

use super::{
    LIST_TTL_MS, LONGEST_URI, cache_scope, caller,
    capabilities::has_resources,
    error::{about_uri, general, nothing_at},
    guarded, may_see,
    paging::{List, foreign},
};
use crate::principal::principal;

pub(crate) async fn list(
    registry: &Registry,
    page: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<ListResourcesResult, ErrorData> {
    if !has_resources(registry) {
        return Err(ErrorData::method_not_found::<ListResourcesRequestMethod>());
    }
    let caller = caller(context);
    let desk = Desk {
        registry,
        caller: &caller,
    };
    let (found, next) = guarded(registry, context, gather(page, desk)).await?;
    let resources = found.into_iter().map(resource).collect();
    // What is remembered changes with every call, and belongs to whoever may read it.
    let mut result = ListResourcesResult::with_all_items(resources)
        .with_ttl_ms(0)
        .with_cache_scope(CacheScope::Private);
    result.next_cursor = next;
    Ok(result)
}

/// One page, from as many families as it takes to fill it.
async fn gather(
    page: Option<PaginatedRequestParams>,
    desk: Desk<'_>,
) -> Result<(Vec<Resource>, Option<String>), ErrorData> {
    let mark = List::Resources.mark(page)?;
    let families: Vec<_> = desk.registry.resources().enumerate().collect();
    let (first, mut after) = mark.map_or((0, None), |mark| (mark.family, mark.after));
    if first >= families.len() {
        return Err(foreign());
    }
    let mut found = Vec::new();
    for (place, family) in families.into_iter().skip(first) {
        if !may_see(&desk.caller.principal, family) {
            after = None;
            continue;
        }
        loop {
            let room = List::Resources.page().saturating_sub(found.len());
            if room == 0 {
                return Ok((found, List::Resources.cursor(place, after)));
            }
            let listed = family.list(after.as_deref(), room, desk).await;
            let listed = listed.map_err(|error| general(&error))?;
            found.extend(listed.resources);
            after = listed.next;
            if after.is_none() {
                break;
            }
        }
    }
    Ok((found, None))
}

pub(crate) fn templates(
    registry: &Registry,
    page: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<ListResourceTemplatesResult, ErrorData> {
    if !has_resources(registry) {
        return Err(ErrorData::method_not_found::<
            ListResourceTemplatesRequestMethod,
        >());
    }
    let principal = principal(context);
    let seen = registry
        .resources()
        .filter(|family| may_see(&principal, *family));
    let all = seen.flat_map(Resources::templates).collect();
    let (shown, next) = List::Templates.cut(all, page, |it: &Template| &it.uri)?;
    let shown = shown.into_iter().map(template).collect();
    let mut result = ListResourceTemplatesResult::with_all_items(shown)
        .with_ttl_ms(LIST_TTL_MS)
        .with_cache_scope(cache_scope(&principal));
    result.next_cursor = next;
    Ok(result)
}

pub(crate) async fn read(
    registry: &Registry,
    request: ReadResourceRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<ReadResourceResponse, ErrorData> {
    if !has_resources(registry) {
        return Err(ErrorData::method_not_found::<ReadResourceRequestMethod>());
    }
    let caller = caller(context);
    let desk = Desk {
        registry,
        caller: &caller,
    };
    let found = guarded(registry, context, find(&request.uri, desk)).await?;
    let found = found.into_iter().map(contents).collect();
    let result = ReadResourceResult::new(found)
        .with_ttl_ms(0)
        .with_cache_scope(CacheScope::Private);
    Ok(ReadResourceResponse::Complete(result))
}

async fn find(uri: &str, desk: Desk<'_>) -> Result<Vec<Contents>, ErrorData> {
    may_read(desk.registry, uri, desk.caller)?;
    for family in desk.registry.resources() {
        if family.knows(uri)
            && may_see(&desk.caller.principal, family)
            && let Some(found) = family.read(uri, desk).await
        {
            return found.map_err(|error| about_uri(uri, &error));
        }
    }
    Err(nothing_at(uri))
}

/// Whether there is a family that they may see.
pub(crate) fn sees_some(registry: &Registry, principal: &Principal) -> bool {
    let mut families = registry.resources();
    families.any(|family| may_see(principal, family))
}

/// Whether the address can be one of a family that the caller may see.
pub(super) fn may_read(
    registry: &Registry,
    uri: &str,
    caller: &deliberate_toolkit::Caller,
) -> Result<(), ErrorData> {
    if uri.len() > LONGEST_URI {
        return Err(nothing_at(uri));
    }
    let mut refused = None;
    for family in registry.resources().filter(|family| family.knows(uri)) {
        if may_see(&caller.principal, family) {
            return Ok(());
        }
        refused = refused.or(family.needs());
    }
    match refused {
        Some(what) => {
            let what = what.to_owned();
            Err(about_uri(uri, &ToolError::Forbidden { what }))
        }
        None => Err(nothing_at(uri)),
    }
}

fn resource(found: Resource) -> model::Resource {
    let mut resource = model::Resource::new(found.uri, found.name);
    resource.title = found.title;
    resource.description = found.description;
    resource.mime_type = found.mime_type;
    resource.size = found.size;
    resource
}

fn template(found: Template) -> ResourceTemplate {
    let mut template = ResourceTemplate::new(found.uri, found.name)
        .with_title(found.title)
        .with_description(found.description);
    template.mime_type = found.mime_type;
    template
}

/// What stands at an address, as the protocol carries it: bytes as base64.
pub(super) fn contents(found: Contents) -> ResourceContents {
    let (uri, mime_type, meta) = (found.uri, found.mime_type, None);
    match found.body {
        Body::Text(text) => ResourceContents::TextResourceContents {
            uri,
            mime_type,
            text,
            meta,
        },
        Body::Bytes(bytes) => ResourceContents::BlobResourceContents {
            uri,
            mime_type,
            blob: STANDARD.encode(bytes),
            meta,
        },
    }
}
