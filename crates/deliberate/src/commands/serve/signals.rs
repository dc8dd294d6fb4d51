//! The signals of a running server: SIGTERM and Ctrl-C stop it, SIGHUP reloads the settings.

use std::{io, time::Duration};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

#[cfg(unix)]
use crate::log_queue;

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
        shutdown.cancel();
        tracing::info!("stopping; waiting for running calls");
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

/// Ends the process without waiting for its threads, except a moment for its log. Committed data is
/// safe.
#[cfg(unix)]
#[expect(clippy::exit, reason = "the other threads may never end")]
fn exit_immediately(code: i32) -> ! {
    log_queue::flush();
    std::process::exit(code)
}

#[cfg(all(test, unix))]
#[expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that blocks its own runtime"
)]
mod tests {
    use std::{
        process::{Child, Command},
        time::Instant,
    };

    use super::*;
    use crate::log_queue::LogQueue;

    const CHILD_VARIABLE: &str = "DELIBERATE_TEST_SIGNALS";
    const PATIENCE: Duration = Duration::from_secs(30);

    /// A log that nobody reads: no message is ever written.
    struct BlockedLog;

    impl io::Write for BlockedLog {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            loop {
                std::thread::park();
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Logs into a queue that nobody reads, as a server does.
    fn log_unread() {
        let queue = LogQueue::install(BlockedLog, |_| {}).unwrap();
        tracing_subscriber::fmt()
            .with_writer(move || queue.clone())
            .init();
    }

    /// Listens, and blocks the only thread of the runtime until the process ends.
    fn block_runtime(ready: &str, limit: Duration) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let shutdown = CancellationToken::new();
            let _hangups = listen(shutdown.clone(), limit).unwrap();
            std::fs::write(ready, "").unwrap();
            let started = Instant::now();
            while !shutdown.is_cancelled() && started.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(10));
            }
            std::fs::remove_file(ready).unwrap();
            std::thread::sleep(2 * PATIENCE);
        });
    }

    fn wait_until(mut holds: impl FnMut() -> bool) {
        let started = Instant::now();
        while !holds() {
            assert!(started.elapsed() < PATIENCE, "it takes too long");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn terminate(child: &Child) {
        let pid = child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Runs the test of that name in a child process, and sends it a signal that it must notice.
    fn start_and_terminate(test: &str) -> Child {
        let folder = tempfile::tempdir().unwrap();
        let ready = folder.path().join("ready");
        let name = format!("commands::serve::signals::tests::{test}");
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &name])
            .env(CHILD_VARIABLE, &ready)
            .spawn()
            .unwrap();
        wait_until(|| ready.exists());
        terminate(&child);
        wait_until(|| !ready.exists());
        child
    }

    fn wait_for_exit(mut child: Child) {
        let mut status = None;
        wait_until(|| {
            status = child.try_wait().unwrap();
            status.is_some()
        });
        assert_eq!(status.and_then(|it| it.code()), Some(130));
    }

    #[test]
    fn the_second_signal_ends_a_process_whose_runtime_is_blocked() {
        if let Ok(ready) = std::env::var(CHILD_VARIABLE) {
            return block_runtime(&ready, Duration::from_hours(1));
        }
        let mut child =
            start_and_terminate("the_second_signal_ends_a_process_whose_runtime_is_blocked");
        assert!(child.try_wait().unwrap().is_none(), "the first one waits");
        terminate(&child);
        wait_for_exit(child);
    }

    #[test]
    fn signals_do_not_wait_for_a_log_that_nobody_reads() {
        if let Ok(ready) = std::env::var(CHILD_VARIABLE) {
            log_unread();
            return block_runtime(&ready, Duration::from_hours(1));
        }
        let child = start_and_terminate("signals_do_not_wait_for_a_log_that_nobody_reads");
        terminate(&child);
        wait_for_exit(child);
    }

    #[test]
    fn the_time_limit_does_not_wait_for_a_log_that_nobody_reads() {
        if let Ok(ready) = std::env::var(CHILD_VARIABLE) {
            log_unread();
            return block_runtime(&ready, Duration::from_millis(500));
        }
        let child = start_and_terminate("the_time_limit_does_not_wait_for_a_log_that_nobody_reads");
        wait_for_exit(child);
    }
}
