//! The configuration of an adapter, and its validation.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use super::{ToolInvocation, interceptor::Interceptor};
use crate::{
    ClientError, ServerConfig,
    client::{ClientHandler, NoClientHandler, ToolDef},
    config::ConfigProblem,
};

/// The configuration of an adapter.
#[derive(Clone)]
pub struct AdapterConfig {
    /// The servers.
    pub servers: Vec<ServerConfig>,
    /// The fallback server of each server, by server name.
    pub fallbacks: BTreeMap<String, String>,
    /// Whether tool lists are cached.
    pub cache: bool,
    /// Selects the tools that become functions.
    pub filter: ToolFilter,
    /// Decides when a function name has the server as prefix.
    pub prefix: NamePrefix,
    /// Decides what happens when a server cannot list its tools.
    pub on_listing_failure: ListingFailure,
    /// Decides when the fallback server is called.
    pub fallback_policy: FallbackPolicy,
    /// Whether arguments are validated before they are sent, and structured content when it
    /// arrives.
    pub validate: bool,
    /// Answers the requests of servers.
    pub handler: Arc<dyn ClientHandler>,
    /// The interceptors of calls, the outermost first.
    pub interceptors: Vec<Arc<dyn Interceptor>>,
    /// A callback that may prevent a fallback.
    pub before_fallback: Option<BeforeFallback>,
}

/// A callback that returns whether the fallback server may be called after this error.
pub type BeforeFallback = Arc<dyn Fn(&ClientError, &ToolInvocation) -> bool + Send + Sync>;

/// Selects the tools that become functions: those in `only`, except those in `except`, if the
/// predicate accepts them. A name is a tool's own name or `server__tool`; a `*` at its end matches
/// any ending.
#[derive(Clone, Default)]
pub struct ToolFilter {
    /// The names to include; by default all.
    pub only: Option<Vec<String>>,
    /// The names to exclude.
    pub except: Vec<String>,
    /// A further condition on server and tool.
    pub predicate: Option<ToolPredicate>,
}

/// A callback that returns whether a tool of a server becomes a function.
pub type ToolPredicate = Arc<dyn Fn(&str, &ToolDef) -> bool + Send + Sync>;

/// Decides when a function name has the server as prefix.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NamePrefix {
    /// Always `server__tool`: a name does not change when another server is added.
    #[default]
    Always,
    /// Only if two servers have tools with the same name.
    OnConflict,
    /// Never; if two tools have the same name, the first is used.
    Never,
}

/// Decides what happens when a server cannot list its tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ListingFailure {
    /// The functions of the other servers are listed, together with the error.
    #[default]
    Open,
    /// Listing fails.
    Closed,
}

/// Decides when the fallback server is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FallbackPolicy {
    /// Also if the first server does not know the tool or method, and the fallback may.
    pub on_unknown_tool: bool,
    /// Even if an effect may then be repeated.
    pub allow_repeat: bool,
}

impl Default for FallbackPolicy {
    fn default() -> Self {
        Self {
            on_unknown_tool: true,
            allow_repeat: false,
        }
    }
}

impl Default for AdapterConfig {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            fallbacks: BTreeMap::new(),
            cache: true,
            filter: ToolFilter::default(),
            prefix: NamePrefix::default(),
            on_listing_failure: ListingFailure::default(),
            fallback_policy: FallbackPolicy::default(),
            validate: true,
            handler: Arc::new(NoClientHandler),
            interceptors: Vec::new(),
            before_fallback: None,
        }
    }
}

impl AdapterConfig {
    /// Creates a default configuration with these servers.
    pub fn from_servers(servers: impl IntoIterator<Item = ServerConfig>) -> Self {
        Self {
            servers: servers.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Returns the problems of the configuration, except those of the servers themselves.
    pub(super) fn problems(&self) -> Vec<ConfigProblem> {
        let mut mistakes = Vec::new();
        let mut names = BTreeSet::new();
        for server in &self.servers {
            if !names.insert(server.name.as_str()) {
                let place = format!("servers.{}", server.name);
                mistakes.push(ConfigProblem::new(place, "two servers have this name"));
            }
        }
        if self.servers.is_empty() {
            mistakes.push(ConfigProblem::new(
                "servers",
                "at least one server is required",
            ));
        }
        for (server, fallback) in &self.fallbacks {
            let place = format!("servers.{server}.fallback");
            if !names.contains(server.as_str()) {
                mistakes.push(ConfigProblem::new(
                    &place,
                    format!("there is no server {server:?}"),
                ));
            }
            if !names.contains(fallback.as_str()) {
                mistakes.push(ConfigProblem::new(
                    &place,
                    format!("there is no server {fallback:?}"),
                ));
            }
            if server == fallback {
                mistakes.push(ConfigProblem::new(
                    &place,
                    "a server cannot be its own fallback",
                ));
            }
        }
        let filters = self.filter.only.iter().flatten().chain(&self.filter.except);
        for name in filters.filter(|name| name.is_empty()) {
            mistakes.push(ConfigProblem::new(
                "filter",
                format!("{name:?} is not a valid tool name"),
            ));
        }
        mistakes
    }
}

impl ToolFilter {
    /// Returns true if the tool of this server becomes a function.
    pub fn allows(&self, server: &str, tool: &ToolDef) -> bool {
        let named = |patterns: &[String]| {
            patterns
                .iter()
                .any(|pattern| matches_tool_name(pattern, server, &tool.name))
        };
        self.only.as_deref().is_none_or(named)
            && !named(&self.except)
            && self
                .predicate
                .as_ref()
                .is_none_or(|lets| lets(server, tool))
    }

    /// Returns the names in `only` that match none of these tools.
    pub(super) fn unmatched_names(&self, tools: &[(&str, &ToolDef)]) -> Vec<String> {
        let only = self.only.iter().flatten();
        only.filter(|pattern| {
            !tools
                .iter()
                .any(|(server, tool)| matches_tool_name(pattern, server, &tool.name))
        })
        .cloned()
        .collect()
    }
}

/// Returns true if a pattern matches the tool by its own name or by its qualified name.
pub(crate) fn matches_tool_name(pattern: &str, server: &str, tool: &str) -> bool {
    let fits = |name: &str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == pattern,
    };
    fits(tool) || fits(&format!("{server}__{tool}"))
}

impl fmt::Debug for ToolFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolFilter")
            .field("only", &self.only)
            .field("except", &self.except)
            .finish_non_exhaustive()
    }
}
