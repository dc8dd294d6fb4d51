//! The server's memory, second by second, and whether it stayed flat.

use std::{
    fmt,
    time::{Duration, Instant},
};

use deliberate_testkit::load::ServerProcess;
use tokio::time::sleep;

use super::counters::SoakCounters;

/// The most growth from the plateau to the end.
const MAX_GROWTH: f64 = 1.3;
/// The value at the end is the median of the last samples, since a single one may catch a burst.
const FINAL_SAMPLES: usize = 5;

#[derive(Default)]
pub(crate) struct MemorySamples {
    start: u64,
    samples: Vec<u64>,
    /// The most memory that the flood added.
    pub(crate) flood: u64,
}

impl MemorySamples {
    /// Takes a sample each second.
    pub(crate) async fn watch(
        &mut self,
        server: &ServerProcess,
        until: Instant,
        seconds: u64,
    ) -> anyhow::Result<()> {
        self.start = server.resident_kib()?;
        let every = Duration::from_secs(1).min(Duration::from_secs(seconds) / 10);
        while Instant::now() < until {
            sleep(every).await;
            self.samples.push(server.resident_kib()?);
        }
        Ok(())
    }

    pub(crate) fn check(&self, tally: &SoakCounters) {
        if self.growth() > MAX_GROWTH {
            tally.record_violation(format!(
                "memory grew {:.2}× from the plateau to the end",
                self.growth()
            ));
        }
    }

    /// Returns the median of the middle third of the time.
    fn plateau(&self) -> u64 {
        let third = self.samples.len() / 3;
        median(self.samples.iter().skip(third).take(third))
    }

    fn end(&self) -> u64 {
        median(self.samples.iter().rev().take(FINAL_SAMPLES))
    }

    fn growth(&self) -> f64 {
        self.end() as f64 / self.plateau().max(1) as f64
    }
}

fn median<'a>(samples: impl Iterator<Item = &'a u64>) -> u64 {
    let mut sorted: Vec<u64> = samples.copied().collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

impl fmt::Display for MemorySamples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mb = |kib: u64| format!("{:.1} MB", kib as f64 / 1024.0);
        let most = self.samples.iter().max().copied().unwrap_or_default();
        writeln!(f, "| memory | |\n|---|---|")?;
        for (what, figure) in [
            ("at the start", mb(self.start)),
            ("on the plateau, the middle third", mb(self.plateau())),
            ("at the end", mb(self.end())),
            ("the most", mb(most)),
            (
                "end against plateau, ≤ 1.3×",
                format!("{:.2}×", self.growth()),
            ),
            (
                "the most private memory that the flood added, < 8 MB",
                mb(self.flood),
            ),
        ] {
            writeln!(f, "| {what} | {figure} |")?;
        }
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_the_end_against_the_middle() {
        let mut memory = MemorySamples {
            samples: (0..60).map(|at| if at < 20 { 50 } else { 100 }).collect(),
            ..MemorySamples::default()
        };
        let tally = SoakCounters::default();
        memory.check(&tally);
        assert!(tally.violations().is_empty());
        memory.samples.extend([140; 5]);
        memory.check(&tally);
        assert_eq!(tally.violations().len(), 1);
    }
}
