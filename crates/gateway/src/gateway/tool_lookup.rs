//! Finds tools: by name for calls, by words for searches.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use deliberate_mcp_client::{client::CachePolicy, tool_name::qualified_tool_name};
use deliberate_toolkit::{ExternalTool, ToolError, matches_pattern};
use futures::future::join_all;

use super::{CallTarget, CallerView, CatalogTool, Gateway, ToolCatalog, Upstream};
use crate::{GatewayError, search};

/// How long a search waits for a server whose tools are known, because they may have just changed.
const KNOWN_SERVER_WAIT: Duration = Duration::from_millis(200);

/// How long a search waits for a server that it names.
const NAMED_SERVER_WAIT: Duration = Duration::from_secs(15);

pub(crate) struct ToolSearchResult {
    /// The best match first.
    pub(crate) tools: Vec<Arc<CatalogTool>>,
    /// Matching tools that are quarantined.
    pub(crate) quarantined: Vec<Arc<str>>,
    pub(crate) unavailable: Vec<UnreachableServer>,
}

/// A server that could not be searched.
pub(crate) struct UnreachableServer {
    pub(crate) server: String,
    pub(crate) reason: String,
    /// The reason without details for remote callers.
    pub(crate) redacted_reason: String,
}

impl Gateway {
    /// Returns the server of a tool (`server__tool`) and the rest of the name. Server names are such
    /// that there is one server at most.
    pub(crate) fn split_tool_name<'a>(&self, full: &'a str) -> Option<(Arc<Upstream>, &'a str)> {
        let set = self.set();
        set.servers.values().find_map(|upstream| {
            let rest = full.strip_prefix(upstream.name())?.strip_prefix("__")?;
            Some((upstream.clone(), rest))
        })
    }

    /// Returns the name of the server of a tool (`server__tool`).
    pub(crate) fn server_of_tool(&self, full: &str) -> Option<String> {
        self.split_tool_name(full)
            .map(|(upstream, _)| upstream.name().to_owned())
    }

    /// Returns what is called by this name: a method of a server, or a callable tool.
    pub(crate) async fn find_target(
        &self,
        full: &str,
    ) -> Result<(Arc<Upstream>, CallTarget), GatewayError> {
        if let Some((upstream, method)) = self.find_method(full) {
            return Ok((upstream, CallTarget::Method(method)));
        }
        let (upstream, tool) = self.find_tool(full).await?;
        Ok((upstream, CallTarget::Tool(tool)))
    }

    /// Returns the callable tool of this name (`server__tool`).
    pub(crate) async fn find_tool(
        &self,
        full: &str,
    ) -> Result<(Arc<Upstream>, Arc<CatalogTool>), GatewayError> {
        let unknown = || GatewayError::unknown_tool(full, self.suggest_names(full));
        let (upstream, rest) = self.split_tool_name(full).ok_or_else(|| {
            let server = full.split_once("__").map(|(server, _)| server);
            let wrong = server.filter(|server| !server.is_empty());
            wrong
                .and_then(|server| self.upstream(server).err())
                .unwrap_or_else(unknown)
        })?;
        let known = match self.refresh(&upstream, CachePolicy::Cached).await {
            Ok(known) => known,
            Err(error) => {
                let found = self.find_fallback(&upstream, full, rest).await;
                return found.ok_or(error);
            }
        };
        let tool = known.find(full, rest).ok_or_else(unknown)?;
        let tool = require_callable(&upstream, tool)?;
        Ok((upstream, tool))
    }

    /// Returns the fallback's tool when the server cannot list its tools.
    async fn find_fallback(
        &self,
        upstream: &Upstream,
        full: &str,
        rest: &str,
    ) -> Option<(Arc<Upstream>, Arc<CatalogTool>)> {
        let other = self.fallback_of(upstream)?;
        let known = self.refresh(&other, CachePolicy::Cached).await.ok()?;
        // A long name is shortened, so it has no such rest.
        let is_called = |tool: &&Arc<CatalogTool>| {
            let own = tool.def.name.as_str();
            rest == own || qualified_tool_name(upstream.name(), own) == full
        };
        let found = known.tools.iter().find(is_called)?;
        let tool = require_callable(&other, found).ok()?;
        let is_allowed = upstream.settings.allows(&tool.def.name);
        is_allowed.then_some((other, tool))
    }

    fn fallback_of(&self, upstream: &Upstream) -> Option<Arc<Upstream>> {
        self.upstream(upstream.settings.fallback.as_deref()?).ok()
    }

    /// Returns the tools of a server that was never listed: those of its fallback, under its name.
    /// They can be called, so they can be found.
    pub(super) fn fallback_tools(&self, upstream: &Upstream) -> Vec<Arc<CatalogTool>> {
        let other = self
            .fallback_of(upstream)
            .filter(|_| upstream.catalog().is_none());
        let Some(known) = other.and_then(|other| other.catalog()) else {
            return Vec::new();
        };
        let usable = known.tools.iter().filter(|tool| tool.quarantine.is_none());
        usable
            .filter(|tool| upstream.settings.allows(&tool.def.name))
            .map(|tool| Arc::new(tool.for_server(&upstream.settings)))
            .collect()
    }

    /// Refreshes a server's catalog, and that of its fallback if the server was never listed.
    pub(super) async fn refresh_with_fallback(
        &self,
        upstream: &Arc<Upstream>,
        fresh: CachePolicy,
    ) -> Result<Arc<ToolCatalog>, GatewayError> {
        let outcome = self.refresh(upstream, fresh).await;
        if outcome.is_err()
            && upstream.catalog().is_none()
            && let Some(other) = self.fallback_of(upstream)
        {
            // If that fails too, the server is reported by its own failure.
            drop(self.refresh(&other, CachePolicy::Cached).await);
            upstream.activity.list_failed.store(true, Ordering::Relaxed);
            self.publish();
        }
        outcome
    }

    /// Returns a server and its callable tool of this name.
    pub(crate) async fn find_server_tool(
        &self,
        server: &str,
        tool: &str,
    ) -> Result<(Arc<Upstream>, Arc<CatalogTool>), GatewayError> {
        let upstream = self.upstream(server)?;
        let known = self.refresh(&upstream, CachePolicy::Cached).await?;
        if let Some(found) = known.get(tool) {
            let found = require_callable(&upstream, found)?;
            return Ok((upstream, found));
        }
        let full = qualified_tool_name(server, tool);
        Err(GatewayError::unknown_tool(&full, self.suggest_names(&full)))
    }

    /// Returns true if a name may be that of an upstream server's tool; any name may be, for a
    /// server that was not listed yet.
    pub(crate) fn may_be_tool(&self, full: &str) -> bool {
        self.split_tool_name(full).is_some_and(|(upstream, rest)| {
            let known = upstream.catalog();
            known.is_none_or(|known| known.find(full, rest).is_some())
                || self.find_method(full).is_some()
        })
    }

    /// Returns the callable tools that match a pattern. Servers that were not listed yet are asked.
    pub(crate) async fn find_matching(self: &Arc<Self>, pattern: &str) -> Vec<ExternalTool> {
        let start = pattern.strip_suffix('*');
        let concerned = |upstream: &Upstream| {
            let prefix = format!("{}__", upstream.name());
            let open = start.is_some_and(|start| prefix.starts_with(start));
            open || pattern.starts_with(&prefix)
        };
        let servers: Vec<_> = self
            .upstreams()
            .into_iter()
            .filter(|it| concerned(it))
            .collect();
        self.refresh_all(&servers, NAMED_SERVER_WAIT).await;
        let known = servers
            .iter()
            .flat_map(|upstream| match upstream.catalog() {
                Some(known) => known.tools.clone(),
                None => self.fallback_tools(upstream),
            });
        let usable = known.filter(|tool| tool.quarantine.is_none());
        usable
            .filter(|tool| matches_pattern(pattern, &tool.qualified_name))
            .map(|tool| ExternalTool {
                name: tool.qualified_name.clone(),
                definition: tool.exposed_definition.clone(),
            })
            .collect()
    }

    /// Returns known tools with similar names.
    fn suggest_names(&self, full: &str) -> Vec<String> {
        const MAX_SUGGESTIONS: usize = 3;
        let tools = self.callable_tools(None);
        let names = || tools.iter().map(|tool| tool.qualified_name.as_ref());
        let bare = |tool: &&Arc<CatalogTool>| tool.def.name == full;
        let mut near: Vec<String> = tools
            .iter()
            .filter(bare)
            .map(|tool| tool.qualified_name.to_string())
            .collect();
        near.extend(deliberate_core::did_you_mean(full, names()));
        let entries: Vec<&search::ToolSearchEntry> = tools
            .iter()
            .map(|tool| tool.search_entry.as_ref())
            .collect();
        let ranked = search::rank(full, &entries);
        near.extend(
            ranked
                .iter()
                .filter_map(|(at, _)| tools.get(*at))
                .map(|tool| tool.qualified_name.to_string()),
        );
        let mut seen = std::collections::BTreeSet::new();
        near.retain(|name| seen.insert(name.clone()));
        near.truncate(MAX_SUGGESTIONS);
        near
    }

    fn callable_tools(&self, server: Option<&str>) -> Vec<Arc<CatalogTool>> {
        self.upstreams()
            .iter()
            .filter(|upstream| server.is_none_or(|name| name == upstream.name()))
            .filter_map(|upstream| upstream.catalog())
            .flat_map(|known| known.tools.clone())
            .filter(|tool| tool.quarantine.is_none())
            .collect()
    }

    /// Returns the servers that a caller sees, or one of them.
    pub(crate) fn visible_upstreams(
        &self,
        server: Option<&str>,
        view: CallerView<'_>,
    ) -> Vec<Arc<Upstream>> {
        let mut servers = self.upstreams();
        servers.retain(|it| server.is_none_or(|name| name == it.name()) && view.shows_server(it));
        servers
    }

    /// Lists the tools of all servers, or of one, as far as possible within a short time; returns
    /// the servers that did not answer.
    pub(crate) async fn refresh_for_search(
        self: &Arc<Self>,
        server: Option<&str>,
        view: CallerView<'_>,
    ) -> Vec<UnreachableServer> {
        let servers = self.visible_upstreams(server, view);
        self.refresh_all(&servers, self.search_wait).await
    }

    async fn refresh_all(
        self: &Arc<Self>,
        servers: &[Arc<Upstream>],
        wait: Duration,
    ) -> Vec<UnreachableServer> {
        let each = servers.iter().map(|upstream| async move {
            let known = upstream.catalog().is_some();
            // A server that did not answer a previous search delays no further one.
            let in_vain = wait < NAMED_SERVER_WAIT && upstream.timed_out.load(Ordering::Relaxed);
            let wait = if known || in_vain {
                KNOWN_SERVER_WAIT
            } else {
                wait
            };
            let (gateway, server) = (self.clone(), upstream.clone());
            // The refresh continues after the caller has stopped waiting, for the next search.
            let asked = tokio::spawn(async move {
                gateway
                    .refresh_with_fallback(&server, CachePolicy::Cached)
                    .await
            });
            let same = |why: &str| (why.to_owned(), why.to_owned());
            let (why, outward) = match tokio::time::timeout(wait, asked).await {
                Ok(Ok(Ok(_))) => return None,
                Ok(Ok(Err(error))) => {
                    let why = error.to_string();
                    (why, ToolError::from(error).redacted().to_string())
                }
                Ok(Err(_)) => same("the server could not be asked"),
                Err(_) => {
                    upstream.timed_out.store(true, Ordering::Relaxed);
                    same("the server has not answered yet; search again later")
                }
            };
            (!known).then(|| UnreachableServer {
                server: upstream.name().to_owned(),
                reason: why,
                redacted_reason: outward,
            })
        });
        join_all(each).await.into_iter().flatten().collect()
    }

    /// Searches tools by words.
    pub(crate) async fn search(
        self: &Arc<Self>,
        query: &str,
        server: Option<&str>,
        limit: usize,
        view: CallerView<'_>,
    ) -> ToolSearchResult {
        let unavailable = self.refresh_for_search(server, view).await;
        let mut all: Vec<Arc<CatalogTool>> = Vec::new();
        let servers = self.visible_upstreams(server, view);
        for upstream in &servers {
            let fallback = upstream.settings.fallback.as_deref();
            let tools = match upstream.catalog() {
                Some(known) => known.tools.clone(),
                // The same tools are found once.
                None if servers.iter().any(|it| Some(it.name()) == fallback) => continue,
                None => self.fallback_tools(upstream),
            };
            let shown =
                |it: &Arc<CatalogTool>| view.shows_tool(upstream.name(), &it.qualified_name);
            all.extend(tools.into_iter().filter(shown));
        }
        let entries: Vec<&search::ToolSearchEntry> =
            all.iter().map(|tool| tool.search_entry.as_ref()).collect();
        let exact = all
            .iter()
            .filter(|tool| *tool.qualified_name == *query || tool.def.name == query);
        let ranked = search::rank(query, &entries);
        let ranked = ranked.iter().filter_map(|(at, _)| all.get(*at));
        let mut seen = std::collections::BTreeSet::new();
        let (mut tools, mut kept_back) = (Vec::new(), Vec::new());
        for tool in exact
            .chain(ranked)
            .filter(|tool| seen.insert(tool.qualified_name.clone()))
        {
            if tools.len() == limit {
                break;
            }
            match tool.quarantine {
                None => tools.push(tool.clone()),
                Some(_) => kept_back.push(tool.qualified_name.clone()),
            }
        }
        kept_back.truncate(limit);
        ToolSearchResult {
            tools,
            quarantined: kept_back,
            unavailable,
        }
    }
}

fn require_callable(
    upstream: &Upstream,
    tool: &Arc<CatalogTool>,
) -> Result<Arc<CatalogTool>, GatewayError> {
    match tool.quarantine {
        None => Ok(tool.clone()),
        Some(why) => Err(GatewayError::Quarantined {
            server: upstream.name().to_owned(),
            tool: match tool.def.name.as_str() {
                short if short.len() <= 80 => short.to_owned(),
                _ => tool.qualified_name.to_string(),
            },
            why: why.message().to_owned(),
        }),
    }
}
