//! A stretch of a passage that a claim is compared with.

/// A few sentences in a row of one passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct SentenceWindow {
    pub(super) passage: usize,
    pub(super) first: usize,
    /// Its last sentence.
    pub(super) last: usize,
}

impl SentenceWindow {
    /// Whether it has all the sentences of another and more.
    pub(super) fn contains(&self, other: &Self) -> bool {
        self != other
            && self.passage == other.passage
            && self.first <= other.first
            && other.last <= self.last
    }

    /// Whether they have a sentence in common.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.passage == other.passage && self.first <= other.last && other.first <= self.last
    }
}
