//! The parts of health that take time to find out, found out seldom and within a limit.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde::Serialize;

use super::health::HealthSource;

/// The longest a part may take to say how it is.
const CHECK_TIMEOUT: Duration = Duration::from_secs(1);

/// How long what was found is believed at least.
const MIN_CACHE_TTL: Duration = Duration::from_secs(1);

/// Looking takes at most this part of the time, however slow the store is.
const MAX_CHECK_SHARE: u32 = 10;

/// How the store is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoreHealth {
    /// Whether it answers.
    pub state: StoreState,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The version of its tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<i64>,
    /// Sessions in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u64>,
    /// Thoughts in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thoughts: Option<u64>,
    /// How long it took to say so.
    pub latency_ms: u64,
    /// What is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Whether the store answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreState {
    /// It does.
    Ok,
    /// Not in time.
    Slow,
    /// It says that it can't.
    Failed,
}

/// Who thinks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProviderHealth {
    /// Whether a model can be asked.
    pub state: ProviderState,
    /// In words, such as `langbase at https://api.langbase.com`.
    pub description: String,
}

/// Whether a model can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderState {
    /// The server has one. Asking costs, so whether it answers is not tried.
    Configured,
    /// The client's own model thinks.
    Client,
    /// It could not be found out in time.
    Unknown,
}

/// What was found out last.
#[derive(Default)]
pub(super) struct HealthChecks {
    cached: Mutex<Option<CachedHealth>>,
    refresh_lock: tokio::sync::Mutex<()>,
}

struct CachedHealth {
    valid_until: Instant,
    store: StoreHealth,
    provider: ProviderHealth,
}

impl HealthChecks {
    /// How the store and the provider are, as found at most a moment ago. Only one looks; the
    /// others wait for what it finds.
    pub(super) async fn get(&self, source: &HealthSource) -> (StoreHealth, ProviderHealth) {
        if let Some(found) = self.cached() {
            return found;
        }
        let _alone = self.refresh_lock.lock().await;
        if let Some(found) = self.cached() {
            return found;
        }
        let began = Instant::now();
        let (store, provider) = tokio::join!(check_store(source), check_provider(source));
        let until = Instant::now() + MIN_CACHE_TTL.max(began.elapsed() * MAX_CHECK_SHARE);
        *self.cached.lock().unwrap_or_else(PoisonError::into_inner) = Some(CachedHealth {
            valid_until: until,
            store: store.clone(),
            provider: provider.clone(),
        });
        (store, provider)
    }

    fn cached(&self) -> Option<(StoreHealth, ProviderHealth)> {
        let found = self.cached.lock().unwrap_or_else(PoisonError::into_inner);
        let found = found
            .as_ref()
            .filter(|it| Instant::now() < it.valid_until)?;
        Some((found.store.clone(), found.provider.clone()))
    }
}

async fn check_store(source: &HealthSource) -> StoreHealth {
    let began = Instant::now();
    let state = tokio::time::timeout(CHECK_TIMEOUT, source.registry.store().info()).await;
    let mut health = StoreHealth {
        state: StoreState::Ok,
        location: None,
        schema_version: None,
        sessions: None,
        thoughts: None,
        latency_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        reason: None,
    };
    match state {
        Ok(Ok(state)) => {
            health.location = Some(state.location);
            health.schema_version = Some(state.schema_version);
            health.sessions = Some(state.sessions);
            health.thoughts = Some(state.thoughts);
        }
        Ok(Err(error)) => {
            health.state = StoreState::Failed;
            let hint = error.hint().unwrap_or_default();
            health.reason = Some(format!("{error}. {hint}").trim_end().to_owned());
        }
        Err(_) => {
            health.state = StoreState::Slow;
            let limit = CHECK_TIMEOUT.as_secs();
            health.reason = Some(format!("it did not answer within {limit} s"));
        }
    }
    health
}

async fn check_provider(source: &HealthSource) -> ProviderHealth {
    tokio::time::timeout(CHECK_TIMEOUT, (source.provider)())
        .await
        .unwrap_or_else(|_| ProviderHealth {
            state: ProviderState::Unknown,
            description: "looking for a model takes too long".to_owned(),
        })
}
