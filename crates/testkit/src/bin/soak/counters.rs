//! Counts what the clients observed, and records violations.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The most violations that are recorded; more of the same add nothing.
const MAX_VIOLATIONS: usize = 20;

#[derive(Default)]
pub(crate) struct SoakCounters(Mutex<CounterState>);

#[derive(Default)]
struct CounterState {
    counts: BTreeMap<&'static str, OutcomeCount>,
    violations: Vec<String>,
    unreported: usize,
}

#[derive(Default)]
struct OutcomeCount {
    succeeded: u64,
    failed: u64,
}

impl SoakCounters {
    /// Counts a success.
    pub(crate) fn record_success(&self, what: &'static str) {
        self.inner().counts.entry(what).or_default().succeeded += 1;
    }

    /// Counts a failure, which is a violation.
    pub(crate) fn record_failure(&self, what: &'static str, error: &anyhow::Error) {
        self.inner().counts.entry(what).or_default().failed += 1;
        self.record_violation(format!("{what}: {error:#}"));
    }

    /// Declares an event that must happen at least once in a full run.
    pub(crate) fn expect(&self, what: &'static str) {
        let went = self
            .inner()
            .counts
            .get(what)
            .map_or(0, |count| count.succeeded);
        if went == 0 {
            self.record_violation(format!("never happened: {what}"));
        }
    }

    pub(crate) fn record_violation(&self, what: String) {
        let mut inner = self.inner();
        if inner.violations.len() < MAX_VIOLATIONS && !inner.violations.contains(&what) {
            inner.violations.push(what);
        } else {
            inner.unreported += 1;
        }
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        let inner = self.inner();
        let mut violations = inner.violations.clone();
        if inner.unreported > 0 {
            violations.push(format!("and {} more, of these or others", inner.unreported));
        }
        violations
    }

    fn inner(&self) -> MutexGuard<'_, CounterState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for SoakCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| operation | succeeded | failed |\n|---|---|---|")?;
        for (what, count) in &self.inner().counts {
            writeln!(f, "| {what} | {} | {} |", count.succeeded, count.failed)?;
        }
        writeln!(f)
    }
}
