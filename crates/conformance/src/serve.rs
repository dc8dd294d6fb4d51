//! Serves a handler as the product does, with the sessions that the suite's handshake revisions
//! need. It does not know what the handler does.

use std::{io::Write, net::SocketAddr, sync::Arc, time::Duration};

use deliberate_server::{
    http::{
        HttpOptions, HttpServer, HttpServerDeps, ProgressHub, ProgressOptions, SessionOptions,
        StreamableHttpOptions,
        auth::Access,
        guard::GuardOptions,
        health::{Health, HealthSource, ProviderHealth, ProviderState, ServerPhase},
        listener::ListenerOptions,
    },
    metrics::ServerMetrics,
};
use deliberate_toolkit::Registry;
use rmcp::ServerHandler;
use tokio_util::sync::CancellationToken;

const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// Prints the address to standard output and serves until the process is terminated.
pub(crate) async fn serve<H: ServerHandler + Send + Sync + 'static>(
    make: impl Fn() -> H + Clone + Send + Sync + 'static,
    registry: Arc<Registry>,
    address: SocketAddr,
) -> anyhow::Result<()> {
    let options = HttpOptions {
        address,
        guard: GuardOptions {
            body_bytes: MAX_BODY_BYTES,
            ..GuardOptions::default()
        },
        listener: ListenerOptions::default(),
        mcp: StreamableHttpOptions {
            body_bytes: MAX_BODY_BYTES,
            sessions: Some(SessionOptions {
                max_sessions: 1_000,
                idle_timeout: Duration::from_mins(1),
            }),
        },
        sse: None,
    };
    let parts = HttpServerDeps {
        health: Arc::new(Health::new(HealthSource {
            registry: registry.clone(),
            phase: Box::new(|| ServerPhase::Serving),
            transports: Box::new(Vec::new),
            servers: Box::new(Vec::new),
            provider: Box::new(|| {
                Box::pin(async {
                    ProviderHealth {
                        state: ProviderState::Client,
                        description: "the client".to_owned(),
                        retry_after_seconds: None,
                    }
                })
            }),
        })),
        registry,
        metrics: Arc::new(ServerMetrics::new()),
        progress: ProgressHub::new(ProgressOptions::default()),
    };
    let http = HttpServer::bind(make, parts, Access::open(), options).await?;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "listening {}", http.local_addr())?;
    stdout.flush()?;
    drop(stdout);
    http.serve(CancellationToken::new()).await;
    Ok(())
}
