//! MCP over HTTP, and what belongs to it: health, metrics, progress, the page.
//!
//! [`guard`] stands before every route: it checks host and origin, lets in who may come, and holds
//! each to their share. Behind it are the transports, `/mcp` and the older `/sse`. [`listener`]
//! serves the connections underneath.

pub mod auth;
pub mod guard;
mod handed_on;
pub mod health;
mod health_check;
mod kept;
pub mod limits;
pub mod listener;
mod mcp;
pub mod page;
mod progress;
mod reply;
mod session_manager;
mod sessions;
pub mod sse;
mod ws;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use deliberate_toolkit::Registry;
use rmcp::ServerHandler;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use mcp::{McpControl, McpOptions, routes as mcp_routes};
pub use progress::{ProgressHub, ProgressOptions};
pub use sessions::SessionOptions;
pub use ws::routes as progress_routes;

use crate::metrics::{self, Metrics, Rejection, Transport};
use auth::{Access, StartError, check_start};
use guard::{Guard, GuardOptions};
use health::Health;
use listener::{BindError, ListenerOptions, Peer};
use sse::{SseControl, SseOptions};

/// How often it is looked whether connections are still open, when it is time to stop.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How long an answer takes at most from the end of its call to the connection.
const ON_THEIR_WAY: Duration = Duration::from_millis(500);

/// How long the last answers may take to be written, when no call runs any more.
const LAST_ANSWERS: Duration = Duration::from_secs(2);

/// How HTTP is served.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Where.
    pub address: SocketAddr,
    /// Who and what is let through.
    pub guard: GuardOptions,
    /// Connections.
    pub listener: ListenerOptions,
    /// `/mcp`.
    pub mcp: McpOptions,
    /// `/sse`, if it is served.
    pub sse: Option<SseOptions>,
}

/// What the routes tell of.
pub struct HttpParts {
    /// The tools.
    pub registry: Arc<Registry>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// How everything is.
    pub health: Arc<Health>,
    /// Who watches calls come along.
    pub progress: Arc<ProgressHub>,
}

/// Why HTTP can't be served.
#[derive(Debug, Error)]
pub enum HttpError {
    /// It would be open to anyone.
    #[error(transparent)]
    Open(#[from] StartError),
    /// The address can't be listened on.
    #[error(transparent)]
    Bind(#[from] BindError),
}

/// A server that listens, and serves when it is told to.
pub struct Http {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    options: ListenerOptions,
    sse: Option<SseControl>,
    registry: Arc<Registry>,
    progress: Arc<ProgressHub>,
    draining: CancellationToken,
    stopped: CancellationToken,
}

impl Http {
    /// Begins to listen. `make` gives a handler for each connection, or each request where the
    /// transport knows no connections.
    pub async fn bind<H: ServerHandler + Send + Sync + 'static>(
        make: impl Fn() -> H + Clone + Send + Sync + 'static,
        parts: HttpParts,
        access: Access,
        options: HttpOptions,
    ) -> Result<Self, HttpError> {
        check_start(options.address.ip(), &access)?;
        let listener = listener::bind(options.address).await?;
        let address = listener.local_addr().unwrap_or(options.address);
        let (draining, stopped) = (CancellationToken::new(), CancellationToken::new());
        let mut guard = options.guard;
        guard.bind = address.ip();
        let token = !access.is_open();
        let guard = Guard::new(&guard, access);
        let (mcp, mcp_control) = mcp_routes(
            make.clone(),
            &options.mcp,
            draining.clone(),
            stopped.clone(),
        );
        let mut router = mcp
            .merge(health::routes(parts.health))
            .merge(metrics::routes(
                parts.metrics.clone(),
                parts.registry.clone(),
            ))
            .merge(progress_routes(parts.progress.clone()))
            .merge(page::routes(&parts.registry, token));
        let mut control = None;
        if let Some(sse) = options.sse {
            let (routes, sse) = sse::routes(make, sse);
            router = router.merge(routes);
            control = Some(sse);
        }
        let connections = options.listener.count.clone();
        let watchers = parts.progress.clone();
        parts
            .metrics
            .watch(Transport::Http, move || connections.active());
        let metrics = &parts.metrics;
        metrics.watch(Transport::HttpSession, move || mcp_control.sessions());
        parts
            .metrics
            .watch(Transport::WebSocket, move || watchers.active());
        if let Some(sse) = control.clone() {
            parts.metrics.watch(Transport::Sse, move || sse.active());
        }
        let router = guard
            .protect(router)
            .layer(axum::middleware::from_fn_with_state(
                parts.metrics.clone(),
                around_the_guard,
            ))
            .layer(axum::middleware::from_fn_with_state(
                parts.metrics,
                metrics::track,
            ));
        Ok(Self {
            listener,
            address,
            router,
            options: options.listener,
            sse: control,
            registry: parts.registry,
            progress: parts.progress,
            draining,
            stopped,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown`. Then no new calls are taken; what runs may end within the grace, and
    /// until then the other routes answer, so that whoever asks hears that it is about to stop.
    pub async fn serve(self, shutdown: CancellationToken) {
        let grace = self.options.grace;
        let closing = CancellationToken::new();
        let connections = self.options.count.clone();
        let ending = async {
            shutdown.cancelled().await;
            self.draining.cancel();
            self.progress.close();
            let idle = async {
                if let Some(sse) = &self.sse {
                    sse.drain(grace).await;
                }
                self.registry.idle().await;
            };
            if tokio::time::timeout(grace, idle).await.is_err() {
                tracing::warn!("the grace is over; what still runs is cut off");
            }
            closing.cancel();
            // Answers of calls that have just ended are on their way through the SDK; what is left
            // then are streams that only wait for news.
            let closed = async {
                while connections.active() > 0 {
                    tokio::time::sleep(LOOK_EVERY).await;
                }
            };
            drop(tokio::time::timeout(ON_THEIR_WAY, closed).await);
            self.stopped.cancel();
        };
        let options = ListenerOptions {
            grace: LAST_ANSWERS,
            ..self.options
        };
        let serving = listener::serve(self.listener, self.router, options, closing.clone());
        tokio::join!(serving, ending);
    }
}

/// What the routes want to know of the connection a request came over, and what is counted of those
/// that the guard sends away.
async fn around_the_guard(
    State(metrics): State<Arc<Metrics>>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Some(peer) = request.extensions().get::<Peer>() {
        let remote = axum::extract::ConnectInfo(peer.remote);
        request.extensions_mut().insert(remote);
    }
    let response = next.run(request).await;
    if let Some(guard::Refused(code)) = response.extensions().get() {
        metrics.rejected(reason(code));
    }
    response
}

fn reason(code: &str) -> Rejection {
    match code {
        "host_missing" | "host_refused" => Rejection::Host,
        "origin_refused" => Rejection::Origin,
        "rate_limited" | "too_many_at_once" | "server_busy" => Rejection::Rate,
        "body_broken" | "body_too_large" | "body_too_slow" | "not_json" => Rejection::Body,
        "method_refused" => Rejection::Header,
        _ => Rejection::Auth,
    }
}
