//! The table of results.

use std::fmt;

/// The rows in the order they were measured.
pub(crate) struct BenchReport {
    rows: Vec<ReportRow>,
}

/// One figure.
#[derive(Default)]
pub(crate) struct ReportRow {
    pub(crate) label: String,
    pub(crate) baseline: String,
    pub(crate) server: String,
    /// The judged figure: a ratio, or the overhead above the baseline.
    pub(crate) result: String,
    /// The target and whether it is met.
    pub(crate) bar: Option<(String, bool)>,
}

impl BenchReport {
    pub(crate) fn new() -> Self {
        Self { rows: Vec::new() }
    }

    pub(crate) fn add(&mut self, row: ReportRow) {
        self.rows.push(row);
    }
}

impl fmt::Display for BenchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| measure | baseline | deliberate | judged | target | |")?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        for row in &self.rows {
            let (bar, verdict) = match &row.bar {
                Some((bar, true)) => (bar.as_str(), "met"),
                Some((bar, false)) => (bar.as_str(), "**not met**"),
                None => ("", ""),
            };
            let ReportRow {
                label: what,
                baseline: floor,
                server,
                result: judged,
                ..
            } = row;
            writeln!(
                f,
                "| {what} | {floor} | {server} | {judged} | {bar} | {verdict} |"
            )?;
        }
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load: Vec<&str> = load.split(' ').take(3).collect();
        writeln!(
            f,
            "\n{cores} cores; load averages at the end: {}.",
            load.join(", ")
        )
    }
}
