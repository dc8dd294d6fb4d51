//! The heuristics of the verifier, each of which can be switched off to measure what it brings.

/// A rule that goes beyond comparing quotes, numbers, and shared words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heuristic {
    /// A negation on one side only.
    Negations,
    /// Opposites: more and less, better and worse.
    Directions,
    /// Refuted, hypothetical, and softened statements.
    Modality,
    /// All, most, only.
    Quantifiers,
    /// Names must be there.
    Names,
    /// Two numbers in each other's place.
    SwappedNumbers,
    /// Two sentences together.
    SentencePairs,
}

impl Heuristic {
    pub const ALL: [Self; 7] = [
        Self::Negations,
        Self::Directions,
        Self::Modality,
        Self::Quantifiers,
        Self::Names,
        Self::SwappedNumbers,
        Self::SentencePairs,
    ];
}

/// The heuristics that are on.
#[derive(Debug, Clone, Copy)]
pub struct HeuristicSet(u32);

impl HeuristicSet {
    /// All heuristics, as answers are checked with.
    pub const fn all() -> Self {
        Self(u32::MAX)
    }

    /// No heuristics: quotes, numbers, and shared words alone.
    pub const fn none() -> Self {
        Self(0)
    }

    /// The same set with one heuristic off.
    #[must_use]
    pub const fn without(self, heuristic: Heuristic) -> Self {
        Self(self.0 & !(1 << heuristic as u32))
    }

    pub(super) const fn contains(self, heuristic: Heuristic) -> bool {
        self.0 & (1 << heuristic as u32) != 0
    }
}
