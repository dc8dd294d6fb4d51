//! A stretch of a passage that a claim is compared with.

/// A few sentences in a row of one passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Window {
    pub(super) passage: usize,
    pub(super) from: usize,
    /// Its last sentence.
    pub(super) to: usize,
}

impl Window {
    /// Whether it has all the sentences of another and more.
    pub(super) fn holds(&self, other: &Self) -> bool {
        self != other
            && self.passage == other.passage
            && self.from <= other.from
            && other.to <= self.to
    }

    /// Whether they have a sentence in common.
    pub(super) fn touches(&self, other: &Self) -> bool {
        self.passage == other.passage && self.from <= other.to && other.from <= self.to
    }
}
