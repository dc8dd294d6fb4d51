//! The gateway: its upstream servers, their tools, and which of them may be used.
//!
//! `server_validation` selects the usable servers, `tool_catalog` holds one server's tools,
//! `stored_definitions` fills the catalogs at the start, `refresh` keeps them current, `tool_lookup`
//! finds tools, `call_tool` calls them,
//! `input_rounds` relays requests during a call, `inspect` is for the operator. Servers are
//! independent: a slow one delays no other.

mod call_tool;
mod input_rounds;
mod inspect;
mod refresh;
mod server_validation;
mod stored_definitions;
mod tool_catalog;
mod tool_lookup;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{
        Arc, Mutex, OnceLock, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use deliberate_mcp_client::{
    McpClient,
    client::{ClientCapabilities, ClientHandler, ClientStatus, ServerEvent},
    config::{ConfigProblem, ServerConfigError},
};
use deliberate_toolkit::ExternalTool;
use futures::future::join_all;
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

pub(crate) use call_tool::UpstreamCall;
pub(crate) use input_rounds::{ClientToolCall, ResumedCall};
pub use inspect::{ServerReport, ToolReport, ToolStatus};
pub(crate) use tool_catalog::{CatalogTool, ToolCatalog};
pub(crate) use tool_lookup::{ToolSearchResult, UnreachableServer};

use super::client_requests::SuspendedUpstreamCalls;
use crate::{GatewayOptions, GatewayServer, pins::PinStore};
use server_validation::ValidatedServers;
use stored_definitions::DefinitionStore;

/// Gives access to the tools of upstream servers.
pub struct Gateway {
    clients: Arc<BTreeMap<String, McpClient>>,
    servers: BTreeMap<String, Arc<Upstream>>,
    /// The reasons why other servers are excluded.
    excluded: BTreeMap<String, String>,
    /// The servers that may ask a client's model.
    sampling_servers: Arc<BTreeSet<String>>,
    /// The servers that have a tool of a given name.
    tool_owners: RwLock<Arc<HashMap<String, BTreeSet<String>>>>,
    external_tools: RwLock<Arc<[ExternalTool]>>,
    publish_lock: Mutex<()>,
    listeners: Mutex<Vec<Box<dyn Fn() + Send + Sync>>>,
    pub(crate) suspended_calls: SuspendedUpstreamCalls,
    pub(crate) search_wait: Duration,
    quiet: bool,
    /// When the servers with exposed tools began to be connected.
    started_at: OnceLock<Instant>,
    shutdown: CancellationToken,
}

/// An upstream server and its state.
pub(crate) struct Upstream {
    pub(crate) settings: GatewayServer,
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

    /// Creates a gateway to the usable servers with custom clients, and returns the problems of the
    /// others.
    pub fn with_usable_servers(
        options: GatewayOptions,
        client: impl Fn(
            &GatewayServer,
            Arc<dyn ClientHandler>,
        ) -> Result<McpClient, deliberate_mcp_client::ClientError>,
    ) -> (Arc<Self>, Vec<ConfigProblem>) {
        Self::build(options, client)
    }

    /// Creates a gateway with custom clients, for example with another transport.
    pub fn with_clients(
        options: GatewayOptions,
        client: impl Fn(
            &GatewayServer,
            Arc<dyn ClientHandler>,
        ) -> Result<McpClient, deliberate_mcp_client::ClientError>,
    ) -> Result<Arc<Self>, ServerConfigError> {
        let (gateway, mistakes) = Self::build(options, client);
        if mistakes.is_empty() {
            Ok(gateway)
        } else {
            Err(mistakes.into())
        }
    }

    fn build(
        options: GatewayOptions,
        client: impl Fn(
            &GatewayServer,
            Arc<dyn ClientHandler>,
        ) -> Result<McpClient, deliberate_mcp_client::ClientError>,
    ) -> (Arc<Self>, Vec<ConfigProblem>) {
        let mut sifted = ValidatedServers::validate(options.servers);
        let mut clients = BTreeMap::new();
        for about in std::mem::take(&mut sifted.servers) {
            let news = Arc::new(UpstreamActivity::default());
            let handler = UpstreamHandler {
                sampling: about.sampling,
                activity: news.clone(),
            };
            let name = about.config.name.clone();
            match client(&about, Arc::new(handler)) {
                Ok(client) => {
                    clients.insert(name, (client, news));
                    sifted.servers.push(about);
                }
                Err(error) => sifted.exclude(&name, config_problems(&name, error)),
            }
        }
        sifted.drop_missing_fallbacks();
        let served = |about: GatewayServer| {
            let (client, news) = clients.remove(&about.config.name)?;
            let upstream = Upstream {
                pins: PinStore::new(client.name(), options.store.clone(), options.clock.clone()),
                definitions: DefinitionStore::new(
                    client.name(),
                    options.store.clone(),
                    options.clock.clone(),
                ),
                listed_once: watch::Sender::new(false),
                settings: about,
                catalog: RwLock::default(),
                evaluation_lock: tokio::sync::Mutex::default(),
                activity: news,
                timed_out: AtomicBool::new(false),
            };
            Some((client, Arc::new(upstream)))
        };
        let (clients, upstreams): (Vec<_>, Vec<_>) =
            sifted.servers.into_iter().filter_map(served).unzip();
        let samplers = upstreams.iter().filter(|it| it.settings.sampling);
        let mut left_out = options.excluded;
        left_out.extend(sifted.excluded);
        let gateway = Self {
            clients: Arc::new(
                clients
                    .into_iter()
                    .map(|client| (client.name().to_owned(), client))
                    .collect(),
            ),
            sampling_servers: Arc::new(samplers.map(|it| it.name().to_owned()).collect()),
            servers: upstreams
                .into_iter()
                .map(|it| (it.name().to_owned(), it))
                .collect(),
            excluded: left_out,
            tool_owners: RwLock::default(),
            external_tools: RwLock::new(Arc::from([])),
            publish_lock: Mutex::default(),
            listeners: Mutex::default(),
            suspended_calls: SuspendedUpstreamCalls::default(),
            search_wait: options.search_wait,
            quiet: options.quiet,
            started_at: OnceLock::new(),
            shutdown: CancellationToken::new(),
        };
        (Arc::new(gateway), sifted.problems)
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
        join_all(self.clients.values().map(McpClient::close)).await;
    }

    pub fn names(&self) -> Vec<&str> {
        self.servers.keys().map(String::as_str).collect()
    }

    /// Returns the status of each server without asking it.
    pub fn status(&self) -> Vec<ClientStatus> {
        self.clients.values().map(McpClient::status).collect()
    }

    /// Returns the exposed tools that are known so far.
    pub(crate) fn external_tools(&self) -> Arc<[ExternalTool]> {
        let tools = self
            .external_tools
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        tools.clone()
    }

    pub(crate) fn upstreams(&self) -> impl Iterator<Item = &Arc<Upstream>> {
        self.servers.values()
    }

    pub(crate) fn upstream(&self, name: &str) -> Result<&Arc<Upstream>, crate::GatewayError> {
        self.servers
            .get(name)
            .ok_or_else(|| match self.excluded.get(name) {
                Some(why) => crate::GatewayError::ExcludedServer {
                    server: name.to_owned(),
                    why: why.clone(),
                },
                None => self.unknown_server(name),
            })
    }

    fn unknown_server(&self, name: &str) -> crate::GatewayError {
        crate::GatewayError::UnknownServer {
            name: deliberate_core::truncate_chars(name, 80),
            nearest: deliberate_core::did_you_mean(name, self.servers.keys().map(String::as_str)),
            all: self.servers.keys().cloned().collect(),
        }
    }

    fn client(&self, server: &Upstream) -> Result<&McpClient, crate::GatewayError> {
        let client = self.clients.get(server.name());
        client.ok_or_else(|| self.unknown_server(server.name()))
    }
}

fn default_client(
    server: &GatewayServer,
    handler: Arc<dyn ClientHandler>,
) -> Result<McpClient, deliberate_mcp_client::ClientError> {
    McpClient::new(server.config.clone(), handler)
}

fn config_problems(server: &str, error: deliberate_mcp_client::ClientError) -> Vec<ConfigProblem> {
    match error.kind {
        deliberate_mcp_client::ClientErrorKind::Config(error) => error.problems,
        _ => vec![ConfigProblem::new(
            format!("servers.{server}"),
            error.to_string(),
        )],
    }
}
