//! The heuristics of the verifier, each of which can be switched off to measure what it brings.

/// A rule that goes beyond comparing quotes, numbers, and shared words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heuristic {
    /// Synonyms of scientific prose count as the same word.
    Synonyms,
    /// Similar words count, by their vectors.
    WordVectors,
    /// Opposites: more and less, better and worse.
    Directions,
    /// More expensive means a higher price: axes of direction that stand for each other.
    RelatedAxes,
    /// `A above B` and `B below A`: the sides of comparisons.
    ComparisonSides,
    /// Negations.
    Negations,
    /// `untreated` negates `treated`.
    NegativePrefixes,
    /// A negation in the claim alone, without a word in common.
    UnmatchedNegations,
    /// Refuted and hypothetical statements.
    Modality,
    /// `unlike A, B rose`.
    Contrast,
    /// Names.
    Names,
    /// Unknown words at the beginning of a sentence may be names.
    PossibleNames,
    /// Substances, species, and diseases are names.
    DomainTerms,
    /// Acronyms stand for their words.
    Acronyms,
    /// One noun differs.
    Substitution,
    /// Two numbers in each other's place.
    SwappedNumbers,
    /// A number that belongs to another name.
    NumberOwner,
    /// A number whose context fits another number better.
    NumberContext,
    /// A comparison that the claim's own numbers contradict.
    SelfContradiction,
    /// `Group 2` is not `Group 3`.
    NumberedEntities,
    /// The parts of a claim are checked separately.
    CompoundClaims,
    /// A sentence with nothing changed but its numbers.
    ChangedNumbers,
    /// Two sentences together.
    SentencePairs,
    /// A short claim needs nearly all of its words.
    ShortClaims,
    /// Other languages than English.
    Languages,
}

impl Heuristic {
    pub const ALL: [Self; 25] = [
        Self::Synonyms,
        Self::WordVectors,
        Self::Directions,
        Self::RelatedAxes,
        Self::ComparisonSides,
        Self::Negations,
        Self::NegativePrefixes,
        Self::UnmatchedNegations,
        Self::Modality,
        Self::Contrast,
        Self::Names,
        Self::PossibleNames,
        Self::DomainTerms,
        Self::Acronyms,
        Self::Substitution,
        Self::SwappedNumbers,
        Self::NumberOwner,
        Self::NumberContext,
        Self::SelfContradiction,
        Self::NumberedEntities,
        Self::CompoundClaims,
        Self::ChangedNumbers,
        Self::SentencePairs,
        Self::ShortClaims,
        Self::Languages,
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
