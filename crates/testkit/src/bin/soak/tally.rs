//! What the clients saw, counted by what they did; and what must not be.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// More of the same say nothing new.
const MOST_VIOLATIONS: usize = 20;

#[derive(Default)]
pub(crate) struct Tally(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    counts: BTreeMap<&'static str, Count>,
    violations: Vec<String>,
    untold: usize,
}

#[derive(Default)]
struct Count {
    well: u64,
    failed: u64,
}

impl Tally {
    /// Something went as it should.
    pub(crate) fn well(&self, what: &'static str) {
        self.inner().counts.entry(what).or_default().well += 1;
    }

    /// Something did not, and that is a violation.
    pub(crate) fn failed(&self, what: &'static str, error: &anyhow::Error) {
        self.inner().counts.entry(what).or_default().failed += 1;
        self.violated(format!("{what}: {error:#}"));
    }

    /// Something that should happen at least once in a whole run.
    pub(crate) fn expects(&self, what: &'static str) {
        let went = self.inner().counts.get(what).map_or(0, |count| count.well);
        if went == 0 {
            self.violated(format!("not once: {what}"));
        }
    }

    pub(crate) fn violated(&self, what: String) {
        let mut inner = self.inner();
        if inner.violations.len() < MOST_VIOLATIONS && !inner.violations.contains(&what) {
            inner.violations.push(what);
        } else {
            inner.untold += 1;
        }
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        let inner = self.inner();
        let mut violations = inner.violations.clone();
        if inner.untold > 0 {
            violations.push(format!("and {} more, of these or others", inner.untold));
        }
        violations
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | went well | failed |\n|---|---|---|")?;
        for (what, count) in &self.inner().counts {
            writeln!(f, "| {what} | {} | {} |", count.well, count.failed)?;
        }
        writeln!(f)
    }
}
