//! Selects the best `k` items in a deterministic order.

/// The best `k` of the pushed items: highest score first, then lowest number.
pub(crate) struct TopK {
    k: usize,
    entries: Vec<(f32, u64)>,
    threshold: f32,
}

fn order(left: &(f32, u64), right: &(f32, u64)) -> std::cmp::Ordering {
    right
        .0
        .total_cmp(&left.0)
        .then_with(|| left.1.cmp(&right.1))
}

impl TopK {
    pub(crate) fn new(k: usize) -> Self {
        Self {
            k: k.max(1),
            entries: Vec::with_capacity(k.clamp(1, 4096) * 2),
            threshold: f32::NEG_INFINITY,
        }
    }

    /// The minimum score that can still enter.
    pub(crate) fn threshold(&self) -> f32 {
        self.threshold
    }

    #[inline]
    pub(crate) fn push(&mut self, score: f32, number: u64) {
        if score < self.threshold || score.is_nan() {
            return;
        }
        self.entries.push((score, number));
        if self.entries.len() >= self.k * 2 {
            self.shrink();
        }
    }

    /// Collects twice `k` and cuts at once, which is cheaper than keeping them sorted.
    fn shrink(&mut self) {
        if self.entries.len() <= self.k {
            return;
        }
        let (_, worst, _) = self.entries.select_nth_unstable_by(self.k - 1, order);
        self.threshold = worst.0;
        self.entries.truncate(self.k);
    }

    pub(crate) fn merge(mut self, other: Self) -> Self {
        for (score, number) in other.entries {
            self.push(score, number);
        }
        self
    }

    pub(crate) fn into_sorted(mut self) -> Vec<(f32, u64)> {
        self.shrink();
        self.entries.sort_unstable_by(order);
        self.entries
    }
}

/// Relative difference below which scores are equal: the same sum in another order.
const TIE_TOLERANCE: f32 = 2e-6;

/// Orders items of equal score by their keys, in a list sorted by score.
pub(crate) fn break_ties<T>(ranked: &mut [T], score: impl Fn(&T) -> f32, key: impl Fn(&T) -> u64) {
    let same = |left: &T, right: &T| {
        let (left, right) = (score(left), score(right));
        (left - right).abs() <= TIE_TOLERANCE * left.abs()
    };
    for ties in ranked.chunk_by_mut(same) {
        ties.sort_by_key(&key);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{TopK, break_ties, order};

    #[test]
    fn ties_are_settled_by_key_even_when_sums_differ_in_the_last_digit() {
        let settled = |mut ranked: Vec<(f32, u64)>| {
            break_ties(&mut ranked, |one| one.0, |one| one.1);
            ranked.into_iter().map(|(_, key)| key).collect::<Vec<_>>()
        };
        let ranked = vec![(9.0, 7), (5.000_001, 3), (5.0, 1), (5.0, 2), (4.999, 0)];
        assert_eq!(settled(ranked), [7, 1, 2, 3, 0]);
        let ranked = vec![(9.0, 7), (5.000_001, 1), (5.0, 3), (5.0, 2), (4.999, 0)];
        assert_eq!(settled(ranked), [7, 1, 2, 3, 0]);
        assert!(settled(Vec::new()).is_empty());
    }

    proptest! {
        #[test]
        fn the_best_are_kept_in_order(
            scores in prop::collection::vec(-20_i8..20, 0..200),
            k in 1_usize..30,
            cut in 0_usize..200,
        ) {
            let all: Vec<(f32, u64)> = scores
                .iter()
                .enumerate()
                .map(|(number, score)| (f32::from(*score), number as u64))
                .collect();
            let (mut left, mut right) = (TopK::new(k), TopK::new(k));
            for (place, (score, number)) in all.iter().enumerate() {
                let side = if place < cut { &mut left } else { &mut right };
                side.push(*score, *number);
            }
            let mut expected = all;
            expected.sort_by(order);
            expected.truncate(k);
            prop_assert_eq!(left.merge(right).into_sorted(), expected);
        }
    }
}
