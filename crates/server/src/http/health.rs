//! `/health`: whether the server lives, whether it can work, and how its parts are.
//!
//! Who was not let in learns the least: no addresses, no places of files, no counts. It knows
//! nothing of how transports, stores and providers are made; they tell it their state.

use std::{sync::Arc, time::Instant};

use axum::{
    Extension, Json, Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use deliberate_toolkit::Registry;
use futures::future::BoxFuture;
use rmcp::model::ProtocolVersion;
use serde::Serialize;

use super::guard::Admission;
use super::health_check::HealthChecks;
pub use super::health_check::{ProviderHealth, ProviderState, StoreHealth, StoreState};

/// Where in its life the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerPhase {
    /// Not all that is to be served is up yet.
    Starting,
    /// It serves.
    Serving,
    /// It finishes what runs and takes nothing new.
    Draining,
}

/// In one word, how the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HealthStatus {
    /// All is well.
    Ok,
    /// It is on its way up.
    Starting,
    /// It is on its way down.
    Draining,
    /// It works, but not all of it.
    Degraded,
    /// It lives and can't work.
    Unavailable,
}

/// How a transport is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TransportHealth {
    /// Such as `stdio` or `http`.
    pub name: &'static str,
    /// Whether it serves.
    pub state: TransportState,
    /// Where it is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Why it does not serve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Whether a transport serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TransportState {
    /// It does.
    Serving,
    /// It was to, and can't.
    Failed,
    /// It was not asked to.
    Off,
}

/// Where the state of the parts comes from.
pub struct HealthSource {
    /// The tools, the store and the load.
    pub registry: Arc<Registry>,
    /// Where in its life the server is; asked for each answer.
    pub phase: Box<dyn Fn() -> ServerPhase + Send + Sync>,
    /// The transports; asked for each answer.
    pub transports: Box<dyn Fn() -> Vec<TransportHealth> + Send + Sync>,
    /// Who thinks; asked at most about once a second, and given up after one.
    pub provider: Box<dyn Fn() -> BoxFuture<'static, ProviderHealth> + Send + Sync>,
}

/// The health of a server.
pub struct Health {
    source: HealthSource,
    checks: HealthChecks,
    started: Instant,
}

/// What anyone may know.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HealthSummary {
    /// In one word.
    pub status: HealthStatus,
    /// Whether the process answers; it does if this is read.
    pub live: bool,
    /// Whether calls can be made.
    pub ready: bool,
    /// The version of the program.
    pub version: &'static str,
}

/// All there is to know.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HealthReport {
    /// What anyone may know.
    #[serde(flatten)]
    pub brief: HealthSummary,
    /// How long the server has run.
    pub uptime_seconds: u64,
    /// The transports.
    pub transports: Vec<TransportHealth>,
    /// How many tools there are.
    pub tools: usize,
    /// The revisions of the protocol that are spoken, oldest first.
    pub protocol_revisions: Vec<String>,
    /// What is remembered.
    pub store: StoreHealth,
    /// Who thinks.
    pub provider: ProviderHealth,
    /// The load.
    pub calls: CallCounts,
}

/// Calls there are now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CallCounts {
    /// That run.
    pub running: usize,
    /// That wait for a place.
    pub waiting: usize,
}

impl Health {
    /// The health of what `source` tells of.
    pub fn new(source: HealthSource) -> Self {
        Self {
            source,
            checks: HealthChecks::default(),
            started: Instant::now(),
        }
    }

    /// How everything is. A flood of questions costs one look at the store a second.
    pub async fn report(&self) -> HealthReport {
        let (store, provider) = self.checks.get(&self.source).await;
        let transports = (self.source.transports)();
        let status = compute_status((self.source.phase)(), store.state, &transports);
        let (running, waiting) = self.source.registry.running_and_waiting();
        HealthReport {
            brief: HealthSummary {
                status,
                live: true,
                ready: status.is_ready(),
                version: env!("CARGO_PKG_VERSION"),
            },
            uptime_seconds: self.started.elapsed().as_secs(),
            transports,
            tools: self.source.registry.list().count(),
            protocol_revisions: ProtocolVersion::KNOWN_VERSIONS
                .iter()
                .map(ToString::to_string)
                .collect(),
            store,
            provider,
            calls: CallCounts { running, waiting },
        }
    }
}

impl HealthStatus {
    const fn is_ready(self) -> bool {
        matches!(self, Self::Ok | Self::Degraded)
    }
}

fn compute_status(
    phase: ServerPhase,
    store: StoreState,
    transports: &[TransportHealth],
) -> HealthStatus {
    let any = |wanted| transports.iter().any(|it| it.state == wanted);
    match phase {
        ServerPhase::Starting => HealthStatus::Starting,
        ServerPhase::Draining => HealthStatus::Draining,
        ServerPhase::Serving if store == StoreState::Failed => HealthStatus::Unavailable,
        ServerPhase::Serving if any(TransportState::Failed) => {
            if any(TransportState::Serving) {
                HealthStatus::Degraded
            } else {
                HealthStatus::Unavailable
            }
        }
        ServerPhase::Serving if store == StoreState::Slow => HealthStatus::Degraded,
        ServerPhase::Serving => HealthStatus::Ok,
    }
}

/// `GET /health`, `/health/live` and `/health/ready`.
pub fn routes(health: Arc<Health>) -> Router {
    Router::new()
        .route("/health", get(get_health))
        .route("/health/live", get(get_live))
        .route("/health/ready", get(get_ready))
        .with_state(health)
}

async fn get_health(
    State(health): State<Arc<Health>>,
    admission: Option<Extension<Admission>>,
) -> Response {
    let report = health.report().await;
    let ready = report.brief.ready;
    match admission {
        Some(Extension(Admission::Public)) => health_response(ready, Json(report.brief)),
        _ => health_response(ready, Json(report)),
    }
}

async fn get_ready(State(health): State<Arc<Health>>) -> Response {
    let report = health.report().await;
    health_response(report.brief.ready, Json(report.brief))
}

/// Asks nothing of anyone: a store that hangs does not make the process dead.
async fn get_live() -> Response {
    health_response(true, Json(serde_json::json!({ "live": true })))
}

fn health_response(ready: bool, body: impl IntoResponse) -> Response {
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, [(header::CACHE_CONTROL, "no-store")], body).into_response()
}
