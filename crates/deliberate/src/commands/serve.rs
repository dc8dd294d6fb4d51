//! `deliberate serve`.

use std::{io, process::ExitCode, sync::Arc};

use anyhow::Context;
use deliberate_server::{
    Face,
    stdio::{self, StdioOptions},
};
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

use crate::{config::Loaded, wiring};

pub(crate) fn run(loaded: &Loaded) -> anyhow::Result<ExitCode> {
    // Two threads: one may be busy with a burst of calls while the other keeps answering pings.
    // One alone is a tenth faster for a single call and fails to answer some pings within 5 ms.
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("the runtime can't be started")?;
    let served = runtime.block_on(serve(loaded));
    // Standard input may be read by a blocked thread that never ends.
    runtime.shutdown_background();
    served
}

async fn serve(loaded: &Loaded) -> anyhow::Result<ExitCode> {
    let wired = wiring::wire(loaded)?;
    let limits = &loaded.settings.limits;
    let shutdown = CancellationToken::new();
    stop_on_signal(shutdown.clone()).context("signals can't be heard")?;
    let registry = Arc::new(wired.registry);
    let store = registry.store().clone();
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        database = %loaded.settings.database.path.display(),
        "serving MCP on standard input and output"
    );
    let options = StdioOptions {
        line_bytes: limits.line_bytes,
        grace: limits.shutdown,
        shutdown,
    };
    let served = stdio::serve(Face::new(registry), options).await;
    store.close().await;
    served.context("serving standard input and output failed")?;
    tracing::info!("the client has gone; stopped");
    Ok(ExitCode::SUCCESS)
}

/// What is committed is safe, and who asks twice does not want to wait.
#[cfg(unix)]
#[expect(clippy::exit, reason = "a second signal means now")]
fn stop_at_once() -> ! {
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
            stop_at_once();
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
