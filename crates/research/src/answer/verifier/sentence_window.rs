//! Window of sentences that a claim is compared with.

/// Consecutive sentences of one passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SentenceWindow {
    pub(super) passage: usize,
    pub(super) first: usize,
    /// Index of its last sentence.
    pub(super) last: usize,
}

impl SentenceWindow {
    /// Whether it contains all sentences of another window and more.
    pub(super) fn contains(&self, other: &Self) -> bool {
        self != other
            && self.passage == other.passage
            && self.first <= other.first
            && other.last <= self.last
    }

    /// Whether the windows share a sentence.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.passage == other.passage && self.first <= other.last && other.first <= self.last
    }
}
