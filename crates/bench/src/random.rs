//! A small deterministic random generator. Tasks and bootstrap samples depend on it, so its numbers
//! must never change.

/// The generator `SplitMix64` of Steele, Lea and Flood.
#[derive(Debug, Clone)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns a generator whose numbers depend on all parts.
    pub fn from_parts(parts: &[u64]) -> Self {
        let mut generator = Self::new(0);
        for part in parts {
            generator.state ^= *part;
            generator.state = generator.next_u64();
        }
        generator
    }

    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`, and 0 if the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX).max(1);
        let product = u128::from(self.next_u64()) * u128::from(bound);
        usize::try_from(product >> 64).unwrap_or_default()
    }

    /// Returns a number from `low` to `high`, both included.
    pub fn range(&mut self, low: i64, high: i64) -> i64 {
        let width = usize::try_from(high - low + 1).unwrap_or(1);
        low + i64::try_from(self.below(width)).unwrap_or_default()
    }

    /// Returns whether an event of this many percent happens.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// Returns one of the items.
    #[expect(
        clippy::indexing_slicing,
        reason = "the index is below the length, which is not 0"
    )]
    pub fn choose<T: Copy, const N: usize>(&mut self, items: &[T; N]) -> T {
        const { assert!(N > 0) };
        items[self.below(N)]
    }

    /// Puts the items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last + 1);
            items.swap(last, other);
        }
    }

    /// Returns `count` different items in random order, or all if there are fewer.
    pub fn sample<T: Copy>(&mut self, items: &[T], count: usize) -> Vec<T> {
        let mut copy = items.to_vec();
        self.shuffle(&mut copy);
        copy.truncate(count);
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_published_generator() {
        let mut generator = SplitMix64::new(1_234_567);
        let numbers: Vec<u64> = (0..3).map(|_| generator.next_u64()).collect();
        assert_eq!(
            numbers,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn every_number_of_a_range_occurs_and_no_other() {
        let mut generator = SplitMix64::new(7);
        let mut counts = [0; 5];
        for _ in 0..1000 {
            counts[usize::try_from(generator.range(-2, 2) + 2).unwrap()] += 1;
        }
        assert!(
            counts.iter().all(|count| (120..280).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn a_sample_has_no_item_twice() {
        let mut sample = SplitMix64::new(3).sample(&[1, 2, 3, 4, 5], 4);
        sample.sort_unstable();
        sample.dedup();
        assert_eq!(sample.len(), 4);
    }
}
