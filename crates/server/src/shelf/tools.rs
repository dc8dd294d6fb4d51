//! The list of tools: those that the caller may call, ours before those of other servers.

use deliberate_toolkit::{Guest, RESUME, Registry};
use rmcp::{
    ErrorData, RoleServer,
    model::{ListToolsResult, PaginatedRequestParams, Tool},
    service::RequestContext,
};

use super::{LIST_TTL_MS, cache_scope, paging::List};
use crate::principal::principal;

/// One of the list.
enum Listed<'a> {
    Own(&'a Tool),
    Guest(Guest),
}

impl Listed<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Own(tool) => &tool.name,
            Self::Guest(guest) => &guest.name,
        }
    }
}

/// A page of the list: our tools on it, and the guests after them.
pub(crate) fn list(
    registry: &Registry,
    tools: &[Tool],
    guests: Vec<Guest>,
    page: Option<PaginatedRequestParams>,
    context: &RequestContext<RoleServer>,
) -> Result<(ListToolsResult, Vec<Guest>), ErrorData> {
    let principal = principal(context);
    let own = |name: &str| tools.iter().any(|tool| tool.name == name);
    // A guest of the name of a tool of ours can't be called by it.
    let guests = guests.into_iter().filter(|guest| !own(&guest.name));
    let all = tools
        .iter()
        .map(Listed::Own)
        .chain(guests.map(Listed::Guest));
    // Resuming is for everyone; whose call it is and which is looked at then.
    let allowed = |one: &Listed<'_>| one.name() == RESUME || registry.shows(&principal, one.name());
    let (shown, next) = List::Tools.cut(all.filter(allowed).collect(), page, Listed::name)?;
    let (mut tools, mut guests) = (Vec::new(), Vec::new());
    for one in shown {
        match one {
            Listed::Own(tool) => tools.push(tool.clone()),
            Listed::Guest(guest) => guests.push(guest),
        }
    }
    let mut result = ListToolsResult::with_all_items(tools)
        .with_ttl_ms(LIST_TTL_MS)
        .with_cache_scope(cache_scope(&principal));
    result.next_cursor = next;
    Ok((result, guests))
}
