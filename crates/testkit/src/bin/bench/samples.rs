//! Repeated measurements of one operation.

use std::{fmt, time::Duration};

/// Measured times.
#[derive(Debug, Clone, Default)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    pub(crate) fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    pub(crate) fn extend(&mut self, times: impl IntoIterator<Item = Duration>) {
        self.0.extend(times);
    }

    pub(crate) fn median(&self) -> Duration {
        self.percentile(50.0)
    }

    pub(crate) fn p99(&self) -> Duration {
        self.percentile(99.0)
    }

    /// Formats these percentiles; 0 is the fastest sample and 100 the slowest.
    pub(crate) fn percentiles(&self, percents: &[u8]) -> String {
        let times = percents.iter().map(|percent| {
            let time = self.percentile(f64::from(*percent));
            DisplayTime(time).to_string()
        });
        times.collect::<Vec<_>>().join(" / ")
    }

    /// Returns the smallest time that at least this percentage of the samples does not exceed.
    fn percentile(&self, percent: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() as f64 * percent / 100.0).ceil();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a rank is between 0 and the number of samples"
        )]
        let index = (rank as usize).saturating_sub(1);
        sorted.get(index).copied().unwrap_or_default()
    }
}

/// Formats a time in a suitable unit.
pub(crate) struct DisplayTime(pub(crate) Duration);

impl fmt::Display for DisplayTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_secs_f64() * 1e3;
        if ms < 1.0 {
            write!(f, "{:.0} µs", ms * 1e3)
        } else if ms < 100.0 {
            write!(f, "{ms:.2} ms")
        } else {
            write!(f, "{ms:.0} ms")
        }
    }
}

/// Returns the median of rates.
pub(crate) fn median_rate(rates: &[f64]) -> f64 {
    let mut sorted = rates.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// Formats an amount of memory.
pub(crate) fn display_mib(kib: u64) -> String {
    format!("{:.1} MB", kib as f64 / 1024.0)
}

/// Returns the ratio of a time to the baseline.
pub(crate) fn ratio(time: Duration, floor: Duration) -> f64 {
    time.as_secs_f64() / floor.as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples() {
        let mut samples = Samples::default();
        for ms in (1..=100).rev() {
            samples.push(Duration::from_millis(ms));
        }
        let found = [samples.median(), samples.p99()];
        assert_eq!(found.map(|time| time.as_millis()), [50, 99]);
        assert_eq!(
            samples.percentiles(&[0, 50, 100]),
            "1.00 ms / 50.00 ms / 100 ms"
        );
        assert_eq!(Samples::default().median(), Duration::ZERO);
    }

    #[test]
    fn times_choose_their_unit() {
        let times = [38, 1_500, 250_000]
            .map(|micros| DisplayTime(Duration::from_micros(micros)).to_string());
        assert_eq!(times, ["38 µs", "1.50 ms", "250 ms"]);
    }
}
