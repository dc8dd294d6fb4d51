//! Words that someone points at for a claim that is put in other words. Whether the claim follows
//! is theirs to say; that the words stand there, have to do with it, and speak against none of it,
//! its numbers and names among it, is looked at here.

use super::{Claim, Evidence, Verifier, compare::Sides, quote::Quote, within::evidence};

/// Fewer words prove nothing.
const LEAST_WORDS: usize = 5;

/// How much of what the claim speaks of their sentence must speak of too.
const HAS_TO_DO: f64 = 0.15;

impl Verifier {
    /// The place of words of a passage that may bear out a claim.
    pub fn pointed_at(&self, claim: &Claim, passage: &str, words: &str) -> Option<Evidence> {
        let quote = Quote::of(words).filter(|it| it.words() >= LEAST_WORDS)?;
        let mut passages = self.corpus.passages.iter().enumerate();
        let (at, passage) = passages.find(|(_, it)| it.source.id == passage)?;
        let bytes = passage.stream.find_quote(&quote)?;
        let window = self.corpus.window_of(at, &bytes)?;
        let there = self.corpus.analysis(&window);
        let analysis = self.corpus.analyse(&claim.text);
        let shared = self.corpus.overlap(&analysis.key_set(), &there.key_set());
        let sides = Sides {
            corpus: &self.corpus,
            passage,
            text: &claim.text,
            claim: &analysis,
            said: passage.source.text.get(self.corpus.span(&window)?)?,
            window: &there,
        };
        let found = sides.compare();
        let fits = shared >= HAS_TO_DO && found.conflicts.is_empty() && found.lacks.is_empty();
        fits.then(|| evidence(&passage.source, bytes))
    }
}
