//! Statistics of success on the same tasks: one rate, and the difference between two arms.

use crate::SplitMix64;

/// The quantile of the normal distribution for an interval of 95 percent.
const Z95: f64 = 1.959_963_984_540_054;

const BOOTSTRAP_SAMPLES: usize = 10_000;

/// An interval of rates or of differences of rates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateInterval {
    pub low: f64,
    pub high: f64,
}

/// Returns Wilson's 95 percent interval of a rate. Without trials nothing is known: 0 to 1.
pub fn wilson_interval(successes: usize, trials: usize) -> RateInterval {
    if trials == 0 {
        return RateInterval {
            low: 0.0,
            high: 1.0,
        };
    }
    let n = trials as f64;
    let rate = successes as f64 / n;
    let z2 = Z95 * Z95;
    let center = (rate + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z95 / (1.0 + z2 / n) * (rate * (1.0 - rate) / n + z2 / (4.0 * n * n)).sqrt();
    RateInterval {
        low: (center - half).max(0.0),
        high: (center + half).min(1.0),
    }
}

/// Returns the two-sided p of `McNemar`'s exact test. The arguments are the tasks that only the one
/// and only the other arm solved.
pub fn mcnemar_exact(only_first: usize, only_second: usize) -> f64 {
    let n = only_first + only_second;
    let fewer = only_first.min(only_second);
    // Binomial probabilities with p = 1/2, in logarithms, so that no number of tasks is too large.
    let mut log_choose = 0.0_f64;
    let mut tail = 0.0;
    let log_all = n as f64 * std::f64::consts::LN_2;
    for k in 0..=fewer {
        tail += (log_choose - log_all).exp();
        log_choose += ((n - k) as f64).ln() - ((k + 1) as f64).ln();
    }
    (2.0 * tail).min(1.0)
}

/// The difference of success between two arms on the same tasks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairedDifference {
    /// The rate of the first arm minus that of the second.
    pub difference: f64,
    /// The 95 percent interval, by bootstrap over tasks.
    pub interval: RateInterval,
    /// Tasks that only the first arm solved.
    pub only_first: usize,
    /// Tasks that only the second arm solved.
    pub only_second: usize,
    /// The p of `McNemar`'s exact test.
    pub p: f64,
}

/// Compares two arms. Each pair is a task: whether the first and whether the second solved it. The
/// same seed gives the same interval.
pub fn paired_difference(pairs: &[(bool, bool)], seed: u64) -> PairedDifference {
    let only_first = pairs.iter().filter(|pair| **pair == (true, false)).count();
    let only_second = pairs.iter().filter(|pair| **pair == (false, true)).count();
    let n = pairs.len().max(1) as f64;
    PairedDifference {
        difference: (only_first as f64 - only_second as f64) / n,
        interval: bootstrap_interval(pairs, seed),
        only_first,
        only_second,
        p: mcnemar_exact(only_first, only_second),
    }
}

fn bootstrap_interval(pairs: &[(bool, bool)], seed: u64) -> RateInterval {
    let mut random = SplitMix64::new(seed);
    let n = pairs.len().max(1) as f64;
    let mut differences: Vec<f64> = (0..BOOTSTRAP_SAMPLES)
        .map(|_| {
            let drawn = (0..pairs.len()).filter_map(|_| pairs.get(random.below(pairs.len())));
            let sum: i32 = drawn
                .map(|(first, second)| i32::from(*first) - i32::from(*second))
                .sum();
            f64::from(sum) / n
        })
        .collect();
    differences.sort_unstable_by(f64::total_cmp);
    let at = |index: usize| differences.get(index).copied().unwrap_or_default();
    RateInterval {
        low: at(BOOTSTRAP_SAMPLES / 40),
        high: at(BOOTSTRAP_SAMPLES - 1 - BOOTSTRAP_SAMPLES / 40),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-4, "{found} is not {expected}");
    }

    #[test]
    fn wilson_agrees_with_published_values() {
        let some = wilson_interval(15, 148);
        assert_close(some.low, 0.0624);
        assert_close(some.high, 0.1605);
        let none = wilson_interval(0, 20);
        assert_close(none.low, 0.0);
        assert_close(none.high, 0.1611);
    }

    #[test]
    fn mcnemar_is_a_two_sided_binomial_test() {
        assert_close(mcnemar_exact(0, 0), 1.0);
        assert_close(mcnemar_exact(0, 6), 0.03125);
        assert_close(mcnemar_exact(9, 3), 0.145_996);
        assert_close(mcnemar_exact(5, 5), 1.0);
        assert!(mcnemar_exact(2000, 100) < 1e-9);
    }

    #[test]
    fn a_paired_difference_has_an_interval_around_it() {
        let mut pairs = vec![(true, true); 20];
        pairs.extend([(true, false); 15]);
        pairs.extend([(false, true); 5]);
        pairs.extend([(false, false); 20]);
        let found = paired_difference(&pairs, 1);
        assert_close(found.difference, 10.0 / 60.0);
        assert_eq!((found.only_first, found.only_second), (15, 5));
        // The normal approximation gives 0.03 to 0.31.
        assert!((found.interval.low - 0.03).abs() < 0.03, "{found:?}");
        assert!((found.interval.high - 0.31).abs() < 0.03, "{found:?}");
        assert_eq!(found, paired_difference(&pairs, 1));
    }
}
