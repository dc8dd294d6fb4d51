//! Builds the application from the settings.

pub(crate) mod gateway;
pub(crate) mod prompts;
pub(crate) mod research;
pub(crate) mod table_embedder;

use std::sync::Arc;

use anyhow::Context;
use deliberate_core::{SystemClock, SystemIds};
use deliberate_gateway::Gateway;
use deliberate_prompts::{Engine, library::LiveLibrary};
use deliberate_research::ResearchServices;
use deliberate_server::{
    FileLimits, FileRoots, Subscriptions,
    http::{ProgressHub, ProgressOptions},
    metrics::ServerMetrics,
};
use deliberate_store::{
    Store,
    sqlite::{self, SqliteOptions, SqliteStore},
};
use deliberate_toolkit::{CallLimits, Registry, RegistryDeps};

use crate::{
    config::{AppSettings, DatabaseDurability, LoadedConfig},
    servers::{ServerCatalog, ServerProblem},
    telemetry,
};

use super::providers::ProviderSelector;
use table_embedder::TableEmbedder;

/// The registry, the providers, and the subscriptions to changes.
pub(crate) struct App {
    pub(crate) registry: Arc<Registry>,
    /// The store of the registry, for maintenance of its file.
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) providers: Arc<ProviderSelector>,
    pub(crate) metrics: Arc<ServerMetrics>,
    pub(crate) subscriptions: Arc<Subscriptions>,
    pub(crate) progress: Arc<ProgressHub>,
    /// The prompt library, if its tools are enabled. Loaded on first use.
    pub(crate) prompt_library: Option<Arc<LiveLibrary>>,
    /// Research, if its tools are enabled. Opened on first use.
    pub(crate) research: Option<Arc<ResearchServices>>,
    /// Upstream servers, if their tools are enabled. Connected on first use.
    pub(crate) gateway: Option<Arc<Gateway>>,
    /// Servers that cannot be used.
    pub(crate) problems: Vec<ServerProblem>,
}

impl App {
    /// Closes everything at the end of a command.
    pub(crate) async fn close(&self) {
        if let Some(gateway) = &self.gateway {
            gateway.stop().await;
        }
        self.registry.close().await;
    }
}

/// Builds everything. Opens and connects nothing.
pub(crate) fn build_app(loaded: &LoadedConfig) -> anyhow::Result<App> {
    let selector = Arc::new(ProviderSelector::new(loaded).context("the provider cannot be used")?);
    let database = Arc::new(build_sqlite_store(&loaded.settings));
    let store: Arc<dyn Store> = database.clone();
    let parts = RegistryDeps {
        store: store.clone(),
        models: selector.clone(),
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        limits: call_limits(&loaded.settings),
    };
    let metrics = Arc::new(ServerMetrics::new());
    let subscriptions = Arc::new(Subscriptions::default());
    let progress = ProgressHub::new(ProgressOptions::default());
    let sets = loaded.settings.tools;
    let mut registry = Registry::new(parts).with_span_reader(telemetry::trace_context);
    if sets.reasoning {
        let embedder = Arc::new(TableEmbedder);
        registry = deliberate_reasoning::register_with_embedder(registry, Some(embedder));
    }
    let shelf = if sets.prompts {
        Some(build_prompt_engine(&loaded.settings, &subscriptions)?)
    } else {
        None
    };
    if let Some((engine, _)) = &shelf {
        registry = deliberate_prompts::register(registry, engine);
    }
    let services = match sets.research {
        Some(_) => Some(build_research(loaded, &store)?),
        None => None,
    };
    if let (Some(services), Some(mode)) = (&services, sets.research) {
        registry = deliberate_research::register(registry, services, mode);
    }
    let catalogue = sets.gateway.then(|| ServerCatalog::read(loaded));
    let gateway = catalogue
        .as_ref()
        .map(|it| gateway::build_client_gateway(it, &loaded.settings, &store, &subscriptions));
    if let Some(gateway) = &gateway {
        registry = deliberate_gateway::register(registry, gateway);
    }
    registry = registry
        .with_listener(metrics.clone())
        .with_listener(subscriptions.clone())
        .with_listener(progress.clone());
    let files = &loaded.settings.resources;
    if !files.roots.is_empty() {
        let limits = FileLimits {
            file_bytes: files.file_bytes,
            ..FileLimits::default()
        };
        registry = registry.with_resources(FileRoots::new(files.roots.clone(), limits));
    }
    Ok(App {
        registry: Arc::new(registry),
        store: database,
        providers: selector,
        metrics,
        subscriptions,
        progress,
        prompt_library: shelf.map(|(_, library)| library),
        research: services,
        gateway,
        problems: catalogue.map(|it| it.problems).unwrap_or_default(),
    })
}

/// Builds the prompt engine and its library. Clients are notified when their view of it changes.
fn build_prompt_engine(
    settings: &AppSettings,
    subscriptions: &Arc<Subscriptions>,
) -> anyhow::Result<(Arc<Engine>, Arc<LiveLibrary>)> {
    let options = prompts::options(&settings.prompts)?;
    let library = LiveLibrary::new(&options);
    let told = subscriptions.clone();
    library.on_change(Box::new(move |changed| {
        prompts::notify_clients(changed, &told);
    }));
    let engine = Arc::new(Engine::new(options, library.clone()));
    Ok((engine, library))
}

fn build_research(
    loaded: &LoadedConfig,
    store: &Arc<dyn Store>,
) -> anyhow::Result<Arc<ResearchServices>> {
    let options = research::options(loaded)?;
    let services = ResearchServices::new(options, store.clone(), Arc::new(SystemClock));
    services.context(
        "research cannot be set up; remove `research_compact` from `tools.sets` to run without it",
    )
}

/// Builds the store of the settings.
pub(crate) fn build_store(settings: &AppSettings) -> Arc<dyn Store> {
    Arc::new(build_sqlite_store(settings))
}

/// Builds the SQLite store, for commands that need the file.
pub(crate) fn build_sqlite_store(settings: &AppSettings) -> SqliteStore {
    SqliteStore::new(SqliteOptions {
        path: settings.database.path.clone(),
        readers: settings.database.max_connections,
        durability: match settings.database.durability {
            DatabaseDurability::Full => sqlite::SqliteDurability::Full,
            DatabaseDurability::Relaxed => sqlite::SqliteDurability::Relaxed,
        },
    })
}

fn call_limits(settings: &AppSettings) -> CallLimits {
    let limits = &settings.limits;
    CallLimits {
        call_time: limits.call_timeout,
        running_calls: limits.concurrent_calls,
        model_requests: settings.request.concurrency,
        principal_share: limits.principal_share,
        content_chars: limits.content_chars,
        context_tokens: limits.context_tokens,
        suspension_time: settings.suspend_ttl,
        ..CallLimits::default()
    }
}
