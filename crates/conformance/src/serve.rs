//! Serves a handler as the product does, with the sessions that the handshake revisions of the suite
//! need. Knows nothing of what the handler does.

use std::{io::Write, net::SocketAddr, sync::Arc, time::Duration};

use deliberate_server::{
    http::{
        Http, HttpOptions, HttpParts, McpOptions, ProgressHub, ProgressOptions, SessionOptions,
        auth::Access,
        guard::GuardOptions,
        health::{Health, HealthSource, Phase, ProviderHealth, ProviderState},
        listener::ListenerOptions,
    },
    metrics::Metrics,
};
use deliberate_toolkit::Registry;
use rmcp::ServerHandler;
use tokio_util::sync::CancellationToken;

/// The longest message.
const BODY_BYTES: usize = 4 * 1024 * 1024;

/// Serves until the process is ended, after it has said where on standard output.
pub(crate) async fn serve<H: ServerHandler + Send + Sync + 'static>(
    make: impl Fn() -> H + Clone + Send + Sync + 'static,
    registry: Arc<Registry>,
    address: SocketAddr,
) -> anyhow::Result<()> {
    let options = HttpOptions {
        address,
        guard: GuardOptions {
            body_bytes: BODY_BYTES,
            ..GuardOptions::default()
        },
        listener: ListenerOptions::default(),
        mcp: McpOptions {
            body_bytes: BODY_BYTES,
            sessions: Some(SessionOptions {
                most: 1_000,
                idle: Duration::from_mins(1),
            }),
        },
        sse: None,
    };
    let parts = HttpParts {
        health: Arc::new(Health::new(HealthSource {
            registry: registry.clone(),
            phase: Box::new(|| Phase::Serving),
            transports: Box::new(Vec::new),
            provider: Box::new(|| {
                Box::pin(async {
                    ProviderHealth {
                        state: ProviderState::Client,
                        description: "the client".to_owned(),
                    }
                })
            }),
        })),
        registry,
        metrics: Arc::new(Metrics::new()),
        progress: ProgressHub::new(ProgressOptions::default()),
    };
    let http = Http::bind(make, parts, Access::open(), options).await?;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "listening {}", http.address())?;
    stdout.flush()?;
    drop(stdout);
    http.serve(CancellationToken::new()).await;
    Ok(())
}
