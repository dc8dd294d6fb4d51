//! A fixed-size set of small numbers, one bit each.

use fixedbitset::FixedBitSet;

const WORD_BITS: u32 = usize::BITS;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BitSet(FixedBitSet);

impl BitSet {
    pub(crate) fn empty(len: u32) -> Self {
        Self(FixedBitSet::with_capacity(len as usize))
    }

    pub(crate) fn all(len: u32) -> Self {
        let mut bits = Self::empty(len);
        bits.invert();
        bits
    }

    /// Inserts a number; one that is too large is ignored.
    pub(crate) fn insert(&mut self, number: u32) {
        if (number as usize) < self.0.len() {
            self.0.insert(number as usize);
        }
    }

    pub(crate) fn remove(&mut self, number: u32) {
        if self.contains(number) {
            self.0.remove(number as usize);
        }
    }

    pub(crate) fn contains(&self, number: u32) -> bool {
        self.0.contains(number as usize)
    }

    pub(crate) fn and(&mut self, other: &Self) {
        self.0.intersect_with(&other.0);
    }

    pub(crate) fn or(&mut self, other: &Self) {
        self.0.union_with(&other.0);
    }

    pub(crate) fn invert(&mut self) {
        self.0.toggle_range(..);
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.count_ones(..) as u64
    }

    /// The numbers from `from` on and below `to`, in order. Empty words are skipped, because a
    /// filter often leaves few of many rows.
    pub(crate) fn iter_range(&self, from: u32, to: u32) -> impl Iterator<Item = u32> + '_ {
        let first = from / WORD_BITS;
        let words = self.0.as_slice().get(first as usize..).unwrap_or_default();
        (first..to.div_ceil(WORD_BITS))
            .zip(words)
            .filter(|(_, word)| **word != 0)
            .flat_map(|(number, _)| number * WORD_BITS..(number + 1) * WORD_BITS)
            .filter(move |number| (from..to).contains(number) && self.contains(*number))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::BitSet;

    proptest! {
        #[test]
        fn a_range_gives_what_a_set_would(
            numbers in prop::collection::btree_set(0_u32..300, 0..80),
            from in 0_u32..310,
            length in 0_u32..310,
        ) {
            let mut bits = BitSet::empty(290);
            for number in &numbers {
                bits.insert(*number);
            }
            let numbers: BTreeSet<u32> = numbers.into_iter().filter(|n| *n < 290).collect();
            let expected: Vec<u32> = numbers.range(from..from + length).copied().collect();
            let found: Vec<u32> = bits.iter_range(from, from + length).collect();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(bits.count(), numbers.len() as u64);
            bits.invert();
            prop_assert_eq!(bits.count(), 290 - numbers.len() as u64);
            bits.or(&BitSet::all(290));
            prop_assert_eq!(bits, BitSet::all(290));
        }
    }
}
