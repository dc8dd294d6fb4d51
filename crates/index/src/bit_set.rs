//! A fixed-size set of small numbers, one bit each.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BitSet {
    words: Vec<u64>,
    len: u32,
}

impl BitSet {
    pub(crate) fn empty(len: u32) -> Self {
        Self {
            words: vec![0; (len as usize).div_ceil(64)],
            len,
        }
    }

    pub(crate) fn all(len: u32) -> Self {
        let mut bits = Self {
            words: vec![u64::MAX; (len as usize).div_ceil(64)],
            len,
        };
        bits.trim();
        bits
    }

    /// Inserts a number; one that is too large is ignored.
    pub(crate) fn insert(&mut self, number: u32) {
        if number < self.len
            && let Some(word) = self.words.get_mut((number / 64) as usize)
        {
            *word |= 1 << (number % 64);
        }
    }

    pub(crate) fn remove(&mut self, number: u32) {
        if let Some(word) = self.words.get_mut((number / 64) as usize) {
            *word &= !(1 << (number % 64));
        }
    }

    pub(crate) fn contains(&self, number: u32) -> bool {
        self.words
            .get((number / 64) as usize)
            .is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    pub(crate) fn and(&mut self, other: &Self) {
        for (word, with) in self.words.iter_mut().zip(&other.words) {
            *word &= with;
        }
    }

    pub(crate) fn or(&mut self, other: &Self) {
        for (word, with) in self.words.iter_mut().zip(&other.words) {
            *word |= with;
        }
    }

    pub(crate) fn invert(&mut self) {
        for word in &mut self.words {
            *word = !*word;
        }
        self.trim();
    }

    pub(crate) fn count(&self) -> u64 {
        self.words
            .iter()
            .map(|word| u64::from(word.count_ones()))
            .sum()
    }

    /// The numbers from `from` on and below `to`, in order.
    pub(crate) fn iter_range(&self, from: u32, to: u32) -> impl Iterator<Item = u32> + '_ {
        let to = to.min(self.len);
        let first = (from / 64) as usize;
        let words = self.words.get(first..).unwrap_or_default();
        let bases = (from / 64 * 64..to).step_by(64);
        words.iter().zip(bases).flat_map(move |(word, base)| {
            let mut left = *word;
            if base < from {
                left &= u64::MAX << (from - base);
            }
            if to - base < 64 {
                left &= !(u64::MAX << (to - base));
            }
            std::iter::from_fn(move || {
                if left == 0 {
                    return None;
                }
                let bit = left.trailing_zeros();
                left &= left - 1;
                Some(base + bit)
            })
        })
    }

    fn trim(&mut self) {
        let used = self.len % 64;
        if used > 0
            && let Some(last) = self.words.last_mut()
        {
            *last &= !(u64::MAX << used);
        }
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
