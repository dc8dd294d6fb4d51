//! A program and all it started, ended as one: first asked, then told, then killed.

use std::{io, process::ExitStatus, time::Duration};

use tokio::{process::Child, time::timeout};

/// How long a program may take to go by itself, once its input is closed.
const EXIT_GRACE: Duration = Duration::from_secs(2);

/// How long it may take once it is told to.
const TERMINATE_GRACE: Duration = Duration::from_secs(1);

/// How long those are waited for that the program left behind.
#[cfg(unix)]
const DESCENDANT_GRACE: Duration = Duration::from_millis(500);

/// How often it is looked whether those are gone whose end can't be waited for.
#[cfg(unix)]
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A program and all it started. What is left of it is killed when this is dropped.
#[derive(Debug)]
pub(super) struct ProcessGroup {
    child: Child,
    /// The program's group, which has its id.
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

    /// Ends it. Its input is closed already, which for most is the sign to go.
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

    /// Ends what the program started and left behind.
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

    /// Ends what the program started and left behind: not known on this system.
    #[cfg(not(unix))]
    #[expect(clippy::unused_async, reason = "elsewhere it waits")]
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

    /// Kills all of it; the group's id may belong to others afterwards.
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
