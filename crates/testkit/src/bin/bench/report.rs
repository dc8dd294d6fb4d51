//! The table that is printed.

use std::fmt;

/// Rows in the order they were measured, and where they were.
pub(crate) struct BenchReport {
    rows: Vec<ReportRow>,
}

/// One figure.
#[derive(Default)]
pub(crate) struct ReportRow {
    /// What was measured.
    pub(crate) label: String,
    /// The floor's figure.
    pub(crate) baseline: String,
    /// The server's figure.
    pub(crate) server: String,
    /// The figure that is judged: a ratio, or what is over the floor.
    pub(crate) result: String,
    /// The bar and whether it is met.
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
        writeln!(f, "| measure | floor | deliberate | judged | bar | |")?;
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
