//! Pseudo-random choices that are the same for the same seed.

/// A generator of pseudo-random numbers (`SplitMix64`).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next_number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end.max(1)).unwrap_or(1);
        usize::try_from(self.next_number() % end).unwrap_or(0)
    }

    /// Returns one of the words.
    pub(crate) fn pick<'w>(&mut self, words: &[&'w str]) -> &'w str {
        let index = self.below(words.len());
        words.get(index).copied().unwrap_or_default()
    }

    /// Returns a number that is small, huge or odd.
    pub(crate) fn number(&mut self) -> String {
        let huge = [
            "0",
            "1",
            "7",
            "100",
            "99999",
            "1000000",
            "4000000",
            "99999999",
            "1000000000",
            "9223372036854775807",
            "18446744073709551616",
            "-1",
            "-1000000000",
            "1e308",
            "0.0000001",
        ];
        self.pick(&huge).to_owned()
    }
}
