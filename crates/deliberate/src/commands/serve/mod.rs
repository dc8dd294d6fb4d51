//! `deliberate serve`: the transports, what they share, and how it all ends.

mod http;
mod transport_state;
mod transports;

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, bail};
use deliberate_gateway::Gateway;
use deliberate_server::{
    McpHandler, McpOptions,
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
use transport_state::{TransportName, TransportStates};
use transports::Transports;

/// How long calls that are cut off may take to say so.
const CANCEL_GRACE: Duration = Duration::from_secs(1);

/// How long the last records may take to be written, when everything else has ended.
const FLUSH_GRACE: Duration = Duration::from_secs(2);

/// How long servers that were started may at least take to end: a little longer than one that has
/// to be killed.
const UPSTREAM_STOP_GRACE: Duration = Duration::from_secs(4);

/// How long the last traces may take to be sent.
const TRACE_FLUSH_GRACE: Duration = Duration::from_secs(3);

pub(crate) fn run(
    args: &ServeArgs,
    loaded: &LoadedConfig,
    telemetry: Option<Telemetry>,
) -> anyhow::Result<ExitCode> {
    // Two threads: one may be busy with a burst of calls while the other keeps answering pings.
    // One alone is a tenth faster for a single call and fails to answer some pings within 5 ms.
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("the runtime can't be started")?;
    let served = runtime.block_on(async {
        let served = serve(args, loaded).await;
        if let Some(telemetry) = telemetry {
            telemetry.stop(TRACE_FLUSH_GRACE).await;
        }
        served
    });
    // Standard input may be read by a blocked thread that never ends.
    runtime.shutdown_background();
    served
}

async fn serve(args: &ServeArgs, loaded: &LoadedConfig) -> anyhow::Result<ExitCode> {
    let settings = &loaded.settings;
    let shutdown = CancellationToken::new();
    stop_on_signal(shutdown.clone()).context("signals can't be heard")?;
    let house = DeliberateServer::new(loaded, shutdown)?;
    let chosen = Transports::choose(args, settings, io::stdin().is_terminal());
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        database = %settings.database.path.display(),
        "starting"
    );
    // Read in the background: nobody who greets the server waits for it.
    if let Some(shelf) = &house.app.prompt_library {
        shelf.start();
    }
    if let Some(lab) = &house.app.research {
        lab.start(&house.registry, house.shutdown.clone());
        for missing in crate::wiring::research::missing_folders(&settings.research) {
            tracing::warn!("{missing}");
        }
    }
    for problem in &house.app.problems {
        tracing::warn!("{problem}");
    }
    if let Some(gateway) = &house.app.gateway {
        gateway.start();
    }
    let stopping = house.spawn_shutdown_task(settings.limits.shutdown);
    let served = house.serve(chosen, settings).await;
    house.shutdown.cancel();
    house.close().await;
    stopping.abort();
    served
}

/// What all transports share.
struct DeliberateServer {
    registry: Arc<Registry>,
    handler: McpHandler,
    app: App,
    transport_states: TransportStates,
    shutdown: CancellationToken,
}

impl DeliberateServer {
    fn new(loaded: &LoadedConfig, shutdown: CancellationToken) -> anyhow::Result<Self> {
        let wired = wiring::build_app(loaded)?;
        let registry = wired.registry.clone();
        let limits = &loaded.settings.limits;
        let options = McpOptions {
            background_after: limits.answer_within,
            // Who sets that the client thinks wants the one that talks, not a model beside it.
            ask_by_input: loaded.settings.provider != "client",
            answer_bytes: limits.answer_bytes,
            http_sessions: loaded.settings.http.sessions,
            ..McpOptions::default()
        };
        let face = McpHandler::new(registry.clone(), options)
            .with_subscriptions(wired.subscriptions.clone());
        Ok(Self {
            registry,
            handler: face,
            app: wired,
            transport_states: TransportStates::default(),
            shutdown,
        })
    }

    /// When it is time to stop, who only listens is told that it is over; and when the grace is over,
    /// one for all, what still runs is cut off.
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

    /// Serves until all transports have ended. One that can't start is reported, and the others
    /// go on; only if none starts is that a failure.
    async fn serve(&self, chosen: Transports, settings: &AppSettings) -> anyhow::Result<ExitCode> {
        let http = match chosen.http {
            Some(address) => self.start_http(address, settings).await,
            None => None,
        };
        if chosen.stdio {
            self.transport_states
                .set_serving(TransportName::Stdio, None);
            tracing::info!("serving MCP on standard input and output");
            let served = self.serve_stdio(settings).await;
            // Where nobody ever spoke, such as under a service manager, there was no client to leave.
            if http.is_none() || matches!(served, Ok(SessionEnd::Client)) {
                tracing::info!("the client that started the program has left; stopping");
                self.shutdown.cancel();
            }
            self.transport_states.set_off(TransportName::Stdio);
            if http.is_none() {
                self.shutdown.cancel();
                served.context("serving standard input and output failed")?;
            }
        }
        match http {
            Some(http) => http.await.context("serving HTTP failed")?,
            None if chosen.stdio => {}
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
            // A client that started the program ends it by leaving.
            client_disconnected: self.shutdown.clone(),
        };
        let _present = self.app.metrics.clients(TransportKind::Stdio).add_client();
        stdio::serve(self.handler.for_connection(), options).await
    }

    async fn start_http(
        &self,
        address: std::net::SocketAddr,
        settings: &AppSettings,
    ) -> Option<JoinHandle<()>> {
        match http::start(self, address, settings).await {
            Ok(http) => {
                let bound = http.local_addr();
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

    /// Ends what runs on, writes what is left, and lets go of the database.
    async fn close(&self) {
        if let Some(shelf) = &self.app.prompt_library {
            shelf.stop();
        }
        tokio::select! {
            biased;
            () = self.registry.wait_background_calls() => {}
            () = self.registry.shutdown_started() => {
                tracing::warn!("stopped before all calls had ended; who was told so can resume them");
            }
        }
        // Calls that nobody waits for, such as those of the scheduler, among them.
        self.registry.start_shutdown();
        let ended = tokio::time::timeout(CANCEL_GRACE, self.registry.wait_idle());
        if ended.await.is_err() {
            tracing::warn!("not all calls have ended in time");
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

/// Ends the servers that were started. They get a moment even where calls took all the time there
/// was: a child that is not waited for is left behind.
async fn stop_upstream_servers(gateway: &Gateway) {
    let stopped = tokio::time::timeout(UPSTREAM_STOP_GRACE, gateway.stop());
    if stopped.await.is_err() {
        tracing::warn!("not all servers that were started have ended in time");
    }
}

/// What is committed is safe, and who asks twice does not want to wait.
#[cfg(unix)]
#[expect(clippy::exit, reason = "a second signal means now")]
fn exit_immediately() -> ! {
    std::process::exit(130)
}

/// Cancels `shutdown` at the first SIGTERM or Ctrl-C; the second ends the process.
fn stop_on_signal(shutdown: CancellationToken) -> io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            tracing::info!("asked to stop; finishing what runs");
            shutdown.cancel();
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            exit_immediately();
        });
    }
    #[cfg(not(unix))]
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            shutdown.cancel();
        }
    });
    Ok(())
}
