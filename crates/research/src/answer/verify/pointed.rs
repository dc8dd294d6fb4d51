//! Words that someone points at for a claim that is put in other words. Whether the claim follows
//! is theirs to say; that the words stand there, have to do with it, and speak against none of it,
//! its numbers and names among it, is looked at here.

use std::collections::HashSet;

use super::{
    Claim, Evidence, Verifier, analysis::Analysis, compare::Sides, judge::enough, lexicon,
    nearness::Meaning, quote::Quote, tokens::Kind, within::evidence,
};

/// Fewer words prove nothing.
const LEAST_WORDS: usize = 5;

/// How much of what the claim speaks of their sentence must speak of too, each word as much as the
/// nearest one there is near.
const HAS_TO_DO: f64 = 0.5;

/// The same where a claim speaks of few things: that one of two is there is soon said.
const HAS_TO_DO_FEW: f64 = 0.65;

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
        let least = if enough(&analysis) > HAS_TO_DO {
            HAS_TO_DO_FEW
        } else {
            HAS_TO_DO
        };
        let sides = Sides {
            corpus: &self.corpus,
            passage,
            text: &claim.text,
            claim: &analysis,
            said: passage.source.text.get(self.corpus.span(&window)?)?,
            window: &there,
        };
        let found = sides.compare();
        let fits = self.nearly_shared(&analysis, &there) >= least
            && found.conflicts.is_empty()
            && found.lacks.is_empty();
        fits.then(|| evidence(&passage.source, bytes))
    }

    /// How much of what a claim speaks of is there, 0 to 1, in the same words or in near ones.
    fn nearly_shared(&self, claim: &Analysis, there: &Analysis) -> f64 {
        let keys = there.key_set();
        let spoken = there.tokens.iter().zip(&there.keys);
        let spoken = spoken.filter(|(token, key)| key.is_some() && token.kind == Kind::Word);
        let meanings: Vec<Meaning> = spoken.map(|(it, _)| Meaning::of(&it.text)).collect();
        let mut seen = HashSet::new();
        let (mut all, mut shared) = (0.0, 0.0);
        for (at, (token, key)) in claim.tokens.iter().zip(&claim.keys).enumerate() {
            let Some(key) = key.as_deref().filter(|_| !lexicon::negates(&token.text)) else {
                continue;
            };
            if !seen.insert(key) {
                continue;
            }
            // One name is no other, however near.
            let common = token.kind == Kind::Word && !claim.names.contains(&at);
            let near = || {
                let own = Meaning::of(&token.text);
                let near = meanings.iter().map(|it| own.nearness(it));
                near.fold(0.0, f64::max)
            };
            let weight = self.corpus.weight(key);
            all += weight;
            if keys.contains(key) {
                shared += weight;
            } else if common {
                shared += weight * near();
            }
        }
        if all > 0.0 { shared / all } else { 0.0 }
    }
}
