//! Lists and evaluates the upstream servers' tools and keeps the catalogs current.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, PoisonError, Weak, atomic::Ordering},
    time::Duration,
};

use deliberate_mcp_client::{
    ClientErrorKind,
    client::{CachePolicy, ToolList},
};
use deliberate_toolkit::{ExternalTool, compute};
use tokio::time::Instant;

use super::{
    CatalogTool, Gateway, ToolCatalog, Upstream,
    tool_catalog::{self, UpstreamListing},
};
use crate::GatewayError;

/// The interval of checking the pins again while a tool is quarantined.
const PIN_RECHECK: Duration = Duration::from_secs(1);
/// The same interval in the background.
const PIN_RECHECK_IDLE: Duration = Duration::from_secs(5);
/// The interval of listing the tools in the background if nothing changed.
const IDLE_REFRESH: Duration = Duration::from_mins(5);
/// A list of this age is reused, whatever its server says about caching.
const LISTING_REUSE: Duration = Duration::from_secs(3);
/// The interval in which repeated change notifications of a server are handled once.
const CHANGE_DEBOUNCE: Duration = Duration::from_millis(200);
const MIN_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_mins(1);

impl Gateway {
    /// Connects the servers with exposed tools in the background and keeps their catalogs current
    /// until [`Gateway::stop`].
    pub fn start(self: &Arc<Self>) {
        self.started_at.get_or_init(Instant::now);
        for upstream in self.upstreams() {
            self.start_refreshing(&upstream);
        }
    }

    /// Keeps the catalog of a server with exposed tools current until it is removed.
    pub(super) fn start_refreshing(self: &Arc<Self>, upstream: &Arc<Upstream>) {
        if !upstream.settings.expose.exposes_any() {
            return;
        }
        let (gateway, upstream) = (Arc::downgrade(self), upstream.clone());
        let (stopped, removed) = (self.shutdown.clone(), upstream.removed.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = removed.cancelled() => {}
                () = refresh_loop(gateway, upstream, stopped) => {}
            }
        });
    }

    /// Returns a server's catalog, listing and evaluating its tools if necessary.
    pub(crate) async fn refresh(
        &self,
        served: &Arc<Upstream>,
        fresh: CachePolicy,
    ) -> Result<Arc<ToolCatalog>, GatewayError> {
        let listed = self.fetch_listing(served, fresh).await?;
        if let Some(known) = served.catalog().filter(|it| it.is_current(&listed.list)) {
            return Ok(known);
        }
        let _judging = served.evaluation_lock.lock().await;
        let before = served.catalog();
        if let Some(known) = before.clone().filter(|it| it.is_current(&listed.list)) {
            return Ok(known);
        }
        self.evaluate(served, listed, before).await
    }

    /// Lists a server's tools. A recent list is reused even if the server forbids caching, unless
    /// an event was received since.
    async fn fetch_listing(
        &self,
        served: &Upstream,
        fresh: CachePolicy,
    ) -> Result<UpstreamListing, GatewayError> {
        let heard = served.activity.change_count();
        let recent = served.catalog().filter(|known| {
            let listed = &known.listing;
            fresh == CachePolicy::Cached
                && !listed.is_stored
                && listed.change_count == heard
                && listed.fetched_at.elapsed() < LISTING_REUSE
        });
        if let Some(known) = recent {
            return Ok(known.listing.clone());
        }
        Ok(UpstreamListing {
            list: served.clients.shared().tools(fresh).await?,
            fetched_at: Instant::now(),
            change_count: heard,
            is_stored: false,
        })
    }

    /// Checks the pins again, even if nothing else has changed.
    pub(super) async fn reevaluate(&self, served: &Arc<Upstream>) -> Result<(), GatewayError> {
        let _judging = served.evaluation_lock.lock().await;
        if let Some(known) = served.catalog() {
            self.evaluate(served, known.listing.clone(), Some(known))
                .await?;
        }
        Ok(())
    }

    /// Evaluates each tool of a list and publishes the catalog.
    pub(super) async fn evaluate(
        &self,
        served: &Arc<Upstream>,
        listed: UpstreamListing,
        before: Option<Arc<ToolCatalog>>,
    ) -> Result<Arc<ToolCatalog>, GatewayError> {
        let (offering, of, then) = (listed.list.clone(), served.clone(), before.clone());
        let read = move || tool_catalog::parse_tools(&offering, &of.settings, then.as_deref());
        let read = compute(read).await;
        let read = read.map_err(|_| {
            deliberate_mcp_client::ClientError::new(served.name(), ClientErrorKind::Stopped)
        })?;
        let offered: Vec<_> = read
            .iter()
            .map(tool_catalog::ParsedTool::to_offered)
            .collect();
        let anew = before
            .as_ref()
            .is_none_or(|known| known.has_quarantined || !known.pins_read);
        let settled = served
            .pins
            .check(&offered, anew, served.settings.pin_policy())
            .await;
        if !listed.is_stored {
            served.definitions.write(&listed.list).await;
        }
        let names = self.tool_owners();
        let owner = |word: &str| other_owner(&names, served.name(), word);
        let known = Arc::new(ToolCatalog::new(
            listed,
            read,
            settled,
            &served.settings,
            &owner,
        ));
        for tool in known.newly_quarantined(before.as_deref()) {
            if !self.quiet {
                tracing::warn!(server = served.name(), tool = %tool.qualified_name, "a tool is quarantined until it is approved");
            }
        }
        served.set_catalog(known.clone());
        self.publish();
        Ok(served.catalog().unwrap_or(known))
    }

    fn collect_tool_owners(&self) -> HashMap<String, BTreeSet<String>> {
        let mut names: HashMap<String, BTreeSet<String>> = HashMap::new();
        for served in self.upstreams() {
            let Some(known) = served.catalog() else {
                continue;
            };
            for tool in &known.tools {
                let owners = names.entry(tool.def.name.clone()).or_default();
                owners.insert(served.name().to_owned());
            }
        }
        names
    }

    fn tool_owners(&self) -> Arc<HashMap<String, BTreeSet<String>>> {
        let names = self
            .tool_owners
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        names.clone()
    }

    /// Publishes the names and exposed tools of all servers.
    pub(super) fn publish(&self) {
        // The last publication must reflect the last evaluation.
        let _spreading = self
            .publish_lock
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let names = Arc::new(self.collect_tool_owners());
        if *names != *self.tool_owners() {
            *self
                .tool_owners
                .write()
                .unwrap_or_else(PoisonError::into_inner) = names.clone();
            for served in self.upstreams() {
                let owner = |word: &str| other_owner(&names, served.name(), word);
                served.reevaluate(&owner);
            }
        }
        let external: Arc<[ExternalTool]> = self.collect_external_tools().into();
        let changed = {
            let mut now = self
                .external_tools
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            let changed = *now != external;
            *now = external;
            changed
        };
        if changed {
            self.notify_listeners();
        }
    }

    /// Tells the listeners that the tools have changed.
    pub(super) fn notify_listeners(&self) {
        let hears = self
            .listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        hears.iter().for_each(|hear| hear());
    }

    fn collect_external_tools(&self) -> Vec<ExternalTool> {
        let mut taken = BTreeSet::new();
        let mut tools = Vec::new();
        let upstreams = self.upstreams();
        for upstream in &upstreams {
            let declared = match upstream.catalog() {
                Some(known) => known.tools.clone(),
                // Before it was tried, the server's own may still come.
                None if !upstream.activity.list_failed.load(Ordering::Relaxed) => continue,
                None => self.fallback_tools(upstream),
            };
            for tool in &declared {
                let seen = tool.exposed && tool.quarantine.is_none();
                if seen && taken.insert(tool.qualified_name.clone()) {
                    tools.push(ExternalTool {
                        name: tool.qualified_name.clone(),
                        definition: tool.exposed_definition.clone(),
                    });
                }
            }
        }
        tools
    }
}

/// Returns another server that has a tool of this name, if the server itself has none.
fn other_owner(
    names: &HashMap<String, BTreeSet<String>>,
    server: &str,
    word: &str,
) -> Option<String> {
    let owners = names.get(word)?;
    if owners.contains(server) {
        return None;
    }
    owners.first().cloned()
}

impl ToolCatalog {
    /// Returns the tools that are quarantined now and were not before.
    fn newly_quarantined(&self, before: Option<&Self>) -> impl Iterator<Item = &Arc<CatalogTool>> {
        let was = move |tool: &CatalogTool| {
            let then = before.and_then(|before| before.get(&tool.def.name));
            then.is_some_and(|then| then.quarantine.is_some())
        };
        let kept_back = self.tools.iter().filter(|tool| tool.quarantine.is_some());
        kept_back.filter(move |tool| !was(tool))
    }

    /// Returns true if the catalog was made from this list and no approval may have happened since.
    fn is_current(&self, list: &Arc<ToolList>) -> bool {
        let look_again = self.has_quarantined || !self.pins_read;
        Arc::ptr_eq(&self.listing.list, list)
            && !(look_again && self.pins_checked_at.elapsed() >= PIN_RECHECK)
    }
}

/// Keeps one server's catalog current. An unreachable server is retried with exponential backoff.
async fn refresh_loop(
    gateway: Weak<Gateway>,
    upstream: Arc<Upstream>,
    stopped: tokio_util::sync::CancellationToken,
) {
    let mut rest = MIN_BACKOFF;
    loop {
        // After a reconnect the server may be another version.
        let fresh = if upstream.activity.reconnected.swap(false, Ordering::Relaxed) {
            CachePolicy::Refresh
        } else {
            CachePolicy::Cached
        };
        let outcome = {
            let Some(gateway) = gateway.upgrade() else {
                return;
            };
            tokio::select! {
                biased;
                () = stopped.cancelled() => return,
                outcome = gateway.refresh_with_fallback(&upstream, fresh) => outcome,
            }
        };
        upstream.listed_once.send_replace(true);
        let wait = match &outcome {
            Ok(known) => {
                rest = MIN_BACKOFF;
                if known.has_quarantined || !known.pins_read {
                    PIN_RECHECK_IDLE
                } else {
                    IDLE_REFRESH
                }
            }
            Err(error) => {
                tracing::debug!(
                    server = upstream.name(),
                    code = error.code(),
                    "could not list tools"
                );
                rest = (rest * 2).min(MAX_BACKOFF);
                rest
            }
        };
        let begun = Instant::now();
        tokio::select! {
            biased;
            () = stopped.cancelled() => return,
            () = upstream.activity.changed.notified() => {
                // The disconnect event of a failed attempt must not trigger the next attempt.
                let calm = if outcome.is_ok() { CHANGE_DEBOUNCE } else { wait };
                tokio::select! {
                    biased;
                    () = stopped.cancelled() => return,
                    () = tokio::time::sleep_until(begun + calm) => {}
                }
            }
            () = tokio::time::sleep(wait) => {}
        }
    }
}
