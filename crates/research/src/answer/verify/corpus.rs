//! The passages made ready: their sentences taken apart, and how rare each word is among them.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
    sync::OnceLock,
};

use super::{
    Source,
    analysis::{Analysis, Known},
    lexicon,
    nearness::{Meanings, meanings},
    number::Decimal,
    numbered::is_of_another,
    quote::Stream,
    sentences::sentences,
    tokens::{Case, Kind, Token, tokens},
    window::Window,
};

/// The passages made ready.
pub(super) struct Corpus {
    pub(super) passages: Vec<Passage>,
    sentences: Vec<Sentence>,
    /// In which sentences a word is.
    holders: HashMap<String, Vec<u32>>,
    /// Sentences by what is left of them without their numbers.
    shapes: HashMap<String, Vec<u32>>,
    /// Words that are written as names somewhere, and those written in lower case.
    names: HashSet<String>,
    words: HashSet<String>,
}

/// A passage made ready.
pub(super) struct Passage {
    pub(super) source: Source,
    pub(super) stream: Stream,
    pub(super) spans: Vec<Range<usize>>,
    /// Its text taken apart as a whole.
    pub(super) whole: Analysis,
    /// Its title taken apart.
    pub(super) title: Analysis,
    /// What its words mean, once that is asked.
    meanings: OnceLock<Meanings>,
    /// Its first sentence, among all.
    first: usize,
}

impl Passage {
    /// What its common words mean.
    pub(super) fn meanings(&self) -> &Meanings {
        self.meanings.get_or_init(|| meanings(&self.whole))
    }
}

struct Sentence {
    passage: usize,
    number: usize,
    analysis: Analysis,
}

/// So much of all passages is looked at, in bytes, and so many sentences.
const MOST_BYTES: usize = 4_000_000;
const MOST_SENTENCES: usize = 30_000;

/// How many sentences apart two may stand that a claim draws on.
const FARTHEST: usize = 3;

/// Sentences that are alike but for their numbers are looked at up to so many.
const MOST_ALIKE: usize = 200;

/// A word that no passage has is most often another word for one that they have.
const STRANGE: f64 = 0.55;

impl Corpus {
    pub(super) fn new(sources: &[Source]) -> Self {
        let mut left = MOST_BYTES;
        let sources = sources.iter().take_while(|source| {
            let fits = source.text.len() <= left;
            left = left.saturating_sub(source.text.len());
            fits
        });
        let sources: Vec<&Source> = sources.collect();
        let mut corpus = Self {
            passages: Vec::with_capacity(sources.len()),
            sentences: Vec::new(),
            holders: HashMap::new(),
            shapes: HashMap::new(),
            names: HashSet::new(),
            words: HashSet::new(),
        };
        for source in &sources {
            corpus.learn_names(&source.text);
        }
        for source in sources {
            corpus.add(source.clone());
        }
        corpus
    }

    /// Words with a capital within a sentence, and those that are nothing but capitals.
    fn learn_names(&mut self, text: &str) {
        let mut first = true;
        for token in tokens(text) {
            if token.kind == Kind::Break {
                first |= matches!(token.text.as_str(), "." | "?" | "!" | ":");
            } else if token.kind == Kind::Word {
                let name = token.case == Case::Caps || (token.case == Case::Capital && !first);
                if name && !lexicon::is_light(&token.text) {
                    self.names.insert(token.text);
                } else if token.case == Case::Lower {
                    self.words.insert(token.text);
                }
                first = false;
            }
        }
    }

    pub(super) fn analyse(&self, text: &str) -> Analysis {
        Analysis::of(text, &|word| {
            if self.names.contains(word) {
                Known::Name
            } else if self.words.contains(word) {
                Known::Word
            } else {
                Known::Nothing
            }
        })
    }

    fn add(&mut self, source: Source) {
        let spans = sentences(&source.text);
        let first = self.sentences.len();
        let passage = self.passages.len();
        for (number, span) in spans.iter().enumerate() {
            if self.sentences.len() >= MOST_SENTENCES {
                break;
            }
            let text = source.text.get(span.clone()).unwrap_or_default();
            // Who asks says nothing.
            let asks = text.trim_end().ends_with('?');
            let analysis = if asks {
                Analysis::default()
            } else {
                self.analyse(text)
            };
            let index = u32::try_from(self.sentences.len()).unwrap_or(u32::MAX);
            for key in analysis.key_set() {
                match self.holders.get_mut(key) {
                    Some(holders) => holders.push(index),
                    None => {
                        self.holders.insert(key.to_owned(), vec![index]);
                    }
                }
            }
            if let Some(shape) = shape(&analysis) {
                self.shapes.entry(shape).or_default().push(index);
            }
            self.sentences.push(Sentence {
                passage,
                number,
                analysis,
            });
        }
        let credit = &source.credit;
        self.passages.push(Passage {
            stream: Stream::of(&source.text),
            whole: self.analyse(&source.text),
            title: self.analyse(&format!("{}. {}", credit.authors.join(" "), credit.title)),
            spans,
            meanings: OnceLock::new(),
            first,
            source,
        });
    }

    /// Whether any passage has a word.
    pub(super) fn has(&self, key: &str) -> bool {
        self.holders.contains_key(key)
    }

    /// How much a word tells: the rarer, the more.
    pub(super) fn weight(&self, key: &str) -> f64 {
        let all = self.sentences.len() as f64;
        match self.holders.get(key) {
            Some(holders) => {
                let rare = ((all + 1.0) / (holders.len() as f64 + 0.5)).ln();
                rare.clamp(0.5, 4.0)
            }
            None => STRANGE * ((all + 1.0) / 0.5).ln().clamp(0.5, 4.0),
        }
    }

    /// How much of what is wanted is there, 0 to 1.
    pub(super) fn overlap(&self, wanted: &HashSet<&str>, there: &HashSet<&str>) -> f64 {
        let mut all = 0.0;
        let mut shared = 0.0;
        for key in wanted {
            let weight = self.weight(key);
            all += weight;
            if there.contains(key) {
                shared += weight;
            }
        }
        if all > 0.0 { shared / all } else { 0.0 }
    }

    /// How well what stands around one thing fits what stands around another, 0 to 1.
    pub(super) fn fit(&self, wanted: &HashMap<&str, f64>, there: &HashMap<&str, f64>) -> f64 {
        let mut all = 0.0;
        let mut shared = 0.0;
        for (key, near) in wanted {
            let weight = self.weight(key);
            all += weight * near;
            shared += weight * there.get(key).map_or(0.0, |it| it.min(*near));
        }
        if all > 0.0 { shared / all } else { 0.0 }
    }

    pub(super) fn analysis(&self, window: &Window) -> Analysis {
        let Some(passage) = self.passages.get(window.passage) else {
            return Analysis::default();
        };
        if window.from == window.to
            && let Some(sentence) = self.sentences.get(passage.first + window.from)
        {
            return sentence.analysis.clone();
        }
        let text = self.span(window).and_then(|it| passage.source.text.get(it));
        self.analyse(text.unwrap_or_default())
    }

    /// The sentences of a window, each taken apart by itself.
    pub(super) fn sentences_of(&self, window: &Window) -> impl Iterator<Item = &Analysis> {
        let first = self.passages.get(window.passage).map(|it| it.first);
        let numbers = first.map(|first| first + window.from..=first + window.to);
        let sentences = numbers.into_iter().flatten();
        let sentences = sentences.filter_map(|it| self.sentences.get(it));
        sentences.map(|it| &it.analysis)
    }

    /// The bytes of a window in its passage.
    pub(super) fn span(&self, window: &Window) -> Option<Range<usize>> {
        let passage = self.passages.get(window.passage)?;
        let start = passage.spans.get(window.from)?.start;
        Some(start..passage.spans.get(window.to)?.end)
    }

    /// Windows that speak most of what a claim speaks of, the best first, with how much of it.
    pub(super) fn best(&self, claim: &Analysis, most: usize) -> Vec<(Window, f64)> {
        let wanted = claim.key_set();
        let all: f64 = wanted.iter().map(|key| self.weight(key)).sum();
        if all <= 0.0 {
            return Vec::new();
        }
        let mut scores: HashMap<u32, f64> = HashMap::new();
        for key in &wanted {
            let weight = self.weight(key);
            for &holder in self.holders.get(*key).into_iter().flatten() {
                *scores.entry(holder).or_default() += weight / all;
            }
        }
        let mut singles: Vec<(u32, f64)> = scores.into_iter().collect();
        singles.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        singles.truncate(most);
        let mut windows: Vec<(Window, f64)> = Vec::new();
        for (index, score) in singles {
            let Some(sentence) = usize::try_from(index)
                .ok()
                .and_then(|it| self.sentences.get(it))
            else {
                continue;
            };
            let at = |from: usize, to: usize| Window {
                passage: sentence.passage,
                from,
                to,
            };
            windows.push((at(sentence.number, sentence.number), score));
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
        self.join_apart(&mut windows, &wanted);
        windows.sort_by(|one, other| other.1.total_cmp(&one.1));
        windows
    }

    /// Two of the best sentences of one passage, with what stands between them: a claim may draw
    /// on both.
    fn join_apart(&self, windows: &mut Vec<(Window, f64)>, wanted: &HashSet<&str>) {
        let singles = windows.iter().filter(|(it, _)| it.from == it.to);
        let best: Vec<(Window, f64)> = singles.take(4).copied().collect();
        for (at, (one, score)) in best.iter().enumerate() {
            for (other, _) in best.iter().skip(at + 1) {
                let both = Window {
                    passage: one.passage,
                    from: one.from.min(other.from),
                    to: one.to.max(other.to),
                };
                let apart = both.to - both.from;
                if one.passage != other.passage || !(2..=FARTHEST).contains(&apart) {
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

    fn pair_score(&self, pair: &Window, wanted: &HashSet<&str>) -> Option<f64> {
        let passage = self.passages.get(pair.passage)?;
        if pair.to >= passage.spans.len() {
            return None;
        }
        let one = self.sentences.get(passage.first + pair.from)?;
        let other = self.sentences.get(passage.first + pair.to)?;
        let mut there = one.analysis.key_set();
        there.extend(other.analysis.key_set());
        Some(self.overlap(wanted, &there))
    }

    /// Sentences that are word for word a claim, but for at least one of their numbers or codes:
    /// what the claim has and what they have.
    pub(super) fn but_for_numbers(&self, claim: &Analysis) -> Vec<(Window, String, String)> {
        let Some(alike) = shape(claim).and_then(|it| self.shapes.get(&it)) else {
            return Vec::new();
        };
        let all = alike.iter().take(MOST_ALIKE);
        let all = all.filter_map(|&it| self.sentences.get(usize::try_from(it).ok()?));
        let all = all.filter(|it| !is_of_another(claim, &it.analysis));
        all.filter_map(|sentence| {
            let spoken = |it: &&Token| it.kind != Kind::Break;
            let mine = claim.tokens.iter().filter(spoken);
            let theirs = sentence.analysis.tokens.iter().filter(spoken);
            let (mine, theirs) = mine
                .zip(theirs)
                .filter(|(mine, _)| matches!(mine.kind, Kind::Number | Kind::Code))
                .find(|(mine, theirs)| !same_value(mine, theirs))?;
            let window = Window {
                passage: sentence.passage,
                from: sentence.number,
                to: sentence.number,
            };
            Some((window, mine.text.clone(), theirs.text.clone()))
        })
        .collect()
    }

    /// The sentences that a stretch of a passage's bytes touches.
    pub(super) fn window_of(&self, passage: usize, bytes: &Range<usize>) -> Option<Window> {
        let spans = &self.passages.get(passage)?.spans;
        let touches = |it: &Range<usize>| it.start < bytes.end && bytes.start < it.end;
        let from = spans.iter().position(touches)?;
        let to = spans.iter().rposition(touches)?;
        Some(Window { passage, from, to })
    }
}

/// What is left of a text without its numbers, if it has any and enough is left.
fn shape(text: &Analysis) -> Option<String> {
    let numbers = |it: &Token| matches!(it.kind, Kind::Number | Kind::Code);
    let words = text
        .tokens
        .iter()
        .filter(|it| it.kind == Kind::Word)
        .count();
    if words < 2 || !text.tokens.iter().any(numbers) {
        return None;
    }
    let kept = text.tokens.iter().filter(|it| it.kind != Kind::Break);
    let parts: Vec<&str> = kept
        .map(|it| if numbers(it) { "#" } else { it.text.as_str() })
        .collect();
    Some(parts.join(" "))
}

fn same_value(one: &Token, other: &Token) -> bool {
    let value = |it: &Token| Decimal::parse(&it.text);
    one.text == other.text
        || (one.kind == Kind::Number && other.kind == Kind::Number && value(one) == value(other))
}
