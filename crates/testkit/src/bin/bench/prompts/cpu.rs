//! The cost of calls: CPU time of the server process, and the time a caller waits.

use std::{
    fs,
    time::{Duration, Instant},
};

use anyhow::Context as _;
use deliberate_testkit::StdioClient;

use crate::samples::{DisplayTime, Samples};

/// The resolution of CPU time on Linux, on every machine.
const TICK: Duration = Duration::from_millis(10);

/// Returns the CPU time that a process has used in user and system mode (Linux only). It is counted
/// in whole ticks, so many calls are needed to measure one.
pub(super) fn cpu_time(client: &StdioClient) -> anyhow::Result<Duration> {
    let pid = client.pid().context("the process has ended")?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name is in parentheses and may contain any character; user and system time are the 12th
    // and 13th field after it.
    let (_, fields) = stat.rsplit_once(')').context("no name in stat")?;
    let fields = fields.split_whitespace().skip(11).take(2);
    let ticks = fields.map(str::parse::<u32>).sum::<Result<u32, _>>()?;
    Ok(TICK * ticks)
}

/// The cost of calls of one kind.
#[derive(Default)]
pub(super) struct CpuCost {
    pub(super) waits: Samples,
    cpu: Duration,
    calls: u32,
    /// The CPU time at the start of the current series of calls.
    started_at: Option<Duration>,
}

impl CpuCost {
    /// Starts counting CPU time.
    pub(super) fn begin(&mut self, client: &StdioClient) -> anyhow::Result<()> {
        self.started_at = Some(cpu_time(client)?);
        Ok(())
    }

    /// Adds the duration of one call.
    pub(super) fn add_call(&mut self, since: Instant) {
        self.waits.push(since.elapsed());
        self.calls += 1;
    }

    /// Stops counting CPU time.
    pub(super) fn end(&mut self, client: &StdioClient) -> anyhow::Result<()> {
        if let Some(begun) = self.started_at.take() {
            self.cpu += cpu_time(client)?.saturating_sub(begun);
        }
        Ok(())
    }

    /// Returns the CPU time of one call.
    pub(super) fn per_call(&self) -> Duration {
        self.cpu.checked_div(self.calls).unwrap_or_default()
    }

    pub(super) fn calls(&self) -> u32 {
        self.calls
    }
}

impl std::fmt::Display for CpuCost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let waits = self.waits.percentiles(&[50, 99]);
        write!(f, "{}; {waits}", DisplayTime(self.per_call()))
    }
}

#[cfg(test)]
mod tests {
    use deliberate_testkit::bare_command;

    use super::*;

    #[tokio::test]
    async fn work_shows_in_the_processor_time() {
        let mut command = bare_command("sh");
        command.args([
            "-c",
            "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo {}; cat",
        ]);
        let mut client = StdioClient::spawn(&mut command).unwrap();
        client.next_message().await.unwrap();
        let after = cpu_time(&client).unwrap();
        assert!(after > Duration::ZERO);
        assert!(cpu_time(&client).unwrap() >= after);
    }

    #[test]
    fn nothing_costs_nothing() {
        assert_eq!(CpuCost::default().per_call(), Duration::ZERO);
    }
}
