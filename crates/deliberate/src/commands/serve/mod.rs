//! `deliberate serve`: runs the transports with shared state and shuts them down.

mod allocator;
mod file_limit;
mod http;
pub(crate) mod http_exposure;
mod http_reload;
pub(crate) mod http_tokens;
mod log_retention;
pub(crate) mod reload;
mod servers_watch;
mod signals;
mod transport_state;
mod transports;

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
    sync::{Arc, OnceLock},
    time::Duration,
};

use anyhow::{Context, bail};
use deliberate_gateway::Gateway;
use deliberate_server::{
    McpHandler, McpOptions,
    http::auth::SharedTokens,
    metrics::TransportKind,
    stdio::{self, SessionEnd, StdioOptions},
};
use deliberate_toolkit::Registry;
use tokio::{runtime::Builder, task::JoinHandle};
use tokio_util::sync::CancellationToken;

pub(crate) use transports::ServeArgs;

use crate::{
    config::{AppSettings, LoadedConfig},
    telemetry::Telemetry,
    wiring::{self, App},
};
use http_reload::RunningHttp;
use log_retention::RetentionReload;
use reload::{ReloadSource, Reloader};
use servers_watch::ServersReload;
use transport_state::{TransportName, TransportStates};
use transports::Transports;

/// Time that cancelled calls get to report their cancellation.
const CANCEL_GRACE: Duration = Duration::from_secs(1);

/// Time for writing the last invocation records, after everything else has ended.
const FLUSH_GRACE: Duration = Duration::from_secs(2);

/// Minimum time that started servers get to stop: a little longer than killing one takes.
const UPSTREAM_STOP_GRACE: Duration = Duration::from_secs(4);

/// Time for sending the last traces.
const TRACE_FLUSH_GRACE: Duration = Duration::from_secs(3);

/// The runtime's threads, also on a machine with two cores. Reading a request of a megabyte takes one of
/// them for a tenth of a second; three such requests at once leave one for pings.
const WORKER_THREADS: usize = 4;

/// How much longer than all of these a shutdown may take before the process is ended.
const EXIT_GRACE: Duration = Duration::from_secs(2);

pub(crate) fn run(
    args: &ServeArgs,
    loaded: &LoadedConfig,
    telemetry: Option<Telemetry>,
    reload_source: ReloadSource,
) -> anyhow::Result<ExitCode> {
    allocator::limit_arenas();
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKER_THREADS)
        .enable_all()
        .build()
        .context("the runtime cannot be started")?;
    let served = runtime.block_on(async {
        let served = serve(args, loaded, reload_source).await;
        if let Some(telemetry) = telemetry {
            telemetry.stop(TRACE_FLUSH_GRACE).await;
        }
        served
    });
    // A blocked thread that never ends may be reading standard input.
    runtime.shutdown_background();
    served
}

async fn serve(
    args: &ServeArgs,
    loaded: &LoadedConfig,
    reload_source: ReloadSource,
) -> anyhow::Result<ExitCode> {
    let mut loaded = loaded.clone();
    let connections = &mut loaded.settings.http.connections;
    *connections = file_limit::fit_connections(*connections);
    let (loaded, settings) = (&loaded, &loaded.settings);
    let shutdown = CancellationToken::new();
    let graces = CANCEL_GRACE + UPSTREAM_STOP_GRACE + FLUSH_GRACE + TRACE_FLUSH_GRACE;
    let limit = settings.limits.shutdown + graces + EXIT_GRACE;
    let hangups = signals::listen(shutdown.clone(), limit);
    let hangups = hangups.context("signal handlers cannot be installed")?;
    let server = DeliberateServer::new(loaded, shutdown)?;
    let transports = Transports::choose(args, settings, io::stdin().is_terminal());
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        database = %settings.database.path.display(),
        "starting"
    );
    // Loaded in the background, so that the handshake does not wait for it.
    if let Some(library) = &server.app.prompt_library {
        library.start();
    }
    if let Some(services) = &server.app.research {
        services.start(&server.registry, server.shutdown.clone());
        for missing in crate::wiring::research::missing_folders(&settings.research) {
            tracing::warn!("{missing}");
        }
    }
    for problem in &server.app.problems {
        tracing::warn!("{problem}");
    }
    if let Some(gateway) = &server.app.gateway {
        gateway.load_stored_definitions().await;
        gateway.start();
    }
    let retention = RetentionReload::new(settings.retention);
    retention.start(server.app.store.clone(), server.shutdown.clone());
    let stopping = server.spawn_shutdown_task(settings.limits.shutdown);
    let mut reloader = Reloader::new(loaded, reload_source);
    reloader.add(Arc::new(http_tokens::TokenReload(server.tokens.clone())));
    reloader.add(Arc::new(server.running_http.clone()));
    reloader.add(Arc::new(retention));
    if let Some(gateway) = &server.app.gateway {
        let servers = Arc::new(ServersReload::new(gateway.clone(), loaded));
        tokio::spawn(servers.clone().watch_files(server.shutdown.clone()));
        reloader.add(servers);
    }
    let reloading = tokio::spawn(reloader.run(hangups));
    let served = server.serve(transports, loaded).await;
    reloading.abort();
    server.shutdown.cancel();
    server.close().await;
    stopping.abort();
    served
}

/// State shared by all transports.
struct DeliberateServer {
    registry: Arc<Registry>,
    handler: McpHandler,
    app: App,
    transport_states: TransportStates,
    /// The tokens that HTTP accepts, if it requires any.
    tokens: Arc<OnceLock<SharedTokens>>,
    running_http: RunningHttp,
    shutdown: CancellationToken,
}

impl DeliberateServer {
    fn new(loaded: &LoadedConfig, shutdown: CancellationToken) -> anyhow::Result<Self> {
        let wired = wiring::build_app(loaded)?;
        let registry = wired.registry.clone();
        let limits = &loaded.settings.limits;
        let options = McpOptions {
            background_after: limits.answer_within,
            // With provider `client`, the connected client must answer, not another model.
            ask_by_input: loaded.settings.provider != "client",
            answer_bytes: limits.answer_bytes,
            http_sessions: loaded.settings.http.sessions,
            ..McpOptions::default()
        };
        let mcp_handler = McpHandler::new(registry.clone(), options)
            .with_subscriptions(wired.subscriptions.clone());
        Ok(Self {
            registry,
            handler: mcp_handler,
            app: wired,
            transport_states: TransportStates::default(),
            tokens: Arc::default(),
            running_http: RunningHttp::default(),
            shutdown,
        })
    }

    /// Ends idle streams when shutdown starts, and cancels everything that still runs when the
    /// grace period is over.
    fn spawn_shutdown_task(&self, grace: Duration) -> JoinHandle<()> {
        let (shutdown, subscriptions) = (self.shutdown.clone(), self.app.subscriptions.clone());
        let registry = self.registry.clone();
        tokio::spawn(async move {
            shutdown.cancelled().await;
            subscriptions.close();
            tokio::time::sleep(grace).await;
            registry.start_shutdown();
        })
    }

    /// Serves until all transports have ended. A transport that cannot start is reported and the
    /// others continue; it is a failure only if none starts.
    async fn serve(
        &self,
        transports: Transports,
        loaded: &LoadedConfig,
    ) -> anyhow::Result<ExitCode> {
        let settings = &loaded.settings;
        let http = match transports.http {
            Some(address) => self.start_http(address, loaded).await,
            None => None,
        };
        if transports.stdio {
            self.transport_states
                .set_serving(TransportName::Stdio, None);
            tracing::info!("serving MCP on standard input and output");
            let end = self.serve_stdio(settings).await;
            // If no client ever connected, such as under a service manager, none has left.
            if http.is_none() || matches!(end, Ok(SessionEnd::Client)) {
                tracing::info!("the client that started the program has disconnected; stopping");
                self.shutdown.cancel();
            }
            self.transport_states.set_off(TransportName::Stdio);
            if http.is_none() {
                self.shutdown.cancel();
                end.context("serving standard input and output failed")?;
            }
        }
        match http {
            Some(http) => http.await.context("serving HTTP failed")?,
            None if transports.stdio => {}
            None => {
                self.shutdown.cancel();
                bail!(
                    "nothing is served: {}",
                    self.transport_states.failure_reasons()
                )
            }
        }
        self.shutdown.cancel();
        tracing::info!("stopped");
        Ok(ExitCode::SUCCESS)
    }

    async fn serve_stdio(&self, settings: &AppSettings) -> io::Result<SessionEnd> {
        let options = StdioOptions {
            line_bytes: settings.limits.line_bytes,
            grace: settings.limits.shutdown + CANCEL_GRACE,
            shutdown: self.shutdown.clone(),
            // A client that started the program ends it by disconnecting.
            client_disconnected: self.shutdown.clone(),
        };
        let _present = self.app.metrics.clients(TransportKind::Stdio).add_client();
        stdio::serve(self.handler.for_connection(), options).await
    }

    async fn start_http(
        &self,
        address: std::net::SocketAddr,
        loaded: &LoadedConfig,
    ) -> Option<JoinHandle<()>> {
        let settings = &loaded.settings;
        match http::start(self, address, loaded).await {
            Ok(http) => {
                let bound = http.local_addr();
                self.running_http.set(bound, http.guard().clone());
                self.transport_states
                    .set_serving(TransportName::Http, Some(bound));
                if settings.http.sse {
                    self.transport_states
                        .set_serving(TransportName::Sse, Some(bound));
                }
                tracing::info!(url = %format!("http://{bound}/mcp"), "serving MCP over HTTP");
                let shutdown = self.shutdown.clone();
                Some(tokio::spawn(http.serve(shutdown)))
            }
            Err(error) => {
                tracing::error!("HTTP is not served: {error:#}");
                let reason = format!("{error:#}");
                if settings.http.sse {
                    self.transport_states
                        .set_failed(TransportName::Sse, reason.clone());
                }
                self.transport_states
                    .set_failed(TransportName::Http, reason);
                None
            }
        }
    }

    /// Ends running calls, writes the remaining records and closes the database.
    async fn close(&self) {
        if let Some(library) = &self.app.prompt_library {
            library.stop();
        }
        tokio::select! {
            biased;
            () = self.registry.wait_background_calls() => {}
            () = self.registry.shutdown_started() => {
                tracing::warn!("stopped before all calls had finished; background calls can be resumed");
            }
        }
        // This includes calls without a client, such as those of the scheduler.
        self.registry.start_shutdown();
        let ended = tokio::time::timeout(CANCEL_GRACE, self.registry.wait_idle());
        if ended.await.is_err() {
            tracing::warn!("some calls did not finish in time");
        }
        if let Some(gateway) = &self.app.gateway {
            stop_upstream_servers(gateway).await;
        }
        let closed = tokio::time::timeout(FLUSH_GRACE, self.registry.close());
        if closed.await.is_err() {
            tracing::warn!("the database could not be closed in time");
        }
    }
}

/// Stops the upstream servers that were started. They get a moment even if calls used up all the
/// time: a child process that is not awaited is left behind.
async fn stop_upstream_servers(gateway: &Gateway) {
    let stopped = tokio::time::timeout(UPSTREAM_STOP_GRACE, gateway.stop());
    if stopped.await.is_err() {
        tracing::warn!("some upstream servers did not stop in time");
    }
}
