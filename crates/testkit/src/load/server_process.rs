//! The server process under load: started on a free loopback port, awaited, watched and terminated.

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    net::TcpStream,
    process::{Child, Command},
    time::{sleep, timeout},
};

/// The most time that a server may take to start or to end.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The interval of polling, the shortest of the timer.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// The most bytes of output that are stored.
const MAX_OUTPUT_BYTES: usize = 256 * 1024;

/// A server process; killed when dropped.
#[derive(Debug)]
pub struct ServerProcess {
    child: Child,
    address: SocketAddr,
    output: Arc<Mutex<Vec<u8>>>,
}

impl ServerProcess {
    /// Starts `command` with `--http 127.0.0.1:PORT`; it may not listen yet.
    pub fn spawn(command: &mut Command) -> anyhow::Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        command
            .arg("--http")
            .arg(address.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().context("the server does not start")?;
        let written = Arc::default();
        tokio::spawn(capture_output(child.stdout.take(), Arc::clone(&written)));
        tokio::spawn(capture_output(child.stderr.take(), Arc::clone(&written)));
        Ok(Self {
            child,
            address,
            output: written,
        })
    }

    /// Starts `command` and waits until it listens.
    pub async fn start(command: &mut Command) -> anyhow::Result<Self> {
        let mut server = Self::spawn(command)?;
        server.wait_listening().await?;
        Ok(server)
    }

    /// Waits until a connection is accepted.
    pub async fn wait_listening(&mut self) -> anyhow::Result<()> {
        let begun = Instant::now();
        while TcpStream::connect(self.address).await.is_err() {
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended with {status}:\n{}", self.output());
            }
            if begun.elapsed() > TIMEOUT {
                bail!("the server does not listen:\n{}", self.output());
            }
            sleep(POLL_INTERVAL).await;
        }
        Ok(())
    }

    /// Returns the address on which the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the end of its output to stdout and stderr.
    pub fn output(&self) -> String {
        let bytes = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns its resident memory, in KiB (Linux only).
    pub fn resident_kib(&self) -> anyhow::Result<u64> {
        self.memory_kib("VmRSS:")
    }

    /// Returns the most memory that was resident at once, in KiB (Linux only).
    pub fn peak_kib(&self) -> anyhow::Result<u64> {
        self.memory_kib("VmHWM:")
    }

    /// Returns its private memory, in KiB, without the pages of the program, which grow with the
    /// program (Linux only).
    pub fn private_kib(&self) -> anyhow::Result<u64> {
        self.memory_kib("RssAnon:")
    }

    fn memory_kib(&self, which: &str) -> anyhow::Result<u64> {
        let pid = self.child.id().context("the server has ended")?;
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
        let line = status.lines().find_map(|line| line.strip_prefix(which));
        let number = line.and_then(|line| line.split_whitespace().next());
        Ok(number.context("the server has ended")?.parse()?)
    }

    /// Returns the number of its open files and sockets (Linux only).
    pub fn open_files(&self) -> anyhow::Result<usize> {
        let pid = self.child.id().context("the server has ended")?;
        Ok(std::fs::read_dir(format!("/proc/{pid}/fd"))?.count())
    }

    /// Sends the signal of this name, such as `HUP`.
    pub async fn signal(&self, name: &str) -> anyhow::Result<()> {
        let pid = self.child.id().context("the server has ended")?;
        let mut kill = Command::new("kill");
        let sent = kill.args(["-s", name, &pid.to_string()]).status().await?;
        if !sent.success() {
            bail!("SIG{name} could not be sent to the server");
        }
        Ok(())
    }

    /// Sends SIGTERM and waits for the process to end.
    pub async fn terminate(&mut self) -> anyhow::Result<ExitStatus> {
        self.signal("TERM").await?;
        let ended = timeout(TIMEOUT, self.child.wait()).await;
        Ok(ended.context("the server does not end")??)
    }

    /// Kills the process and waits until it has ended.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        Ok(self.child.kill().await?)
    }
}

/// Returns a port that was free a moment ago.
pub fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

async fn capture_output(from: Option<impl AsyncRead + Unpin>, into: Arc<Mutex<Vec<u8>>>) {
    let Some(mut from) = from else { return };
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let new = buffer.get(..length).unwrap_or_default();
        let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(new);
        let over = kept.len().saturating_sub(MAX_OUTPUT_BYTES);
        kept.drain(..over);
    }
}
