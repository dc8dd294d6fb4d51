//! What an adapter is to do, with every mistake named.

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

/// What an adapter is to do.
#[derive(Clone)]
pub struct AdapterConfig {
    /// The servers.
    pub servers: Vec<ServerConfig>,
    /// The server that is called when one fails, by the name of the one.
    pub fallbacks: BTreeMap<String, String>,
    /// Whether lists of tools are kept.
    pub cache: bool,
    /// Which tools become functions.
    pub filter: ToolFilter,
    /// How functions are named.
    pub prefix: NamePrefix,
    /// What is done when a server can't be reached.
    pub on_listing_failure: ListingFailure,
    /// When another server is called.
    pub fallback_policy: FallbackPolicy,
    /// Whether arguments are checked before they are sent, and structured answers when they come.
    pub validate: bool,
    /// Who answers what servers ask.
    pub handler: Arc<dyn ClientHandler>,
    /// What stands around calls, the outermost first.
    pub interceptors: Vec<Arc<dyn Interceptor>>,
    /// Asked before another server is called.
    pub before_fallback: Option<BeforeFallback>,
}

/// Says whether another server may be called after this error.
pub type BeforeFallback = Arc<dyn Fn(&ClientError, &ToolInvocation) -> bool + Send + Sync>;

/// Which tools become functions: those of `only`, without those of `except`, of these those that
/// the predicate lets through. A name is a tool's own or `server__tool`; a `*` at its end stands
/// for any ending.
#[derive(Clone, Default)]
pub struct ToolFilter {
    /// Only these; without it, all.
    pub only: Option<Vec<String>>,
    /// None of these.
    pub except: Vec<String>,
    /// Only those it says yes to, by server and tool.
    pub predicate: Option<ToolPredicate>,
}

/// Says whether a tool of a server becomes a function.
pub type ToolPredicate = Arc<dyn Fn(&str, &ToolDef) -> bool + Send + Sync>;

/// How functions are named.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NamePrefix {
    /// `server__tool`, always: a name does not change when another server comes.
    #[default]
    Always,
    /// Only where two servers have tools of one name.
    OnConflict,
    /// Never; of two tools of one name the first counts.
    Never,
}

/// What is done when a server can't be reached while functions are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ListingFailure {
    /// The others' functions are listed, and what failed is told.
    #[default]
    Open,
    /// Nothing is.
    Closed,
}

/// When another server is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FallbackPolicy {
    /// When the first does not know what is asked for, though the other may.
    pub on_unknown_tool: bool,
    /// Even if something may then be done twice.
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
    /// The usual, with these servers.
    pub fn from_servers(servers: impl IntoIterator<Item = ServerConfig>) -> Self {
        Self {
            servers: servers.into_iter().collect(),
            ..Self::default()
        }
    }

    /// What is wrong beside the servers themselves.
    pub(super) fn problems(&self) -> Vec<ConfigProblem> {
        let mut mistakes = Vec::new();
        let mut names = BTreeSet::new();
        for server in &self.servers {
            if !names.insert(server.name.as_str()) {
                let place = format!("servers.{}", server.name);
                mistakes.push(ConfigProblem::new(
                    place,
                    "there are two servers of this name",
                ));
            }
        }
        if self.servers.is_empty() {
            mistakes.push(ConfigProblem::new("servers", "there are none"));
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
                    "a server can't stand in for itself",
                ));
            }
        }
        let filters = self.filter.only.iter().flatten().chain(&self.filter.except);
        for name in filters.filter(|name| name.is_empty()) {
            mistakes.push(ConfigProblem::new(
                "filter",
                format!("{name:?} is no name of a tool"),
            ));
        }
        mistakes
    }
}

impl ToolFilter {
    /// Whether the tool of that server becomes a function.
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

    /// Those of `only` that none of these tools is.
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

/// Whether a pattern names the tool: by its own name, or with its server's before it.
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
