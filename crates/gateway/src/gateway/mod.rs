//! The servers there are, what each offers, and what may be used of it.
//!
//! `sift` finds out which servers can be used together, `known` is what is known of one server's tools, `refresh` finds that out and keeps it current,
//! `find` finds tools, `calling` calls them, `rounds` goes through what is asked
//! meanwhile, `looking` is for whoever runs the program. Every
//! server is on its own: nobody waits for one because of another.

mod call_tool;
mod input_rounds;
mod inspect;
mod refresh;
mod server_validation;
mod tool_catalog;
mod tool_lookup;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use deliberate_adapter::{
    McpClient,
    adapter::{Adapter, AdapterConfig},
    client::{ClientCapabilities, ClientHandler, ClientStatus, ServerEvent},
    config::{ConfigProblem, ServerConfigError},
};
use deliberate_toolkit::ExternalTool;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

pub(crate) use call_tool::UpstreamCall;
pub(crate) use input_rounds::{ClientToolCall, ResumedCall};
pub use inspect::{ServerReport, ToolReport, ToolStatus};
pub(crate) use tool_catalog::{CatalogTool, ToolCatalog};
pub(crate) use tool_lookup::{ToolSearchResult, UnreachableServer};

use super::client_requests::SuspendedUpstreamCalls;
use crate::{GatewayOptions, GatewayServer, pins::PinStore};
use server_validation::ValidatedServers;

/// Other servers' tools.
pub struct Gateway {
    clients: Adapter,
    servers: BTreeMap<String, Arc<Upstream>>,
    /// Why others are not among them.
    excluded: BTreeMap<String, String>,
    /// Those that may ask a client's model.
    samplers: Arc<BTreeSet<String>>,
    /// Which servers have a tool of that name.
    tool_owners: RwLock<Arc<HashMap<String, BTreeSet<String>>>>,
    external_tools: RwLock<Arc<[ExternalTool]>>,
    publish_lock: Mutex<()>,
    listeners: Mutex<Vec<Box<dyn Fn() + Send + Sync>>>,
    pub(crate) suspended_calls: SuspendedUpstreamCalls,
    pub(crate) search_wait: Duration,
    quiet: bool,
    shutdown: CancellationToken,
}

/// A server, and what is known of it.
pub(crate) struct Upstream {
    pub(crate) settings: GatewayServer,
    pins: PinStore,
    catalog: RwLock<Option<Arc<ToolCatalog>>>,
    /// One finds out, the others wait and take what it found.
    evaluation_lock: tokio::sync::Mutex<()>,
    activity: Arc<UpstreamActivity>,
    /// Whether a search waited for its tools and did not get them in time.
    timed_out: AtomicBool,
}

/// What a server tells by itself.
#[derive(Default)]
struct UpstreamActivity {
    /// Rings when something is not as it was.
    changed: Notify,
    /// Counts what may have made its list of tools another.
    change_count: AtomicU64,
    /// Whether there was a connection before.
    connected: AtomicBool,
    /// Whether there is another one now than when the list was asked for.
    reconnected: AtomicBool,
}

impl UpstreamActivity {
    fn on_event(&self, what: &ServerEvent) {
        match what {
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

    /// What is known of its tools, if anything is.
    pub(crate) fn catalog(&self) -> Option<Arc<ToolCatalog>> {
        let known = self.catalog.read().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }

    fn set_catalog(&self, known: Arc<ToolCatalog>) {
        *self.catalog.write().unwrap_or_else(PoisonError::into_inner) = Some(known);
    }

    /// Other servers have other tools now.
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

/// What a server is told of us when it is connected, and what it tells by itself. Outside a call
/// there is nobody whom it could ask.
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

    fn on_server_event(&self, _: &str, what: ServerEvent) {
        self.activity.on_event(&what);
    }
}

impl Gateway {
    /// A gateway to these servers. Every mistake is named; nothing is connected.
    pub fn new(options: GatewayOptions) -> Result<Arc<Self>, ServerConfigError> {
        Self::with_clients(options, default_client)
    }

    /// A gateway to those of these servers that can be used, and what is wrong with the others.
    /// Clients are of your own making.
    pub fn with_usable_servers(
        options: GatewayOptions,
        client: impl Fn(
            &GatewayServer,
            Arc<dyn ClientHandler>,
        ) -> Result<McpClient, deliberate_adapter::ClientError>,
    ) -> (Arc<Self>, Vec<ConfigProblem>) {
        Self::build(options, client)
    }

    /// [`Gateway::new`] with clients of your own making, such as ones with another transport.
    pub fn with_clients(
        options: GatewayOptions,
        client: impl Fn(
            &GatewayServer,
            Arc<dyn ClientHandler>,
        ) -> Result<McpClient, deliberate_adapter::ClientError>,
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
        ) -> Result<McpClient, deliberate_adapter::ClientError>,
    ) -> (Arc<Self>, Vec<ConfigProblem>) {
        let mut sifted = ValidatedServers::validate(options.servers);
        let mut clients = BTreeMap::new();
        for about in std::mem::take(&mut sifted.servers) {
            let news = Arc::new(UpstreamActivity::default());
            let door = UpstreamHandler {
                sampling: about.sampling,
                activity: news.clone(),
            };
            let name = about.config.name.clone();
            match client(&about, Arc::new(door)) {
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
            let served = Upstream {
                pins: PinStore::new(client.name(), options.store.clone(), options.clock.clone()),
                settings: about,
                catalog: RwLock::default(),
                evaluation_lock: tokio::sync::Mutex::default(),
                activity: news,
                timed_out: AtomicBool::new(false),
            };
            Some((client, Arc::new(served)))
        };
        let (clients, served): (Vec<_>, Vec<_>) =
            sifted.servers.into_iter().filter_map(served).unzip();
        let samplers = served.iter().filter(|it| it.settings.sampling);
        let mut left_out = options.excluded;
        left_out.extend(sifted.excluded);
        // Arguments and answers are held to the definition that was judged, here.
        let config = AdapterConfig {
            validate: false,
            ..AdapterConfig::default()
        };
        let gateway = Self {
            clients: Adapter::with_clients(clients, config),
            samplers: Arc::new(samplers.map(|it| it.name().to_owned()).collect()),
            servers: served
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
            shutdown: CancellationToken::new(),
        };
        (Arc::new(gateway), sifted.problems)
    }

    /// Calls this whenever the tools that clients see beside ours are others.
    pub fn on_change(&self, hear: Box<dyn Fn() + Send + Sync>) {
        let mut hears = self
            .listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        hears.push(hear);
    }

    /// Ends all connections in good order; programs that were started end.
    pub async fn stop(&self) {
        self.shutdown.cancel();
        self.suspended_calls.clear();
        self.clients.close().await;
    }

    /// The names of the servers.
    pub fn names(&self) -> Vec<&str> {
        self.servers.keys().map(String::as_str).collect()
    }

    /// How the servers do; asks none of them.
    pub fn status(&self) -> Vec<ClientStatus> {
        self.clients.status()
    }

    /// The tools that clients see beside ours, as far as they are known.
    pub(crate) fn external_tools(&self) -> Arc<[ExternalTool]> {
        let guests = self
            .external_tools
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        guests.clone()
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
        let client = self.clients.client(server.name());
        client.ok_or_else(|| self.unknown_server(server.name()))
    }
}

fn default_client(
    server: &GatewayServer,
    handler: Arc<dyn ClientHandler>,
) -> Result<McpClient, deliberate_adapter::ClientError> {
    McpClient::new(server.config.clone(), handler)
}

fn config_problems(server: &str, error: deliberate_adapter::ClientError) -> Vec<ConfigProblem> {
    match error.kind {
        deliberate_adapter::ClientErrorKind::Config(error) => error.problems,
        _ => vec![ConfigProblem::new(
            format!("servers.{server}"),
            error.to_string(),
        )],
    }
}
