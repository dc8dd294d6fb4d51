//! `resources/list`, `resources/templates/list` and `resources/read`.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use deliberate_toolkit::{
    Principal, Registry, ResourceBody, ResourceContext, ResourceData, ResourceInfo,
    ResourceProvider, ToolError, UriTemplate,
};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        self, CacheScope, ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
        ListResourcesRequestMethod, ListResourcesResult, MetaObject, PaginatedRequestParams,
        ReadResourceRequestMethod, ReadResourceRequestParams, ReadResourceResponse,
        ReadResourceResult, ResourceContents, ResourceTemplate,
    },
    service::RequestContext,
};

use super::{
    LIST_TTL_MS, MAX_URI_LEN, cache_scope, caller_context,
    capabilities::has_resources,
    error::{resource_error, resource_not_found, to_rpc_error},
    may_see,
    pagination::{ListKind, invalid_cursor},
    run_guarded,
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
    let caller = caller_context(context);
    let desk = ResourceContext {
        registry,
        caller: &caller,
    };
    let (found, next) = run_guarded(registry, context, collect_page(page, desk)).await?;
    let resources = found.into_iter().map(to_mcp_resource).collect();
    // The list changes with every call and depends on the principal, so it must not be cached.
    let mut result = ListResourcesResult::with_all_items(resources)
        .with_ttl_ms(0)
        .with_cache_scope(CacheScope::Private);
    result.next_cursor = next;
    Ok(result)
}

/// Fills one page from as many providers as necessary.
async fn collect_page(
    page: Option<PaginatedRequestParams>,
    context: ResourceContext<'_>,
) -> Result<(Vec<ResourceInfo>, Option<String>), ErrorData> {
    let mark = ListKind::Resources.decode_cursor(page)?;
    let families: Vec<_> = context.registry.resources().enumerate().collect();
    let (first, mut after) = mark.map_or((0, None), |mark| (mark.family, mark.after));
    if first >= families.len() {
        return Err(invalid_cursor());
    }
    let mut found = Vec::new();
    for (place, family) in families.into_iter().skip(first) {
        if !may_see(&context.caller.principal, family) {
            after = None;
            continue;
        }
        loop {
            let room = ListKind::Resources.page_size().saturating_sub(found.len());
            if room == 0 {
                return Ok((found, ListKind::Resources.encode_cursor(place, after)));
            }
            let listed = family.list(after.as_deref(), room, context).await;
            let listed = listed.map_err(|error| to_rpc_error(&error))?;
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
    let all = seen.flat_map(ResourceProvider::templates).collect();
    let (shown, next) = ListKind::Templates.paginate(all, page, |it: &UriTemplate| &it.uri)?;
    let shown = shown.into_iter().map(to_mcp_template).collect();
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
    let caller = caller_context(context);
    let desk = ResourceContext {
        registry,
        caller: &caller,
    };
    let found = run_guarded(registry, context, read_contents(&request.uri, desk)).await?;
    let found = found.into_iter().map(to_mcp_contents).collect();
    let result = ReadResourceResult::new(found)
        .with_ttl_ms(0)
        .with_cache_scope(CacheScope::Private);
    Ok(ReadResourceResponse::Complete(result))
}

async fn read_contents(
    uri: &str,
    context: ResourceContext<'_>,
) -> Result<Vec<ResourceData>, ErrorData> {
    check_readable(context.registry, uri, context.caller)?;
    for family in context.registry.resources() {
        if family.matches(uri)
            && may_see(&context.caller.principal, family)
            && let Some(found) = family.read(uri, context).await
        {
            return found.map_err(|error| resource_error(uri, &error));
        }
    }
    Err(resource_not_found(uri))
}

/// Tells whether the principal may see any provider.
pub(crate) fn may_see_any(registry: &Registry, principal: &Principal) -> bool {
    let mut families = registry.resources();
    families.any(|family| may_see(principal, family))
}

/// Checks that the URI belongs to a provider that the caller may see.
pub(super) fn check_readable(
    registry: &Registry,
    uri: &str,
    caller: &deliberate_toolkit::CallerContext,
) -> Result<(), ErrorData> {
    if uri.len() > MAX_URI_LEN {
        return Err(resource_not_found(uri));
    }
    let mut refused = None;
    for family in registry.resources().filter(|family| family.matches(uri)) {
        if may_see(&caller.principal, family) {
            return Ok(());
        }
        refused = refused.or(family.required_scope());
    }
    match refused {
        Some(what) => {
            let what = what.to_owned();
            Err(resource_error(uri, &ToolError::Forbidden { what }))
        }
        None => Err(resource_not_found(uri)),
    }
}

fn to_mcp_resource(found: ResourceInfo) -> model::Resource {
    let mut resource = model::Resource::new(found.uri, found.name);
    resource.title = found.title;
    resource.description = found.description;
    resource.mime_type = found.mime_type;
    resource.size = found.size;
    resource
}

fn to_mcp_template(found: UriTemplate) -> ResourceTemplate {
    let mut template = ResourceTemplate::new(found.uri, found.name)
        .with_title(found.title)
        .with_description(found.description);
    template.mime_type = found.mime_type;
    template
}

/// Converts the contents of a resource to the protocol's types, with bytes as base64.
fn to_mcp_contents(found: ResourceData) -> ResourceContents {
    let (uri, mime_type, meta) = (found.uri, found.mime_type, found.meta.map(MetaObject));
    match found.body {
        ResourceBody::Text(text) => ResourceContents::TextResourceContents {
            uri,
            mime_type,
            text,
            meta,
        },
        ResourceBody::Bytes(bytes) => ResourceContents::BlobResourceContents {
            uri,
            mime_type,
            blob: STANDARD.encode(bytes),
            meta,
        },
    }
}
