//! Which servers and tools a caller sees: those that its scope allows it to call.

use deliberate_toolkit::ToolScope;

use super::{Gateway, Upstream};
use crate::{GatewayError, tools::CALL_TOOL};

/// What one caller sees.
#[derive(Clone, Copy)]
pub(crate) struct CallerView<'a>(pub(crate) &'a ToolScope);

impl CallerView<'_> {
    /// Returns true if the caller may call the tool of this server.
    pub(crate) fn shows_tool(self, server: &str, qualified_name: &str) -> bool {
        self.0.allows(CALL_TOOL)
            || self.0.allows(&format!("{CALL_TOOL}/{server}"))
            || self.0.allows(qualified_name)
    }

    /// Returns true if the caller may call anything of this server. Before its tools are known, a
    /// scope that could name one of them is enough.
    pub(crate) fn shows_server(self, upstream: &Upstream) -> bool {
        let name = upstream.name();
        let names_tool = || match self.0 {
            ToolScope::All => true,
            ToolScope::Only(patterns) => {
                let prefix = format!("{name}__");
                patterns.iter().any(|pattern| {
                    let start = pattern.strip_suffix('*');
                    pattern.starts_with(&prefix)
                        || start.is_some_and(|start| prefix.starts_with(start))
                })
            }
        };
        self.shows_tool(name, "") || names_tool()
    }

    /// Removes the names of servers and tools that the caller does not see from an error.
    pub(crate) fn filter_error(self, gateway: &Gateway, error: GatewayError) -> GatewayError {
        let set = gateway.set();
        let shows_server = |name: &String| set.get(name).is_some_and(|it| self.shows_server(it));
        let shows_tool = |name: &String| {
            let server = gateway.server_of_tool(name).unwrap_or_default();
            self.shows_tool(&server, name)
        };
        match error {
            GatewayError::UnknownTool { name, mut similar } => {
                similar.retain(shows_tool);
                GatewayError::UnknownTool { name, similar }
            }
            GatewayError::UnknownServer {
                name,
                nearest,
                mut all,
            } => {
                all.retain(shows_server);
                GatewayError::UnknownServer {
                    name,
                    nearest: nearest.filter(shows_server),
                    all,
                }
            }
            other => other,
        }
    }
}
