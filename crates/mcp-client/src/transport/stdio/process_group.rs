//! A program and its descendants, terminated together: first by closing its input, then with
//! SIGTERM, then with SIGKILL.

use std::{io, process::ExitStatus, time::Duration};

use tokio::{process::Child, time::timeout};

/// The time that a program has to exit by itself once its input is closed.
const EXIT_GRACE: Duration = Duration::from_secs(2);

/// The time that it has once it was sent a termination signal.
const TERMINATE_GRACE: Duration = Duration::from_secs(1);

/// The time that the descendants have once the program is gone.
#[cfg(unix)]
const DESCENDANT_GRACE: Duration = Duration::from_millis(500);

/// The interval for checking on descendants, whose end cannot be awaited.
#[cfg(unix)]
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A program and its descendants. Remaining processes are killed when this is dropped.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    child: Child,
    /// The process group, whose id is that of the program.
    #[cfg(unix)]
    group: Option<rustix::process::Pid>,
}

impl ProcessGroup {
    pub(super) fn new(child: Child) -> Self {
        Self {
            #[cfg(unix)]
            group: child
                .id()
                .and_then(|id| i32::try_from(id).ok())
                .and_then(rustix::process::Pid::from_raw),
            child,
        }
    }

    /// Waits for the program itself.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Terminates the program. Its input is closed already, which makes most programs exit.
    pub(super) async fn terminate(&mut self) {
        if timeout(EXIT_GRACE, self.child.wait()).await.is_err() {
            self.send_terminate();
            if timeout(TERMINATE_GRACE, self.child.wait()).await.is_err() {
                self.kill();
                let _ = self.child.wait().await;
                return;
            }
        }
        self.terminate_descendants().await;
    }

    /// Terminates the descendants that the program left behind.
    #[cfg(unix)]
    pub(super) async fn terminate_descendants(&mut self) {
        if self.is_alive() {
            self.send_terminate();
            let gone = async {
                while self.is_alive() {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
            };
            let _ = timeout(DESCENDANT_GRACE, gone).await;
        }
        self.kill();
    }

    /// Kills the program; its descendants are not known on this system.
    #[cfg(not(unix))]
    #[expect(clippy::unused_async, reason = "it waits on other systems")]
    pub(super) async fn terminate_descendants(&mut self) {
        self.kill();
    }

    #[cfg(unix)]
    fn is_alive(&self) -> bool {
        self.group
            .is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok())
    }

    #[cfg(unix)]
    fn send_terminate(&self) {
        if let Some(group) = self.group {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
        }
    }

    #[cfg(not(unix))]
    fn send_terminate(&mut self) {
        let _ = self.child.start_kill();
    }

    /// Kills the whole group; afterwards its id may belong to other processes.
    #[cfg(unix)]
    fn kill(&mut self) {
        if let Some(group) = self.group.take() {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }

    #[cfg(not(unix))]
    fn kill(&mut self) {
        let _ = self.child.start_kill();
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}
