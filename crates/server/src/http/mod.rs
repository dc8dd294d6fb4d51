//! MCP over HTTP with its other routes: health, metrics, progress and the landing page.
//!
//! [`guard`] protects every route: it checks host, origin and authentication and applies the client
//! limits. Behind it are the transports, `/mcp` and the older `/sse`. [`listener`] serves the
//! connections.

pub mod auth;
mod batch;
mod body_guard;
pub mod guard;
pub mod health;
mod health_check;
mod jsonrpc_response;
pub mod landing_page;
pub mod limits;
pub mod listener;
mod mcp_sessions;
mod progress;
mod raw_result;
mod raw_session_manager;
pub mod sse;
mod streamable_http;
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

pub use mcp_sessions::SessionOptions;
pub use progress::{ProgressHub, ProgressOptions};
pub use streamable_http::{McpControl, StreamableHttpOptions, routes as mcp_routes};
pub use ws::routes as progress_routes;

use crate::metrics::{self, RejectionReason, ServerMetrics, TransportKind};
use auth::{Access, StartError, check_start};
use guard::{GuardOptions, HttpGuard};
use health::Health;
use listener::{BindError, ConnectionAddrs, ListenerOptions};
use sse::{SseControl, SseOptions};

/// The interval of checks for open connections during shutdown.
const DRAIN_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The longest time from the end of a call until its response reaches the connection.
const RESPONSE_GRACE: Duration = Duration::from_millis(500);

/// How long the last responses may take to be written after all calls have ended.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// The settings of the HTTP server.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    pub address: SocketAddr,
    pub guard: GuardOptions,
    pub listener: ListenerOptions,
    pub mcp: StreamableHttpOptions,
    /// `None` if `/sse` is not served.
    pub sse: Option<SseOptions>,
}

/// The dependencies of the routes.
pub struct HttpServerDeps {
    pub registry: Arc<Registry>,
    pub metrics: Arc<ServerMetrics>,
    pub health: Arc<Health>,
    pub progress: Arc<ProgressHub>,
}

#[derive(Debug, Error)]
pub enum HttpError {
    /// The server would accept every request from other machines.
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Bind(#[from] BindError),
}

/// An HTTP server that listens and waits for [`HttpServer::serve`].
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    options: ListenerOptions,
    sse: Option<SseControl>,
    registry: Arc<Registry>,
    progress: Arc<ProgressHub>,
    guard: Arc<HttpGuard>,
    draining: CancellationToken,
    stopped: CancellationToken,
}

impl HttpServer {
    /// Listens on the address. `make` builds a handler for each connection, or for each request if
    /// the transport has no connections.
    pub async fn bind<H: ServerHandler + Send + Sync + 'static>(
        make: impl Fn() -> H + Clone + Send + Sync + 'static,
        parts: HttpServerDeps,
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
        let guard = HttpGuard::new(&guard, access);
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
            .merge(landing_page::routes(&parts.registry, token));
        let mut control = None;
        if let Some(sse) = options.sse {
            let (routes, sse) = sse::routes(make, sse);
            router = router.merge(routes);
            control = Some(sse);
        }
        let connections = options.listener.open_connections.clone();
        let watchers = parts.progress.clone();
        parts
            .metrics
            .add_client_count(TransportKind::Http, move || connections.active());
        let metrics = &parts.metrics;
        metrics.add_client_count(TransportKind::HttpSession, move || mcp_control.sessions());
        parts
            .metrics
            .add_client_count(TransportKind::WebSocket, move || watchers.active());
        if let Some(sse) = control.clone() {
            parts
                .metrics
                .add_client_count(TransportKind::Sse, move || sse.active());
        }
        let router = guard
            .protect(router)
            .layer(axum::middleware::from_fn_with_state(
                parts.metrics.clone(),
                count_rejections,
            ))
            .layer(axum::middleware::from_fn_with_state(
                parts.metrics,
                metrics::track_request,
            ));
        Ok(Self {
            listener,
            address,
            router,
            options: options.listener,
            sse: control,
            registry: parts.registry,
            progress: parts.progress,
            guard,
            draining,
            stopped,
        })
    }

    /// The guard of all routes, whose limits can be changed.
    pub fn guard(&self) -> &Arc<HttpGuard> {
        &self.guard
    }

    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown`. Then it accepts no new calls; running ones may finish within the
    /// grace period, and until then the other routes answer, so that clients see that the server
    /// stops.
    pub async fn serve(self, shutdown: CancellationToken) {
        let grace = self.options.grace;
        let closing = CancellationToken::new();
        let connections = self.options.open_connections.clone();
        let ending = async {
            shutdown.cancelled().await;
            self.draining.cancel();
            self.progress.close();
            let idle = async {
                if let Some(sse) = &self.sse {
                    sse.drain(grace).await;
                }
                self.registry.wait_idle().await;
            };
            if tokio::time::timeout(grace, idle).await.is_err() {
                tracing::warn!("the grace period is over; running calls are aborted");
            }
            closing.cancel();
            // The responses of calls that just ended are still in the SDK. Connections that remain
            // after that are streams that only wait for notifications.
            let closed = async {
                while connections.active() > 0 {
                    tokio::time::sleep(DRAIN_POLL_INTERVAL).await;
                }
            };
            drop(tokio::time::timeout(RESPONSE_GRACE, closed).await);
            self.stopped.cancel();
        };
        let options = ListenerOptions {
            grace: FLUSH_TIMEOUT,
            ..self.options
        };
        let serving = listener::serve(self.listener, self.router, options, closing.clone());
        tokio::join!(serving, ending);
    }
}

/// Adds the connection's data for the routes, and counts the rejections of the guard.
async fn count_rejections(
    State(metrics): State<Arc<ServerMetrics>>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Some(peer) = request.extensions().get::<ConnectionAddrs>() {
        let remote = axum::extract::ConnectInfo(peer.remote);
        request.extensions_mut().insert(remote);
    }
    let response = next.run(request).await;
    if let Some(guard::HttpRejectionCode(code)) = response.extensions().get() {
        metrics.record_rejection(rejection_reason(code));
    }
    response
}

fn rejection_reason(code: &str) -> RejectionReason {
    match code {
        "host_missing" | "host_refused" => RejectionReason::Host,
        "origin_refused" => RejectionReason::Origin,
        "rate_limited" | "too_many_at_once" | "server_busy" => RejectionReason::Rate,
        "body_broken" | "body_too_large" | "body_too_slow" | "not_json" => RejectionReason::Body,
        "method_refused" => RejectionReason::Header,
        _ => RejectionReason::Auth,
    }
}
