//! The analyzed passages of one check: the features of their sentences, and word weights by rarity.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use super::{
    EvidencePassage, Heuristic, HeuristicSet,
    numbers::number::{Decimal, Number},
    quotes::fuzzy_match::NormalizedText,
    sentence_features::{SentenceFeatures, strip_possessive},
    sentence_window::SentenceWindow,
    text::{
        lexicon,
        tokenizer::{LetterCase, TextToken, TextTokenKind, tokenize},
    },
};
use crate::sentences::sentence_spans;

/// The analyzed passages of one check.
pub(super) struct Corpus {
    pub(super) passages: Vec<CorpusPassage>,
    sentences: Vec<CorpusSentence>,
    /// Indexes of the sentences that contain a word.
    sentences_by_word: HashMap<String, Vec<u32>>,
    /// Indexes of sentences, by their text without numbers.
    sentences_by_shape: HashMap<String, Vec<u32>>,
    /// Words that some passage writes as names, and words in lower case.
    names: HashSet<String>,
    words: HashSet<String>,
    pub(super) heuristics: HeuristicSet,
}

/// An analyzed passage.
pub(super) struct CorpusPassage {
    pub(super) source: EvidencePassage,
    pub(super) normalized: NormalizedText,
    pub(super) sentence_spans: Vec<Range<usize>>,
    /// Features of the whole text.
    pub(super) features: SentenceFeatures,
    /// Features of the authors and the title.
    pub(super) title: SentenceFeatures,
    /// Index of the first sentence in `Corpus::sentences`.
    first_sentence: usize,
}

impl CorpusPassage {
    /// Whether the text, the authors, or the title contain a name, given in lower case.
    pub(super) fn has_name(&self, name: &str) -> bool {
        let name = strip_possessive(name);
        self.features.has_name(name) || self.title.has_name(name)
    }

    pub(super) fn is_publication_year(&self, number: &Number) -> bool {
        let year = self.source.credit.year;
        let year = year.and_then(|it| Decimal::parse(&it.to_string()));
        number.unit.is_none() && year.as_ref() == Some(&number.value)
    }
}

struct CorpusSentence {
    passage: usize,
    number: usize,
    features: SentenceFeatures,
}

/// Limits of a corpus: bytes of all passages, and sentences.
const MAX_BYTES: usize = 4_000_000;
const MAX_SENTENCES: usize = 30_000;

/// Distance, in sentences, of two sentences that a claim may combine.
const MAX_SENTENCE_GAP: usize = 3;

/// Sentences with the same text except for numbers that are compared with a claim.
const MAX_SAME_SHAPE: usize = 200;

impl Corpus {
    pub(super) fn new(sources: &[EvidencePassage], heuristics: HeuristicSet) -> Self {
        let mut left = MAX_BYTES;
        let sources = sources.iter().take_while(|source| {
            let fits = source.text.len() <= left;
            left = left.saturating_sub(source.text.len());
            fits
        });
        let sources: Vec<&EvidencePassage> = sources.collect();
        let mut corpus = Self {
            passages: Vec::with_capacity(sources.len()),
            sentences: Vec::new(),
            sentences_by_word: HashMap::new(),
            sentences_by_shape: HashMap::new(),
            names: HashSet::new(),
            words: HashSet::new(),
            heuristics,
        };
        for source in &sources {
            corpus.collect_names(&source.text);
        }
        for source in sources {
            corpus.add(source.clone());
        }
        corpus
    }

    /// Collects capitalized words inside sentences, and words in capitals, as names.
    fn collect_names(&mut self, text: &str) {
        let mut first = true;
        for token in tokenize(text) {
            if token.kind == TextTokenKind::Break {
                first |= matches!(token.text.as_str(), "." | "?" | "!" | ":");
            } else if token.kind == TextTokenKind::Word {
                let name = token.case == LetterCase::MultipleCapitals
                    || (token.case == LetterCase::Capital && !first);
                if name && !lexicon::is_stop_word(&token.text) {
                    self.names.insert(token.text);
                } else if token.case == LetterCase::Lower {
                    self.words.insert(token.text);
                }
                first = false;
            }
        }
    }

    pub(super) fn analyze(&self, text: &str) -> SentenceFeatures {
        SentenceFeatures::extract(text, &|word| {
            let known = self.names.contains(word) || self.words.contains(word);
            known.then(|| self.names.contains(word))
        })
    }

    fn add(&mut self, source: EvidencePassage) {
        let spans = sentence_spans(&source.text);
        let first = self.sentences.len();
        let passage = self.passages.len();
        for (number, span) in spans.iter().enumerate() {
            if self.sentences.len() >= MAX_SENTENCES {
                break;
            }
            let text = source.text.get(span.clone()).unwrap_or_default();
            // A question states nothing.
            let asks = text.trim_end().ends_with('?');
            let analysis = if asks {
                SentenceFeatures::default()
            } else {
                self.analyze(text)
            };
            let index = u32::try_from(self.sentences.len()).unwrap_or(u32::MAX);
            for key in analysis.key_set() {
                match self.sentences_by_word.get_mut(key) {
                    Some(holders) => holders.push(index),
                    None => {
                        self.sentences_by_word.insert(key.to_owned(), vec![index]);
                    }
                }
            }
            if let Some(shape) = number_free_shape(&analysis) {
                self.sentences_by_shape
                    .entry(shape)
                    .or_default()
                    .push(index);
            }
            self.sentences.push(CorpusSentence {
                passage,
                number,
                features: analysis,
            });
        }
        let credit = &source.credit;
        self.passages.push(CorpusPassage {
            normalized: NormalizedText::new(&source.text),
            features: self.analyze(&source.text),
            title: self.analyze(&format!("{}. {}", credit.authors.join(" "), credit.title)),
            sentence_spans: spans,
            first_sentence: first,
            source,
        });
    }

    /// Weight of a word: the rarer, the higher.
    pub(super) fn word_weight(&self, key: &str) -> f64 {
        let all = self.sentences.len() as f64;
        let holders = self.sentences_by_word.get(key).map_or(0, Vec::len);
        ((all + 1.0) / (holders as f64 + 0.5)).ln().clamp(0.5, 4.0)
    }

    /// Weighted share of the wanted words that are there, 0 to 1.
    pub(super) fn overlap(&self, wanted: &HashSet<&str>, there: &HashSet<&str>) -> f64 {
        let mut all = 0.0;
        let mut shared = 0.0;
        for key in wanted {
            let weight = self.word_weight(key);
            all += weight;
            if there.contains(key) {
                shared += weight;
            }
        }
        if all > 0.0 { shared / all } else { 0.0 }
    }

    /// Similarity of two contexts, given as words with their nearness, 0 to 1.
    pub(super) fn context_fit(
        &self,
        wanted: &HashMap<&str, f64>,
        there: &HashMap<&str, f64>,
    ) -> f64 {
        let mut all = 0.0;
        let mut shared = 0.0;
        for (key, near) in wanted {
            let weight = self.word_weight(key);
            all += weight * near;
            shared += weight * there.get(key).map_or(0.0, |it| it.min(*near));
        }
        if all > 0.0 { shared / all } else { 0.0 }
    }

    pub(super) fn window_features(&self, window: &SentenceWindow) -> SentenceFeatures {
        let Some(passage) = self.passages.get(window.passage) else {
            return SentenceFeatures::default();
        };
        if window.first == window.last
            && let Some(sentence) = self.sentences.get(passage.first_sentence + window.first)
        {
            return sentence.features.clone();
        }
        let text = self
            .window_span(window)
            .and_then(|it| passage.source.text.get(it));
        self.analyze(text.unwrap_or_default())
    }

    /// Byte range of a window in its passage.
    pub(super) fn window_span(&self, window: &SentenceWindow) -> Option<Range<usize>> {
        let passage = self.passages.get(window.passage)?;
        let start = passage.sentence_spans.get(window.first)?.start;
        Some(start..passage.sentence_spans.get(window.last)?.end)
    }

    /// Windows that share the most words with a claim, best first, each with its overlap.
    pub(super) fn best_windows(
        &self,
        claim: &SentenceFeatures,
        most: usize,
    ) -> Vec<(SentenceWindow, f64)> {
        let wanted = claim.key_set();
        let all: f64 = wanted.iter().map(|key| self.word_weight(key)).sum();
        if all <= 0.0 {
            return Vec::new();
        }
        let mut scores: HashMap<u32, f64> = HashMap::new();
        for key in &wanted {
            let weight = self.word_weight(key);
            for &holder in self.sentences_by_word.get(*key).into_iter().flatten() {
                *scores.entry(holder).or_default() += weight / all;
            }
        }
        let mut singles: Vec<(u32, f64)> = scores.into_iter().collect();
        singles.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        singles.truncate(most);
        let mut windows: Vec<(SentenceWindow, f64)> = Vec::new();
        for (index, score) in singles {
            let Some(sentence) = usize::try_from(index)
                .ok()
                .and_then(|it| self.sentences.get(it))
            else {
                continue;
            };
            let at = |from: usize, to: usize| SentenceWindow {
                passage: sentence.passage,
                first: from,
                last: to,
            };
            windows.push((at(sentence.number, sentence.number), score));
            if !self.heuristics.contains(Heuristic::SentencePairs) {
                continue;
            }
            let before = sentence.number.checked_sub(1);
            let pairs = [
                before.map(|it| at(it, sentence.number)),
                Some(at(sentence.number, sentence.number + 1)),
            ];
            for pair in pairs.into_iter().flatten() {
                if let Some(both) = self.pair_score(&pair, &wanted)
                    && both > score + 0.08
                    && !windows.iter().any(|(it, _)| *it == pair)
                {
                    windows.push((pair, both));
                }
            }
        }
        if self.heuristics.contains(Heuristic::SentencePairs) {
            self.add_distant_pairs(&mut windows, &wanted);
        }
        windows.sort_by(|one, other| other.1.total_cmp(&one.1));
        windows
    }

    /// Adds windows that span two of the best sentences of a passage, because a claim may combine
    /// them.
    fn add_distant_pairs(&self, windows: &mut Vec<(SentenceWindow, f64)>, wanted: &HashSet<&str>) {
        let singles = windows.iter().filter(|(it, _)| it.first == it.last);
        let best: Vec<(SentenceWindow, f64)> = singles.take(4).copied().collect();
        for (at, (one, score)) in best.iter().enumerate() {
            for (other, _) in best.iter().skip(at + 1) {
                let both = SentenceWindow {
                    passage: one.passage,
                    first: one.first.min(other.first),
                    last: one.last.max(other.last),
                };
                let apart = both.last - both.first;
                if one.passage != other.passage || !(2..=MAX_SENTENCE_GAP).contains(&apart) {
                    continue;
                }
                if let Some(gained) = self.pair_score(&both, wanted)
                    && gained > score + 0.12
                    && !windows.iter().any(|(it, _)| *it == both)
                {
                    windows.push((both, gained));
                }
            }
        }
    }

    fn pair_score(&self, pair: &SentenceWindow, wanted: &HashSet<&str>) -> Option<f64> {
        let passage = self.passages.get(pair.passage)?;
        if pair.last >= passage.sentence_spans.len() {
            return None;
        }
        let one = self.sentences.get(passage.first_sentence + pair.first)?;
        let other = self.sentences.get(passage.first_sentence + pair.last)?;
        let mut there = one.features.key_set();
        there.extend(other.features.key_set());
        Some(self.overlap(wanted, &there))
    }

    /// Sentences that equal a claim word for word except for at least one number or code, with the
    /// value of the claim and the value of the sentence.
    pub(super) fn same_except_numbers(
        &self,
        claim: &SentenceFeatures,
    ) -> Vec<(SentenceWindow, String, String)> {
        let Some(alike) = number_free_shape(claim).and_then(|it| self.sentences_by_shape.get(&it))
        else {
            return Vec::new();
        };
        let all = alike.iter().take(MAX_SAME_SHAPE);
        let all = all.filter_map(|&it| self.sentences.get(usize::try_from(it).ok()?));
        all.filter_map(|sentence| {
            let spoken = |it: &&TextToken| it.kind != TextTokenKind::Break;
            let mine = claim.tokens.iter().filter(spoken);
            let theirs = sentence.features.tokens.iter().filter(spoken);
            let (mine, theirs) = mine
                .zip(theirs)
                .filter(|(mine, _)| {
                    matches!(mine.kind, TextTokenKind::Number | TextTokenKind::Code)
                })
                .find(|(mine, theirs)| !same_value(mine, theirs))?;
            let window = SentenceWindow {
                passage: sentence.passage,
                first: sentence.number,
                last: sentence.number,
            };
            Some((window, mine.text.clone(), theirs.text.clone()))
        })
        .collect()
    }

    /// The window of sentences that a byte range of a passage touches.
    pub(super) fn window_covering(
        &self,
        passage: usize,
        bytes: &Range<usize>,
    ) -> Option<SentenceWindow> {
        let spans = &self.passages.get(passage)?.sentence_spans;
        let touches = |it: &Range<usize>| it.start < bytes.end && bytes.start < it.end;
        let from = spans.iter().position(touches)?;
        let to = spans.iter().rposition(touches)?;
        Some(SentenceWindow {
            passage,
            first: from,
            last: to,
        })
    }
}

/// A text with its numbers masked; `None` if it has no numbers or too few words.
fn number_free_shape(text: &SentenceFeatures) -> Option<String> {
    let numbers = |it: &TextToken| matches!(it.kind, TextTokenKind::Number | TextTokenKind::Code);
    let words = text
        .tokens
        .iter()
        .filter(|it| it.kind == TextTokenKind::Word)
        .count();
    if words < 2 || !text.tokens.iter().any(numbers) {
        return None;
    }
    let kept = text
        .tokens
        .iter()
        .filter(|it| it.kind != TextTokenKind::Break);
    let parts: Vec<&str> = kept
        .map(|it| if numbers(it) { "#" } else { it.text.as_str() })
        .collect();
    Some(parts.join(" "))
}

fn same_value(one: &TextToken, other: &TextToken) -> bool {
    let value = |it: &TextToken| Decimal::parse(&it.text);
    one.text == other.text
        || (one.kind == TextTokenKind::Number
            && other.kind == TextTokenKind::Number
            && value(one) == value(other))
}
