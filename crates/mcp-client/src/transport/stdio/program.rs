//! A program and its descendants, terminated together: first by closing its input, then with
//! SIGTERM, then with SIGKILL.

use std::{io, process::ExitStatus, time::Duration};

use deliberate_core::ProcessGroup;
use tokio::{process::Child, time::timeout};

/// The time that a program has to exit by itself once its input is closed.
const EXIT_GRACE: Duration = Duration::from_secs(2);

/// The time that it has once it was sent a termination signal.
const TERMINATE_GRACE: Duration = Duration::from_secs(1);

/// The time that the descendants have once the program is gone.
const DESCENDANT_GRACE: Duration = Duration::from_millis(500);

/// The interval for checking on descendants, whose end cannot be awaited.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A program and its descendants. Remaining processes are killed when this is dropped.
#[derive(Debug)]
pub(super) struct StdioProgram {
    group: ProcessGroup,
    child: Child,
}

impl StdioProgram {
    pub(super) fn new(child: Child) -> Self {
        Self {
            group: ProcessGroup::new(child.id()),
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
            self.group.terminate();
            // Only on Unix a program can be asked to end.
            #[cfg(not(unix))]
            self.kill();
            if timeout(TERMINATE_GRACE, self.child.wait()).await.is_err() {
                self.kill();
                let _ = self.child.wait().await;
                return;
            }
        }
        self.terminate_descendants().await;
    }

    /// Terminates the descendants that the program left behind.
    pub(super) async fn terminate_descendants(&mut self) {
        if self.group.is_alive() {
            self.group.terminate();
            let gone = async {
                while self.group.is_alive() {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
            };
            let _ = timeout(DESCENDANT_GRACE, gone).await;
        }
        self.kill();
    }

    fn kill(&mut self) {
        self.group.kill();
        #[cfg(not(unix))]
        let _ = self.child.start_kill();
    }
}
