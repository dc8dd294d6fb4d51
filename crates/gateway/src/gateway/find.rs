//! Finding tools: by name for who calls, by words for who searches.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use deliberate_adapter::client::Fresh;
use deliberate_toolkit::{Guest, ToolError, fits};
use futures::future::join_all;

use super::{Gateway, Known, KnownTool, Served};
use crate::{Error, search};

/// How long a search waits for a server whose tools are known: they may have just changed.
const KNOWN_WAIT: Duration = Duration::from_millis(200);

/// How long a server is waited for whose tools are asked for by name.
const PATIENCE: Duration = Duration::from_secs(15);

/// What a search found.
pub(crate) struct Found {
    /// The best first.
    pub(crate) tools: Vec<Arc<KnownTool>>,
    /// Tools that would have been found but are kept back.
    pub(crate) kept_back: Vec<Arc<str>>,
    /// Servers that could not be searched, and why.
    pub(crate) unavailable: Vec<Unreached>,
}

/// A server that could not be searched.
pub(crate) struct Unreached {
    pub(crate) server: String,
    /// Why.
    pub(crate) why: String,
    /// Why, as far as those beyond this machine may know.
    pub(crate) outward: String,
}

impl Gateway {
    /// The server whose tool that is (`server__tool`). Names are such that there is one at the
    /// most.
    pub(super) fn server_of(&self, full: &str) -> Option<&Arc<Served>> {
        let mut servers = self.served();
        servers.find(|served| rest_of(full, served.name()).is_some())
    }

    /// The tool of that name (`server__tool`), which may be called.
    pub(crate) async fn find(&self, full: &str) -> Result<(Arc<Served>, Arc<KnownTool>), Error> {
        let unknown = || Error::unknown_tool(full, self.near(full));
        let served = self.server_of(full).ok_or_else(|| {
            let server = full.split_once("__").map(|(server, _)| server);
            let wrong = server.filter(|server| !server.is_empty());
            wrong
                .and_then(|server| self.server(server).err())
                .unwrap_or_else(unknown)
        })?;
        let known = match self.refresh(served, Fresh::Cached).await {
            Ok(known) => known,
            Err(error) => return self.stand_in(served, full).await.ok_or(error),
        };
        let tool = named(&known, full, served.name()).ok_or_else(unknown)?;
        Ok((served.clone(), usable(served, &tool)?))
    }

    /// The tool of the server that stands in for one that can't be asked what it has.
    async fn stand_in(&self, served: &Served, full: &str) -> Option<(Arc<Served>, Arc<KnownTool>)> {
        let other = self.server(served.about.fallback.as_deref()?).ok()?;
        let tool = rest_of(full, served.name())?;
        let found = self.find_of(other.name(), tool).await.ok()?;
        Some((other.clone(), found))
    }

    /// The tool of that name of that server, which may be called.
    pub(crate) async fn find_of(&self, server: &str, tool: &str) -> Result<Arc<KnownTool>, Error> {
        let served = self.server(server)?;
        let known = self.refresh(served, Fresh::Cached).await?;
        if let Some(found) = known.get(tool) {
            return usable(served, found);
        }
        let full = deliberate_adapter::adapter::joined(server, tool);
        Err(Error::unknown_tool(&full, self.near(&full)))
    }

    /// Whether a name is that of another server's tool, as far as that is known: of a server that
    /// was not asked yet any may be.
    pub(crate) fn may_be_tool(&self, full: &str) -> bool {
        self.server_of(full).is_some_and(|served| {
            let known = served.known();
            known.is_none_or(|known| named(&known, full, served.name()).is_some())
        })
    }

    /// The tools whose names a pattern fits, of those that can be called. Their servers are asked
    /// if they were not yet.
    pub(crate) async fn matching(self: &Arc<Self>, pattern: &str) -> Vec<Guest> {
        let start = pattern.strip_suffix('*');
        let concerned = |served: &Served| {
            let prefix = format!("{}__", served.name());
            let open = start.is_some_and(|start| prefix.starts_with(start));
            open || pattern.starts_with(&prefix)
        };
        let servers: Vec<_> = self.served().filter(|it| concerned(it)).cloned().collect();
        self.ask_all(&servers, PATIENCE).await;
        let known = servers.iter().filter_map(|served| served.known());
        let usable = known
            .flat_map(|known| known.tools.clone())
            .filter(|tool| tool.kept_back.is_none());
        usable
            .filter(|tool| fits(pattern, &tool.full))
            .map(|tool| Guest {
                name: tool.full.clone(),
                definition: tool.shown.clone(),
            })
            .collect()
    }

    /// Tools whose names are like that one, of those that are known.
    fn near(&self, full: &str) -> Vec<String> {
        const MOST: usize = 3;
        let tools = self.usable_tools(None);
        let names = || tools.iter().map(|tool| tool.full.as_ref());
        let bare = |tool: &&Arc<KnownTool>| tool.def.name == full;
        let mut near: Vec<String> = tools
            .iter()
            .filter(bare)
            .map(|tool| tool.full.to_string())
            .collect();
        near.extend(deliberate_core::nearest(full, names()));
        let entries: Vec<&search::Entry> = tools.iter().map(|tool| tool.entry.as_ref()).collect();
        let ranked = search::rank(full, &entries);
        near.extend(
            ranked
                .iter()
                .filter_map(|(at, _)| tools.get(*at))
                .map(|tool| tool.full.to_string()),
        );
        let mut seen = std::collections::BTreeSet::new();
        near.retain(|name| seen.insert(name.clone()));
        near.truncate(MOST);
        near
    }

    fn usable_tools(&self, server: Option<&str>) -> Vec<Arc<KnownTool>> {
        self.served()
            .filter(|served| server.is_none_or(|name| name == served.name()))
            .filter_map(|served| served.known())
            .flat_map(|known| known.tools.clone())
            .filter(|tool| tool.kept_back.is_none())
            .collect()
    }

    /// Makes sure that the tools of all servers are known, or of one, as far as that is possible in
    /// a short time; says of which they are not.
    pub(crate) async fn gather(self: &Arc<Self>, server: Option<&str>) -> Vec<Unreached> {
        let wanted = self
            .served()
            .filter(|served| server.is_none_or(|name| name == served.name()));
        let servers: Vec<_> = wanted.cloned().collect();
        self.ask_all(&servers, self.search_wait).await
    }

    async fn ask_all(self: &Arc<Self>, servers: &[Arc<Served>], wait: Duration) -> Vec<Unreached> {
        let each = servers.iter().map(|served| async move {
            let known = served.known().is_some();
            // A server that was waited for in vain holds nobody up again.
            let in_vain = wait < PATIENCE && served.in_vain.load(Ordering::Relaxed);
            let wait = if known || in_vain { KNOWN_WAIT } else { wait };
            let (gateway, server) = (self.clone(), served.clone());
            // Goes on after who asks has given up, for the next one.
            let asked = tokio::spawn(async move { gateway.refresh(&server, Fresh::Cached).await });
            let same = |why: &str| (why.to_owned(), why.to_owned());
            let (why, outward) = match tokio::time::timeout(wait, asked).await {
                Ok(Ok(Ok(_))) => return None,
                Ok(Ok(Err(error))) => {
                    let why = error.to_string();
                    (why, ToolError::from(error).outward().to_string())
                }
                Ok(Err(_)) => same("it could not be asked"),
                Err(_) => {
                    served.in_vain.store(true, Ordering::Relaxed);
                    same("it has not answered yet; search again in a while")
                }
            };
            (!known).then(|| Unreached {
                server: served.name().to_owned(),
                why,
                outward,
            })
        });
        join_all(each).await.into_iter().flatten().collect()
    }

    /// The tools that words find.
    pub(crate) async fn search(
        self: &Arc<Self>,
        query: &str,
        server: Option<&str>,
        limit: usize,
    ) -> Found {
        let unavailable = self.gather(server).await;
        let all: Vec<Arc<KnownTool>> = self
            .served()
            .filter(|served| server.is_none_or(|name| name == served.name()))
            .filter_map(|served| served.known())
            .flat_map(|known| known.tools.clone())
            .collect();
        let entries: Vec<&search::Entry> = all.iter().map(|tool| tool.entry.as_ref()).collect();
        let exact = all
            .iter()
            .filter(|tool| *tool.full == *query || tool.def.name == query);
        let ranked = search::rank(query, &entries);
        let ranked = ranked.iter().filter_map(|(at, _)| all.get(*at));
        let mut seen = std::collections::BTreeSet::new();
        let (mut tools, mut kept_back) = (Vec::new(), Vec::new());
        for tool in exact
            .chain(ranked)
            .filter(|tool| seen.insert(tool.full.clone()))
        {
            if tools.len() == limit {
                break;
            }
            match tool.kept_back {
                None => tools.push(tool.clone()),
                Some(_) => kept_back.push(tool.full.clone()),
            }
        }
        kept_back.truncate(limit);
        Found {
            tools,
            kept_back,
            unavailable,
        }
    }
}

fn rest_of<'a>(full: &'a str, server: &str) -> Option<&'a str> {
    full.strip_prefix(server)?.strip_prefix("__")
}

fn named(known: &Known, full: &str, server: &str) -> Option<Arc<KnownTool>> {
    let by_rest = rest_of(full, server).and_then(|rest| known.get(rest));
    by_rest
        .or_else(|| known.tools.iter().find(|tool| &*tool.full == full))
        .cloned()
}

fn usable(served: &Served, tool: &Arc<KnownTool>) -> Result<Arc<KnownTool>, Error> {
    match tool.kept_back {
        None => Ok(tool.clone()),
        Some(why) => Err(Error::KeptBack {
            server: served.name().to_owned(),
            tool: match tool.def.name.as_str() {
                short if short.len() <= 80 => short.to_owned(),
                _ => tool.full.to_string(),
            },
            why: why.why().to_owned(),
        }),
    }
}
