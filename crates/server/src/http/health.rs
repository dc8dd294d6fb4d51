//! `/health`: liveness, readiness and the state of the parts.
//!
//! Unauthenticated clients see the least: no addresses, file locations or counts. A token of
//! limited scope sees the states of all parts, but no details, unless it includes the metrics. This
//! module does not know how transports, stores and providers are built; they report their state.

use std::{sync::Arc, time::Instant};

use axum::{
    Extension, Json, Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use deliberate_core::Timestamp;
use deliberate_toolkit::{Principal, Registry};
use futures::future::BoxFuture;
use rmcp::model::ProtocolVersion;
use serde::Serialize;

use super::guard::Admission;
use super::health_check::HealthChecks;
pub use super::health_check::{ProviderHealth, ProviderState, StoreHealth, StoreState};
use crate::metrics::METRICS_SCOPE;

/// The phase in the life of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerPhase {
    /// Some transports are not up yet.
    Starting,
    Serving,
    /// It finishes running requests and accepts no new ones.
    Draining,
}

/// The overall status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HealthStatus {
    Ok,
    Starting,
    Draining,
    /// Some parts do not work.
    Degraded,
    /// The process runs but cannot serve calls.
    Unavailable,
}

/// The state of a transport.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TransportHealth {
    pub name: &'static str,
    pub state: TransportState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TransportState {
    Serving,
    /// It was configured but could not start.
    Failed,
    /// It was not configured.
    Off,
}

/// The state of an upstream server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UpstreamHealth {
    pub name: String,
    pub state: UpstreamState,
    /// Why it failed, or why it is not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it last answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_success: Option<Timestamp>,
    /// The number of its usable tools, as far as they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<usize>,
    /// The number of tools that wait for approval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quarantined: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UpstreamState {
    /// No connection was needed yet.
    Idle,
    Connecting,
    Connected,
    /// The last attempt to connect failed.
    Failed,
    /// Its configuration is invalid, so it is not used.
    Excluded,
}

/// The sources of the parts' states.
pub struct HealthSource {
    /// Provides the tools, the store and the load.
    pub registry: Arc<Registry>,
    /// Called for each report.
    pub phase: Box<dyn Fn() -> ServerPhase + Send + Sync>,
    /// Called for each report.
    pub transports: Box<dyn Fn() -> Vec<TransportHealth> + Send + Sync>,
    /// The upstream servers. Called for each report, so it must not ask them.
    pub servers: Box<dyn Fn() -> Vec<UpstreamHealth> + Send + Sync>,
    /// Called at most about once a second, with a timeout of one second.
    pub provider: Box<dyn Fn() -> BoxFuture<'static, ProviderHealth> + Send + Sync>,
}

/// Computes the health of a server.
pub struct Health {
    source: HealthSource,
    checks: HealthChecks,
    started: Instant,
}

/// The health that unauthenticated clients see.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HealthSummary {
    pub status: HealthStatus,
    /// Always true in an answer.
    pub live: bool,
    pub ready: bool,
    pub version: &'static str,
}

/// The complete health report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HealthReport {
    /// The health that unauthenticated clients see.
    #[serde(flatten)]
    pub brief: HealthSummary,
    pub uptime_seconds: u64,
    pub transports: Vec<TransportHealth>,
    /// The number of tools.
    pub tools: usize,
    /// The supported revisions of the protocol, oldest first.
    pub protocol_revisions: Vec<String>,
    pub store: StoreHealth,
    pub provider: ProviderHealth,
    pub calls: CallCounts,
    /// The upstream servers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<UpstreamHealth>,
}

impl HealthReport {
    /// Returns the states alone: no names of upstream servers, no reasons, no addresses and
    /// locations, and not what the store contains.
    fn without_details(self) -> Self {
        let transports = self
            .transports
            .into_iter()
            .map(|transport| TransportHealth {
                address: None,
                reason: None,
                ..transport
            });
        Self {
            transports: transports.collect(),
            store: StoreHealth {
                location: None,
                sessions: None,
                thoughts: None,
                reason: None,
                ..self.store
            },
            provider: ProviderHealth {
                description: String::new(),
                ..self.provider
            },
            servers: Vec::new(),
            ..self
        }
    }
}

/// The numbers of current calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CallCounts {
    pub running: usize,
    /// Calls in the queue.
    pub waiting: usize,
}

impl Health {
    pub fn new(source: HealthSource) -> Self {
        Self {
            source,
            checks: HealthChecks::default(),
            started: Instant::now(),
        }
    }

    /// Builds the report. Any number of requests causes at most one store check per second.
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
            servers: (self.source.servers)(),
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
        ServerPhase::Serving if matches!(store, StoreState::Failed | StoreState::Damaged) => {
            HealthStatus::Unavailable
        }
        ServerPhase::Serving if any(TransportState::Failed) => {
            if any(TransportState::Serving) {
                HealthStatus::Degraded
            } else {
                HealthStatus::Unavailable
            }
        }
        ServerPhase::Serving if matches!(store, StoreState::Slow | StoreState::ReadOnly) => {
            HealthStatus::Degraded
        }
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
    principal: Option<Extension<Principal>>,
) -> Response {
    let report = health.report().await;
    let ready = report.brief.ready;
    if matches!(admission, Some(Extension(Admission::Public))) {
        return health_response(ready, Json(report.brief));
    }
    let is_limited = principal.is_some_and(|principal| !principal.scope.allows(METRICS_SCOPE));
    let report = if is_limited {
        report.without_details()
    } else {
        report
    };
    health_response(ready, Json(report))
}

async fn get_ready(State(health): State<Arc<Health>>) -> Response {
    let report = health.report().await;
    health_response(report.brief.ready, Json(report.brief))
}

/// Checks nothing, because a hanging store does not make the process dead.
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
