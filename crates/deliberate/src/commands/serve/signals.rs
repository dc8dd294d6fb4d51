//! The signals of a running server: SIGTERM and Ctrl-C stop it, SIGHUP reloads the settings.

use std::{io, time::Duration};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Cancels `shutdown` at the first SIGTERM or Ctrl-C. The second one ends the process, and so does
/// the time limit of the shutdown. A thread of its own does this, so that no call can hold it up.
/// Each SIGHUP is passed on, unless it means that the terminal was closed, which stops the server.
#[cfg(unix)]
pub(super) fn listen(
    shutdown: CancellationToken,
    limit: Duration,
) -> io::Result<mpsc::Receiver<()>> {
    use std::io::IsTerminal as _;

    use tokio::signal::unix::{SignalKind, signal};

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (mut terminate, mut interrupt, mut hangup) = {
        let _guard = runtime.enter();
        (
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
            signal(SignalKind::hangup())?,
        )
    };
    let (reload, hangups) = mpsc::channel(1);
    let had_terminal = io::stdin().is_terminal();
    let wait = async move {
        let mut signaled = async || {
            loop {
                tokio::select! {
                    _ = terminate.recv() => return,
                    _ = interrupt.recv() => return,
                    _ = hangup.recv() => {
                        if had_terminal && !io::stdin().is_terminal() {
                            return;
                        }
                        // One that already waits reads the same settings.
                        let _ = reload.try_send(());
                    }
                }
            }
        };
        signaled().await;
        tracing::info!("stopping; waiting for running calls");
        shutdown.cancel();
        if tokio::time::timeout(limit, signaled()).await.is_err() {
            tracing::error!("a call can't be stopped; ending the process");
        }
        exit_immediately(130);
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || runtime.block_on(wait))?;
    Ok(hangups)
}

/// Cancels `shutdown` at Ctrl-C. Nothing is reloaded.
#[cfg(not(unix))]
pub(super) fn listen(
    shutdown: CancellationToken,
    _limit: Duration,
) -> io::Result<mpsc::Receiver<()>> {
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            shutdown.cancel();
        }
    });
    Ok(mpsc::channel(1).1)
}

/// Ends the process without waiting for its threads. Committed data is safe.
#[cfg(unix)]
#[expect(clippy::exit, reason = "the other threads may never end")]
fn exit_immediately(code: i32) -> ! {
    std::process::exit(code)
}
