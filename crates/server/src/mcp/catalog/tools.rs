//! `tools/list`: the tools that the caller may call, own tools before external ones.

use deliberate_toolkit::{ExternalTool, RESUME_TOOL, Registry};
use rmcp::{
    ErrorData, RoleServer,
    model::{ListToolsResult, PaginatedRequestParams, Tool},
    service::RequestContext,
};

use super::{LIST_TTL_MS, cache_scope, pagination::ListKind};
use crate::principal::principal;

enum ToolListItem<'a> {
    Own(&'a Tool),
    External(ExternalTool),
}

impl ToolListItem<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Own(tool) => &tool.name,
            Self::External(external_tool) => &external_tool.name,
        }
    }
}

/// One page of the list: own tools, then external ones.
pub(crate) fn list(
    registry: &Registry,
    tools: &[Tool],
    external_tools: Vec<ExternalTool>,
    page: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<(ListToolsResult, Vec<ExternalTool>), ErrorData> {
    let principal = principal(context);
    let own = |name: &str| tools.iter().any(|tool| tool.name == name);
    // An external tool with the name of an own tool cannot be called by that name.
    let external = external_tools
        .into_iter()
        .filter(|external_tool| !own(&external_tool.name));
    let all = tools
        .iter()
        .map(ToolListItem::Own)
        .chain(external.map(ToolListItem::External));
    // Everyone may resume; the owner and the tool of the call are checked at that time.
    let allowed = |one: &ToolListItem<'_>| {
        one.name() == RESUME_TOOL || registry.is_visible_to(&principal, one.name())
    };
    let (shown, next) =
        ListKind::Tools.paginate(all.filter(allowed).collect(), page, ToolListItem::name)?;
    let (mut tools, mut external) = (Vec::new(), Vec::new());
    for one in shown {
        match one {
            ToolListItem::Own(tool) => tools.push(tool.clone()),
            ToolListItem::External(external_tool) => external.push(external_tool),
        }
    }
    let mut result = ListToolsResult::with_all_items(tools)
        .with_ttl_ms(LIST_TTL_MS)
        .with_cache_scope(cache_scope(&principal));
    result.next_cursor = next;
    Ok((result, external))
}
