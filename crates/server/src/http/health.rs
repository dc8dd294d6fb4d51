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
use super::health_check::Checks;
pub use super::health_check::{ProviderHealth, ProviderState, StoreHealth, StoreState};

/// Where in its life the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
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
pub enum Status {
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
    pub phase: Box<dyn Fn() -> Phase + Send + Sync>,
    /// The transports; asked for each answer.
    pub transports: Box<dyn Fn() -> Vec<TransportHealth> + Send + Sync>,
    /// Who thinks; asked at most about once a second, and given up after one.
    pub provider: Box<dyn Fn() -> BoxFuture<'static, ProviderHealth> + Send + Sync>,
}

/// The health of a server.
pub struct Health {
    source: HealthSource,
    checks: Checks,
    began: Instant,
}

/// What anyone may know.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Brief {
    /// In one word.
    pub status: Status,
    /// Whether the process answers; it does if this is read.
    pub live: bool,
    /// Whether calls can be made.
    pub ready: bool,
    /// The version of the program.
    pub version: &'static str,
}

/// All there is to know.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// What anyone may know.
    #[serde(flatten)]
    pub brief: Brief,
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
    pub calls: Calls,
}

/// Calls there are now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Calls {
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
            checks: Checks::default(),
            began: Instant::now(),
        }
    }

    /// How everything is. A flood of questions costs one look at the store a second.
    pub async fn report(&self) -> Report {
        let (store, provider) = self.checks.get(&self.source).await;
        let transports = (self.source.transports)();
        let status = status((self.source.phase)(), store.state, &transports);
        let (running, waiting) = self.source.registry.load();
        Report {
            brief: Brief {
                status,
                live: true,
                ready: status.is_ready(),
                version: env!("CARGO_PKG_VERSION"),
            },
            uptime_seconds: self.began.elapsed().as_secs(),
            transports,
            tools: self.source.registry.list().count(),
            protocol_revisions: ProtocolVersion::KNOWN_VERSIONS
                .iter()
                .map(ToString::to_string)
                .collect(),
            store,
            provider,
            calls: Calls { running, waiting },
        }
    }
}

impl Status {
    const fn is_ready(self) -> bool {
        matches!(self, Self::Ok | Self::Degraded)
    }
}

fn status(phase: Phase, store: StoreState, transports: &[TransportHealth]) -> Status {
    let any = |wanted| transports.iter().any(|it| it.state == wanted);
    match phase {
        Phase::Starting => Status::Starting,
        Phase::Draining => Status::Draining,
        Phase::Serving if store == StoreState::Failed => Status::Unavailable,
        Phase::Serving if any(TransportState::Failed) => {
            if any(TransportState::Serving) {
                Status::Degraded
            } else {
                Status::Unavailable
            }
        }
        Phase::Serving if store == StoreState::Slow => Status::Degraded,
        Phase::Serving => Status::Ok,
    }
}

/// `GET /health`, `/health/live` and `/health/ready`.
pub fn routes(health: Arc<Health>) -> Router {
    Router::new()
        .route("/health", get(whole))
        .route("/health/live", get(live))
        .route("/health/ready", get(ready))
        .with_state(health)
}

async fn whole(
    State(health): State<Arc<Health>>,
    admission: Option<Extension<Admission>>,
) -> Response {
    let report = health.report().await;
    let ready = report.brief.ready;
    match admission {
        Some(Extension(Admission::Public)) => answer(ready, Json(report.brief)),
        _ => answer(ready, Json(report)),
    }
}

async fn ready(State(health): State<Arc<Health>>) -> Response {
    let report = health.report().await;
    answer(report.brief.ready, Json(report.brief))
}

/// Asks nothing of anyone: a store that hangs does not make the process dead.
async fn live() -> Response {
    answer(true, Json(serde_json::json!({ "live": true })))
}

fn answer(ready: bool, body: impl IntoResponse) -> Response {
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, [(header::CACHE_CONTROL, "no-store")], body).into_response()
}
