//! Health checks of the store and the provider, which are slow and therefore cached and limited.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use deliberate_toolkit::ErrorCode;
use serde::Serialize;

use super::health::HealthSource;

const CHECK_TIMEOUT: Duration = Duration::from_secs(1);

/// The shortest time for which a result is reused.
const MIN_CACHE_TTL: Duration = Duration::from_secs(1);

/// The checks take at most one part in this many of the time, however slow the store is.
const MAX_CHECK_SHARE: u32 = 10;

/// The state of the store.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoreHealth {
    pub state: StoreState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The version of the database schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema_version: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thoughts: Option<u64>,
    /// The duration of the check.
    pub latency_ms: u64,
    /// Why reads or commits fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreState {
    Ok,
    /// It did not answer in time.
    Slow,
    /// Reads work and commits fail, as on a full disk.
    #[serde(rename = "read_only")]
    ReadOnly,
    /// The database is damaged; nothing is written to it.
    Damaged,
    /// It returned an error.
    Failed,
}

/// The state of the provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProviderHealth {
    pub state: ProviderState,
    /// For people, such as `langbase at https://api.langbase.com`; empty if the caller may not see
    /// it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// How long the provider refuses requests; they fail at once until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderState {
    /// The server has a provider. It is not called, because requests cost money.
    Configured,
    /// The provider limits the request rate and asked for a long wait.
    Limited,
    /// The client's own model answers.
    Client,
    /// The check did not finish in time.
    Unknown,
}

/// The cached results of the checks.
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
    /// The state of the store and the provider, from the cache if it is recent. Only one caller
    /// checks at a time; the others wait for its result.
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
            if let Some(failure) = state.write_failure {
                health.state = match failure.code() {
                    ErrorCode::DatabaseDamaged => StoreState::Damaged,
                    _ => StoreState::ReadOnly,
                };
                health.reason = Some(explain(&failure, failure.hint()));
            }
        }
        Ok(Err(error)) => {
            health.state = match error.code() {
                ErrorCode::DatabaseDamaged => StoreState::Damaged,
                _ => StoreState::Failed,
            };
            health.reason = Some(explain(&error, error.hint()));
        }
        Err(_) => {
            health.state = StoreState::Slow;
            let limit = CHECK_TIMEOUT.as_secs();
            health.reason = Some(format!("it did not answer within {limit} s"));
        }
    }
    health
}

fn explain(error: &dyn std::error::Error, hint: Option<String>) -> String {
    let hint = hint.unwrap_or_default();
    format!("{error}. {hint}").trim_end().to_owned()
}

async fn check_provider(source: &HealthSource) -> ProviderHealth {
    tokio::time::timeout(CHECK_TIMEOUT, (source.provider)())
        .await
        .unwrap_or_else(|_| ProviderHealth {
            state: ProviderState::Unknown,
            description: "the search for a model takes too long".to_owned(),
            retry_after_seconds: None,
        })
}
