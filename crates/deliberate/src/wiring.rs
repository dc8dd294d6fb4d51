//! Settings to a working registry.

use std::sync::Arc;

use anyhow::Context;
use deliberate_core::{SystemClock, SystemIds};
use deliberate_store::{
    Store,
    sqlite::{self, SqliteOptions, SqliteStore},
};
use deliberate_toolkit::{Bounds, Parts, Registry};

use crate::{
    config::{Durability, Loaded, Settings},
    minds::Chooser,
};

/// The registry, and who thinks in it.
pub(crate) struct Wired {
    pub(crate) registry: Registry,
    pub(crate) minds: Arc<Chooser>,
}

/// Puts everything together. Opens and connects nothing.
pub(crate) fn wire(loaded: &Loaded) -> anyhow::Result<Wired> {
    let minds = Arc::new(Chooser::new(loaded).context("the provider can't be used")?);
    let parts = Parts {
        store: store(&loaded.settings),
        minds: minds.clone(),
        clock: Arc::new(SystemClock),
        ids: Arc::new(SystemIds),
        bounds: bounds(&loaded.settings),
    };
    Ok(Wired {
        registry: deliberate_reasoning::register(Registry::new(parts)),
        minds,
    })
}

/// The store of the settings.
pub(crate) fn store(settings: &Settings) -> Arc<dyn Store> {
    Arc::new(SqliteStore::new(SqliteOptions {
        path: settings.database.path.clone(),
        readers: settings.database.max_connections,
        durability: match settings.database.durability {
            Durability::Full => sqlite::Durability::Full,
            Durability::Relaxed => sqlite::Durability::Relaxed,
        },
    }))
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
