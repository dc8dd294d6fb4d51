//! The list of tools: those that the caller may call.

use deliberate_toolkit::RESUME;
use rmcp::{
    ErrorData, RoleServer,
    model::{ListToolsResult, PaginatedRequestParams, Tool},
    service::RequestContext,
};

use super::{LIST_TTL_MS, cache_scope, paging::List};
use crate::principal::principal;

pub(crate) fn list(
    tools: &[Tool],
    page: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<ListToolsResult, ErrorData> {
    let principal = principal(context);
    // Resuming is for everyone; whose call it is and which is looked at then.
    let allowed = |tool: &&Tool| tool.name == RESUME || principal.scope.allows(&tool.name);
    let tools = tools.iter().filter(allowed).cloned().collect();
    let (tools, next) = List::Tools.cut(tools, page, |tool: &Tool| &tool.name)?;
    let mut result = ListToolsResult::with_all_items(tools)
        .with_ttl_ms(LIST_TTL_MS)
        .with_cache_scope(cache_scope(&principal));
    result.next_cursor = next;
    Ok(result)
}
