//! The processes that a child process started, ended together with it.

#[cfg(unix)]
use std::sync::atomic::{AtomicI32, Ordering};

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// The process group of a child that was started as its leader: the child and every process that it
/// started and that did not leave the group. They are killed when this is dropped. On other systems
/// than Unix the group is not known.
#[derive(Debug)]
pub struct ProcessGroup {
    #[cfg(unix)]
    leader: AtomicI32,
}

#[cfg(unix)]
impl ProcessGroup {
    /// Creates the group of the child with this process id; none if the child was awaited already.
    pub fn new(child: Option<u32>) -> Self {
        let leader = child.and_then(|id| i32::try_from(id).ok());
        Self {
            leader: leader.unwrap_or_default().into(),
        }
    }

    /// Returns true if a process of the group is left.
    pub fn is_alive(&self) -> bool {
        let leader = Pid::from_raw(self.leader.load(Ordering::Relaxed));
        leader.is_some_and(|leader| test_kill_process_group(leader).is_ok())
    }

    /// Asks the processes to end.
    pub fn terminate(&self) {
        if let Some(leader) = Pid::from_raw(self.leader.load(Ordering::Relaxed)) {
            let _ = kill_process_group(leader, Signal::TERM);
        }
    }

    /// Kills the processes, once: afterwards the id of the group may belong to others.
    pub fn kill(&self) {
        if let Some(leader) = Pid::from_raw(self.leader.swap(0, Ordering::Relaxed)) {
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

#[cfg(not(unix))]
impl ProcessGroup {
    /// Creates the group of the child with this process id.
    pub fn new(_: Option<u32>) -> Self {
        Self {}
    }

    /// Returns false, because the group is not known.
    pub fn is_alive(&self) -> bool {
        false
    }

    /// Does nothing.
    pub fn terminate(&self) {}

    /// Does nothing: a child itself is killed when it is dropped.
    pub fn kill(&self) {}
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::{
        io::Read as _,
        os::unix::process::CommandExt as _,
        process::{Command, Stdio},
    };

    use super::*;

    #[test]
    fn what_a_child_started_ends_with_its_group() {
        let mut child = Command::new("sh")
            .args(["-c", "sleep 600 & sleep 600"])
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let group = ProcessGroup::new(Some(child.id()));
        assert!(group.is_alive());
        drop(group);
        // The pipe closes when the last process that holds it is gone.
        let mut output = child.stdout.take().unwrap();
        assert_eq!(output.read_to_end(&mut Vec::new()).unwrap(), 0);
        assert!(!child.wait().unwrap().success());
    }
}
