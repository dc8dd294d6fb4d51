//! Settings to a working registry.

use std::sync::Arc;

use anyhow::Context;
use deliberate_core::{SystemClock, SystemIds};
use deliberate_gateway::Gateway;
use deliberate_prompts::{Engine, library::Shelf};
use deliberate_research::Lab;
use deliberate_server::{
    FileLimits, FileRoots, Subscriptions,
    http::{ProgressHub, ProgressOptions},
    metrics::Metrics,
};
use deliberate_store::{
    Store,
    sqlite::{self, SqliteOptions, SqliteStore},
};
use deliberate_toolkit::{Bounds, Parts, Registry};

use crate::{
    config::{Durability, Loaded, Settings},
    gateway,
    minds::Chooser,
    prompts, research,
    servers::{Catalogue, Problem},
    telemetry,
};

/// The registry, who thinks in it, and who hears what happens.
pub(crate) struct Wired {
    pub(crate) registry: Arc<Registry>,
    pub(crate) minds: Arc<Chooser>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) subscriptions: Arc<Subscriptions>,
    pub(crate) progress: Arc<ProgressHub>,
    /// The library of prompts, if there are tools for it. Nothing is read before it is needed.
    pub(crate) shelf: Option<Arc<Shelf>>,
    /// Research, if there are tools for it. Nothing is opened before it is needed.
    pub(crate) lab: Option<Arc<Lab>>,
    /// Other servers, if there are any. Nothing is connected before it is needed.
    pub(crate) gateway: Option<Arc<Gateway>>,
    /// Those that can't be used.
    pub(crate) left_out: Vec<Problem>,
}

impl Wired {
    /// Lets go of everything, for a command that is done.
    pub(crate) async fn close(&self) {
        if let Some(gateway) = &self.gateway {
            gateway.stop().await;
        }
        self.registry.close().await;
    }
}

/// Puts everything together. Opens and connects nothing.
pub(crate) fn wire(loaded: &Loaded) -> anyhow::Result<Wired> {
    let minds = Arc::new(Chooser::new(loaded).context("the provider can't be used")?);
    let store = store(&loaded.settings);
    let parts = Parts {
        store: store.clone(),
        minds: minds.clone(),
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        bounds: bounds(&loaded.settings),
    };
    let metrics = Arc::new(Metrics::new());
    let subscriptions = Arc::new(Subscriptions::default());
    let progress = ProgressHub::new(ProgressOptions::default());
    let sets = loaded.settings.tools;
    let mut registry = Registry::new(parts).traced_by(telemetry::place_of);
    if sets.reasoning {
        registry = deliberate_reasoning::register(registry);
    }
    let shelf = if sets.prompts {
        Some(shelf(&loaded.settings, &subscriptions)?)
    } else {
        None
    };
    if let Some((engine, _)) = &shelf {
        registry = deliberate_prompts::register(registry, engine);
    }
    let lab = match sets.research {
        Some(_) => Some(lab(loaded, &store)?),
        None => None,
    };
    if let (Some(lab), Some(face)) = (&lab, sets.research) {
        registry = deliberate_research::register(registry, lab, face);
    }
    let catalogue = if sets.gateway {
        Catalogue::read(loaded)
    } else {
        Catalogue::default()
    };
    let gateway = gateway::for_clients(&catalogue, &store, &subscriptions);
    if let Some(gateway) = &gateway {
        registry = deliberate_gateway::register(registry, gateway);
    }
    registry = registry
        .heard_by(metrics.clone())
        .heard_by(subscriptions.clone())
        .heard_by(progress.clone());
    let files = &loaded.settings.resources;
    if !files.roots.is_empty() {
        let limits = FileLimits {
            file_bytes: files.file_bytes,
            ..FileLimits::default()
        };
        registry = registry.with_resources(FileRoots::new(files.roots.clone(), limits));
    }
    Ok(Wired {
        registry: Arc::new(registry),
        minds,
        metrics,
        subscriptions,
        progress,
        shelf: shelf.map(|(_, shelf)| shelf),
        lab,
        gateway,
        left_out: catalogue.problems,
    })
}

/// The prompt engine and its library. Clients are told when what they see of it changes.
fn shelf(
    settings: &Settings,
    subscriptions: &Arc<Subscriptions>,
) -> anyhow::Result<(Arc<Engine>, Arc<Shelf>)> {
    let options = prompts::options(&settings.prompts)?;
    let shelf = Shelf::new(&options);
    let told = subscriptions.clone();
    shelf.on_change(Box::new(move |changed| prompts::tell(changed, &told)));
    let engine = Arc::new(Engine::new(options, shelf.clone()));
    Ok((engine, shelf))
}

/// What research works with.
fn lab(loaded: &Loaded, store: &Arc<dyn Store>) -> anyhow::Result<Arc<Lab>> {
    let options = research::options(loaded)?;
    let lab = Lab::new(options, store.clone(), Arc::new(SystemClock));
    lab.context(
        "research can't be set up; leave `research_compact` out of `tools.sets` to do without",
    )
}

/// The store of the settings.
pub(crate) fn store(settings: &Settings) -> Arc<dyn Store> {
    Arc::new(database(settings))
}

/// The same as the file that it is.
pub(crate) fn database(settings: &Settings) -> SqliteStore {
    SqliteStore::new(SqliteOptions {
        path: settings.database.path.clone(),
        readers: settings.database.max_connections,
        durability: match settings.database.durability {
            Durability::Full => sqlite::Durability::Full,
            Durability::Relaxed => sqlite::Durability::Relaxed,
        },
    })
}

fn bounds(settings: &Settings) -> Bounds {
    let limits = &settings.limits;
    Bounds {
        call_time: limits.call_timeout,
        running_calls: limits.concurrent_calls,
        content_chars: limits.content_chars,
        context_tokens: limits.context_tokens,
        suspension_time: settings.suspend_ttl,
        ..Bounds::default()
    }
}
