//! A program and all it started, ended as one: first asked, then told, then killed.

use std::{io, process::ExitStatus, time::Duration};

use tokio::{process::Child, time::timeout};

/// How long a program may take to go by itself, once its input is closed.
const GRACE: Duration = Duration::from_secs(2);

/// How long it may take once it is told to.
const TOLD: Duration = Duration::from_secs(1);

/// How long those are waited for that the program left behind.
#[cfg(unix)]
const REST_GRACE: Duration = Duration::from_millis(500);

/// How often it is looked whether those are gone whose end can't be waited for.
#[cfg(unix)]
const LOOK: Duration = Duration::from_millis(20);

/// A program and all it started. What is left of it is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Family {
    child: Child,
    /// The program's group, which has its id.
    #[cfg(unix)]
    group: Option<rustix::process::Pid>,
}

impl Family {
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
    pub(super) async fn exit(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Ends it. Its input is closed already, which for most is the sign to go.
    pub(super) async fn end(&mut self) {
        if timeout(GRACE, self.child.wait()).await.is_err() {
            self.ask_to_end();
            if timeout(TOLD, self.child.wait()).await.is_err() {
                self.kill();
                let _ = self.child.wait().await;
                return;
            }
        }
        self.end_rest().await;
    }

    /// Ends what the program started and left behind.
    #[cfg(unix)]
    pub(super) async fn end_rest(&mut self) {
        if self.is_there() {
            self.ask_to_end();
            let gone = async {
                while self.is_there() {
                    tokio::time::sleep(LOOK).await;
                }
            };
            let _ = timeout(REST_GRACE, gone).await;
        }
        self.kill();
    }

    /// Ends what the program started and left behind: not known on this system.
    #[cfg(not(unix))]
    #[expect(clippy::unused_async, reason = "elsewhere it waits")]
    pub(super) async fn end_rest(&mut self) {
        self.kill();
    }

    #[cfg(unix)]
    fn is_there(&self) -> bool {
        self.group
            .is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok())
    }

    #[cfg(unix)]
    fn ask_to_end(&self) {
        if let Some(group) = self.group {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
        }
    }

    #[cfg(not(unix))]
    fn ask_to_end(&mut self) {
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

impl Drop for Family {
    fn drop(&mut self) {
        self.kill();
    }
}
