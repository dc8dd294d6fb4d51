//! Support for paraphrases. If no sentence shares enough words with a claim and none contradicts
//! it, a cited sentence still supports it if its words are similar in meaning. The exact parts must
//! agree: every number and name is there, both sides negate or neither does, and a direction of the
//! claim has a matching one in the sentence.

use std::collections::HashMap;

use super::word_vectors::{TextVector, WordVectors};
use crate::answer::verifier::{
    Claim, ClaimCheck, ClaimVerdict, Heuristic, Verifier,
    evidence_comparison::ClaimEvidencePair,
    evidence_span::evidence_span,
    numbers::{
        equality::{NumberMatch, compare_numbers},
        number::Number,
    },
    sentence_features::SentenceFeatures,
    sentence_window::SentenceWindow,
    text::{language_guess::is_unsupported_language, lexicon, tokenizer::TextTokenKind},
    verdict::{bare_check, required_overlap},
};

/// Share of the claim's words that a sentence must cover, each weighted by its similarity.
const MIN_SIMILARITY: f64 = 0.5;

/// The same if the texts are similar as a whole, and the similarity that this requires.
const MIN_PARTIAL_SIMILARITY: f64 = 0.3;
const MIN_TEXT_SIMILARITY: f64 = 0.66;

/// A conflicting sentence whose score is within this margin leaves the claim undecided.
const MARGIN: f64 = 0.12;

/// Cited passages that are searched, and sentences of each.
const MAX_CITED_PASSAGES: usize = 4;
const MAX_SENTENCES: usize = 60;

/// Windows that are compared in detail.
const MAX_WINDOWS: usize = 4;

/// A claim, prepared for the search for paraphrases.
struct ParaphraseQuery<'a> {
    text: &'a str,
    claim: &'a SentenceFeatures,
    text_vector: TextVector,
    words: Vec<WeightedWord<'a>>,
}

/// A word of a claim with its weight.
struct WeightedWord<'a> {
    key: &'a str,
    weight: f64,
    /// `None` for a word that must match exactly.
    vector: Option<TextVector>,
}

impl Verifier {
    /// Checks a claim for which no sentence has enough words: it is supported if a cited sentence
    /// says it in other words.
    pub(crate) fn check_paraphrase(&self, text: &str, claim: &Claim) -> Option<ClaimCheck> {
        let analysis = self.corpus.analyze(text);
        let on = |it: Heuristic| self.corpus.heuristics.contains(it);
        if !on(Heuristic::WordVectors)
            || (on(Heuristic::Languages) && is_unsupported_language(&analysis.tokens))
        {
            return None;
        }
        let asked = ParaphraseQuery {
            text,
            text_vector: TextVector::embed(text),
            words: self.weighted_words(&analysis),
            claim: &analysis,
        };
        let cited = self.passages_cited_first(claim).into_iter();
        let cited = cited.take_while(|&it| self.is_cited(it, claim));
        let mut windows: Vec<(SentenceWindow, f64)> = cited
            .take(MAX_CITED_PASSAGES)
            .flat_map(|it| self.similar_windows(it, &asked))
            .collect();
        windows.sort_by(|one, other| other.1.total_cmp(&one.1));
        windows.truncate(MAX_WINDOWS);
        let (window, near) = self.best_unopposed_window(&asked, &windows)?;
        let passage = self.corpus.passages.get(window.passage)?;
        Some(ClaimCheck {
            evidence: vec![evidence_span(
                &passage.source,
                self.corpus.window_span(&window)?,
            )],
            overlap: near,
            ..bare_check(ClaimVerdict::Supported)
        })
    }

    /// The most similar window that says all of a claim, if no window of about the same similarity
    /// contradicts it.
    fn best_unopposed_window(
        &self,
        query: &ParaphraseQuery<'_>,
        windows: &[(SentenceWindow, f64)],
    ) -> Option<(SentenceWindow, f64)> {
        let mut best: Option<(SentenceWindow, f64)> = None;
        for &(window, near) in windows {
            if best.is_some_and(|(_, best)| near < best - MARGIN) {
                break;
            }
            let passage = self.corpus.passages.get(window.passage)?;
            let there = self.corpus.window_features(&window);
            let sides = ClaimEvidencePair {
                corpus: &self.corpus,
                passage,
                claim_text: query.text,
                claim: query.claim,
                window_text: passage.source.text.get(self.corpus.window_span(&window)?)?,
                window: &there,
            };
            let findings = sides.compare();
            if !findings.conflicts.is_empty() {
                return None;
            }
            if best.is_none() && findings.missing.is_empty() && polarity_agrees(query.claim, &there)
            {
                best = Some((window, near));
            }
        }
        best
    }

    /// The words of a claim without its directions, which are compared separately.
    fn weighted_words<'a>(&self, claim: &'a SentenceFeatures) -> Vec<WeightedWord<'a>> {
        let mut all: Vec<WeightedWord<'a>> = Vec::new();
        for (at, (token, key)) in claim.tokens.iter().zip(&claim.keys).enumerate() {
            let Some(key) = key.as_deref() else {
                continue;
            };
            if lexicon::direction(&token.text).is_some() || all.iter().any(|it| it.key == key) {
                continue;
            }
            let strict = token.kind != TextTokenKind::Word || claim.names.contains(&at);
            all.push(WeightedWord {
                key,
                weight: self.corpus.word_weight(key),
                vector: (!strict).then(|| TextVector::embed(&token.text)),
            });
        }
        all
    }

    /// Sentences of a passage, and pairs of them, that are similar to a claim, with their scores.
    fn similar_windows(
        &self,
        passage: usize,
        query: &ParaphraseQuery<'_>,
    ) -> Vec<(SentenceWindow, f64)> {
        let Some(of) = self.corpus.passages.get(passage) else {
            return Vec::new();
        };
        let near: Vec<HashMap<&str, f64>> = query
            .words
            .iter()
            .map(|it| similar_words(it, of.word_vectors()))
            .collect();
        let enough = required_overlap(query.claim, self.corpus.heuristics);
        let sentences = of.sentence_spans.len().min(MAX_SENTENCES);
        let singles = (0..sentences).map(|at| (at, at));
        let pairs = (1..sentences).map(|at| (at - 1, at));
        let windows = singles.chain(pairs);
        let windows = windows.filter_map(|(from, to)| {
            let window = SentenceWindow {
                passage,
                first: from,
                last: to,
            };
            let there: Vec<&SentenceFeatures> = self.corpus.window_sentences(&window).collect();
            let score = score(query, &near, &there);
            let said = of.source.text.get(self.corpus.window_span(&window)?)?;
            let alike = || {
                query
                    .text_vector
                    .cosine_similarity(&TextVector::embed(said))
                    >= MIN_TEXT_SIMILARITY
            };
            // Texts about the same subject are similar, whatever they say about it.
            let near = score >= MIN_SIMILARITY.max(enough);
            let partly = enough <= MIN_SIMILARITY && score >= MIN_PARTIAL_SIMILARITY;
            (near || (partly && alike())).then_some((window, score))
        });
        windows.collect()
    }
}

/// The words of a passage that can stand for a word of the claim, with their similarity.
fn similar_words<'a>(word: &WeightedWord<'a>, there: &'a WordVectors) -> HashMap<&'a str, f64> {
    let mut all = HashMap::from([(word.key, 1.0)]);
    let Some(own) = &word.vector else {
        return all;
    };
    for (key, meaning) in there {
        let near = own.word_similarity(meaning);
        if near > 0.0 {
            all.entry(key.as_str()).or_insert(near);
        }
    }
    all
}

/// Share of the claim that is there, 0 to 1, each word weighted by its most similar word.
fn score(
    query: &ParaphraseQuery<'_>,
    near: &[HashMap<&str, f64>],
    there: &[&SentenceFeatures],
) -> f64 {
    let mut all = 0.0;
    let mut shared = 0.0;
    for (it, near) in query.words.iter().zip(near) {
        let keys = there.iter().flat_map(|it| it.keys.iter().flatten());
        let found = keys.filter_map(|key| near.get(key.as_str()));
        all += it.weight;
        shared += it.weight * found.copied().fold(0.0, f64::max);
    }
    let same = |number: &&Number| {
        let mut said = there.iter().flat_map(|it| &it.numbers);
        said.any(|it| compare_numbers(number, it) == NumberMatch::Same)
    };
    let numbers: f64 = query
        .claim
        .numbers
        .iter()
        .filter(same)
        .map(number_weight)
        .sum();
    let (all, shared) = (all + numbers, shared + numbers);
    if all > 0.0 { shared / all } else { 0.0 }
}

/// Weight of a number that matches exactly. Three digits weigh as much as a rare word.
fn number_weight(number: &Number) -> f64 {
    let value = number.value.to_f64().abs();
    if !number.value.is_integer() || value >= 100.0 {
        3.0
    } else if value >= 10.0 {
        2.0
    } else {
        1.0
    }
}

/// Whether both sides negate or neither does, and every direction of the claim has one there that
/// points the same way.
fn polarity_agrees(claim: &SentenceFeatures, there: &SentenceFeatures) -> bool {
    let points = |of: &SentenceFeatures, up: bool| {
        let mut all = of.directions.iter();
        all.any(|(at, it)| it.up == up && lexicon::is_scale_axis(it.axis) && !of.is_negated(*at))
    };
    claim.negation_targets.is_empty() == there.negation_targets.is_empty()
        && [true, false]
            .iter()
            .all(|&up| !points(claim, up) || points(there, up))
}
