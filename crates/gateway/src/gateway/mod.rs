//! The gateway: its upstream servers, their tools, and which of them may be used.
//!
//! `reload` builds the set of servers, `server_validation` selects the usable ones, `client_pool`
//! holds their connections, `tool_catalog` holds one server's tools,
//! `stored_definitions` fills the catalogs at the start, `refresh` keeps them current, `tool_lookup`
//! finds tools, `visibility` tells which a caller sees, `call_tool` calls them,
//! `input_rounds` relays requests during a call, `inspect` and `server_status` are for the operator. Servers are
//! independent: a slow one delays no other.

mod call_tool;
mod client_pool;
mod input_rounds;
mod inspect;
mod refresh;
mod reload;
mod resource_links;
mod server_methods;
mod server_status;
mod server_validation;
mod stored_definitions;
mod tool_catalog;
mod tool_lookup;
mod visibility;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{
        Arc, Mutex, OnceLock, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use deliberate_core::Clock;
use deliberate_mcp_client::{
    McpClient,
    client::{ClientCapabilities, ClientHandler, ClientStatus, ServerEvent},
    config::{ConfigProblem, ServerConfigError},
};
use deliberate_store::Store;
use deliberate_toolkit::ExternalTool;
use futures::future::join_all;
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

pub(crate) use call_tool::{CallTarget, UpstreamCall};
use client_pool::ClientPool;
pub(crate) use input_rounds::{ClientToolCall, ResumedCall};
pub use inspect::{ServerReport, ToolReport, ToolStatus};
pub use reload::ReloadReport;
pub(crate) use resource_links::ResourceLinks;
pub(crate) use server_methods::ServerMethod;
pub use server_status::{UpstreamConnection, UpstreamStatus};
pub(crate) use tool_catalog::{CatalogTool, ToolCatalog};
pub(crate) use tool_lookup::{ToolSearchResult, UnreachableServer};
pub(crate) use visibility::CallerView;

use super::client_requests::SuspendedUpstreamCalls;
use crate::{GatewayOptions, GatewayServer, pins::PinStore};
use stored_definitions::DefinitionStore;

/// Gives access to the tools of upstream servers.
pub struct Gateway {
    set: RwLock<Arc<ServerSet>>,
    clients: ClientFactory,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    /// The servers that have a tool of a given name.
    tool_owners: RwLock<Arc<HashMap<String, BTreeSet<String>>>>,
    external_tools: RwLock<Arc<[ExternalTool]>>,
    publish_lock: Mutex<()>,
    reload_lock: tokio::sync::Mutex<()>,
    listeners: Mutex<Vec<Box<dyn Fn() + Send + Sync>>>,
    pub(crate) suspended_calls: SuspendedUpstreamCalls,
    pub(crate) resource_links: ResourceLinks,
    pub(crate) search_wait: Duration,
    quiet: bool,
    principal_share: usize,
    /// When the servers with exposed tools began to be connected.
    started_at: OnceLock<Instant>,
    shutdown: CancellationToken,
}

/// Creates the client of a server.
type ClientFactory = Arc<
    dyn Fn(
            &GatewayServer,
            Arc<dyn ClientHandler>,
        ) -> Result<McpClient, deliberate_mcp_client::ClientError>
        + Send
        + Sync,
>;

/// The servers at one time. A reload replaces the whole set.
#[derive(Default)]
pub(crate) struct ServerSet {
    servers: BTreeMap<String, Arc<Upstream>>,
    /// The reasons why other servers are excluded.
    excluded: BTreeMap<String, String>,
    /// The servers that may ask a client's model.
    sampling_servers: Arc<BTreeSet<String>>,
}

/// An upstream server and its state.
pub(crate) struct Upstream {
    pub(crate) settings: GatewayServer,
    pub(crate) clients: ClientPool,
    pins: PinStore,
    definitions: DefinitionStore,
    /// Whether the tools are known, or listing them was tried.
    listed_once: watch::Sender<bool>,
    catalog: RwLock<Option<Arc<ToolCatalog>>>,
    /// Only one caller evaluates the tools; the others wait and take its result.
    evaluation_lock: tokio::sync::Mutex<()>,
    activity: Arc<UpstreamActivity>,
    /// Whether a search waited for this server in vain.
    timed_out: AtomicBool,
    /// Cancelled when the server is no longer used.
    removed: CancellationToken,
}

/// The events that a server reported.
#[derive(Default)]
struct UpstreamActivity {
    /// Notified when something changed.
    changed: Notify,
    /// Counts the events that may have changed the list of tools.
    change_count: AtomicU64,
    /// Whether there was a connection before.
    connected: AtomicBool,
    /// Whether the server reconnected since the list was requested.
    reconnected: AtomicBool,
    /// Whether listing the tools was tried in vain.
    list_failed: AtomicBool,
}

impl UpstreamActivity {
    fn on_event(&self, event: &ServerEvent) {
        match event {
            ServerEvent::ToolsChanged | ServerEvent::Disconnected => {}
            ServerEvent::Connected => {
                let before = self.connected.swap(true, Ordering::Relaxed);
                self.reconnected.fetch_or(before, Ordering::Relaxed);
            }
            _ => return,
        }
        self.change_count.fetch_add(1, Ordering::Relaxed);
        self.changed.notify_one();
    }

    fn change_count(&self) -> u64 {
        self.change_count.load(Ordering::Relaxed)
    }
}

impl Upstream {
    pub(crate) fn name(&self) -> &str {
        &self.settings.config.name
    }

    /// Returns the maximum duration of one call at this server.
    fn longest_call(&self) -> Duration {
        let limits = &self.settings.config.limits;
        limits.total_timeout.saturating_add(limits.connect_timeout)
    }

    pub(crate) fn catalog(&self) -> Option<Arc<ToolCatalog>> {
        let known = self.catalog.read().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }

    fn set_catalog(&self, known: Arc<ToolCatalog>) {
        *self.catalog.write().unwrap_or_else(PoisonError::into_inner) = Some(known);
    }

    /// Evaluates the findings again, because the tools of other servers changed.
    fn reevaluate(&self, owner: &dyn Fn(&str) -> Option<String>) {
        let mut known = self.catalog.write().unwrap_or_else(PoisonError::into_inner);
        let again = known
            .as_ref()
            .and_then(|known| known.reevaluated(&self.settings, owner));
        if let Some(again) = again {
            *known = Some(Arc::new(again));
        }
    }
}

/// The client handler of an upstream server: declares capabilities and records events. It answers
/// no requests, because outside a call there is no client to ask.
struct UpstreamHandler {
    sampling: bool,
    activity: Arc<UpstreamActivity>,
}

impl ClientHandler for UpstreamHandler {
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities {
            sampling: self.sampling,
            elicitation: true,
            elicitation_url: true,
            roots: true,
        }
    }

    fn on_server_event(&self, _: &str, event: ServerEvent) {
        self.activity.on_event(&event);
    }
}

impl Gateway {
    /// Creates a gateway and reports all configuration problems. Does not connect.
    pub fn new(options: GatewayOptions) -> Result<Arc<Self>, ServerConfigError> {
        Self::with_clients(options, default_client)
    }

    /// Creates a gateway with custom clients, for example with another transport.
    pub fn with_clients(
        options: GatewayOptions,
        client: impl Fn(
            &GatewayServer,
            Arc<dyn ClientHandler>,
        ) -> Result<McpClient, deliberate_mcp_client::ClientError>
        + Send
        + Sync
        + 'static,
    ) -> Result<Arc<Self>, ServerConfigError> {
        let (gateway, mistakes) = Self::with_usable_servers(options, client);
        if mistakes.is_empty() {
            Ok(gateway)
        } else {
            Err(mistakes.into())
        }
    }

    /// Creates a gateway to the usable servers with custom clients, and returns the problems of the
    /// others.
    pub fn with_usable_servers(
        options: GatewayOptions,
        client: impl Fn(
            &GatewayServer,
            Arc<dyn ClientHandler>,
        ) -> Result<McpClient, deliberate_mcp_client::ClientError>
        + Send
        + Sync
        + 'static,
    ) -> (Arc<Self>, Vec<ConfigProblem>) {
        let gateway = Self {
            set: RwLock::default(),
            clients: Arc::new(client),
            store: options.store,
            clock: options.clock,
            tool_owners: RwLock::default(),
            external_tools: RwLock::new(Arc::from([])),
            publish_lock: Mutex::default(),
            reload_lock: tokio::sync::Mutex::default(),
            listeners: Mutex::default(),
            suspended_calls: SuspendedUpstreamCalls::default(),
            resource_links: ResourceLinks::default(),
            search_wait: options.search_wait,
            quiet: options.quiet,
            principal_share: options.principal_share,
            started_at: OnceLock::new(),
            shutdown: CancellationToken::new(),
        };
        let (set, problems) = gateway.build_set(options.servers, options.excluded);
        *gateway.set.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(set);
        (Arc::new(gateway), problems)
    }

    /// Registers a callback for changes of the exposed tools.
    pub fn on_change(&self, hear: Box<dyn Fn() + Send + Sync>) {
        let mut hears = self
            .listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        hears.push(hear);
    }

    /// Closes all connections and terminates the programs that were started.
    pub async fn stop(&self) {
        self.shutdown.cancel();
        self.suspended_calls.clear();
        let upstreams = self.upstreams();
        join_all(upstreams.iter().map(|upstream| upstream.clients.close())).await;
    }

    pub fn names(&self) -> Vec<String> {
        self.set().servers.keys().cloned().collect()
    }

    /// Tells whether any server is configured, usable or not.
    pub(crate) fn has_servers(&self) -> bool {
        let set = self.set();
        !(set.servers.is_empty() && set.excluded.is_empty())
    }

    /// Returns the status of each server's shared connection without asking it.
    pub fn status(&self) -> Vec<ClientStatus> {
        let upstreams = self.upstreams();
        upstreams
            .iter()
            .map(|upstream| upstream.clients.shared().status())
            .collect()
    }

    pub(crate) fn set(&self) -> Arc<ServerSet> {
        self.set
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn sampling_servers(&self) -> Arc<BTreeSet<String>> {
        self.set().sampling_servers.clone()
    }

    /// Returns the exposed tools that are known so far.
    pub(crate) fn external_tools(&self) -> Arc<[ExternalTool]> {
        let tools = self
            .external_tools
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        tools.clone()
    }

    pub(crate) fn upstreams(&self) -> Vec<Arc<Upstream>> {
        self.set().servers.values().cloned().collect()
    }

    pub(crate) fn upstream(&self, name: &str) -> Result<Arc<Upstream>, crate::GatewayError> {
        let set = self.set();
        if let Some(upstream) = set.servers.get(name) {
            return Ok(upstream.clone());
        }
        Err(match set.excluded.get(name) {
            Some(why) => crate::GatewayError::ExcludedServer {
                server: name.to_owned(),
                why: why.clone(),
            },
            None => crate::GatewayError::UnknownServer {
                name: deliberate_core::truncate_chars(name, 80),
                nearest: deliberate_core::did_you_mean(
                    name,
                    set.servers.keys().map(String::as_str),
                ),
                all: set.servers.keys().cloned().collect(),
            },
        })
    }
}

impl ServerSet {
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Upstream>> {
        self.servers.get(name)
    }
}

fn default_client(
    server: &GatewayServer,
    handler: Arc<dyn ClientHandler>,
) -> Result<McpClient, deliberate_mcp_client::ClientError> {
    McpClient::new(server.config.clone(), handler)
}
