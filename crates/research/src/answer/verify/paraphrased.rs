//! A claim that puts its passage in words of its own. Where no sentence shares enough words with it
//! and none speaks against it, a sentence that it cites can still say so in words that are near in
//! meaning. What can be told exactly must be: every number and name is there, both sides deny or
//! neither does, and something points the way the claim does.

use std::collections::HashMap;

use super::{
    Checked, Claim, Verdict, Verifier,
    analysis::Analysis,
    compare::Sides,
    equal::{Match, compare},
    foreign::is_foreign,
    judge::{enough, plain},
    lexicon,
    nearness::{Meaning, Meanings},
    number::Number,
    tokens::Kind,
    window::Window,
    within::evidence,
};

/// How much of what a claim speaks of a sentence must speak of, each word as much as it is near.
const NEAR: f64 = 0.5;

/// The same where the two are alike as a whole, and how alike that is.
const PARTLY: f64 = 0.3;
const ALIKE: f64 = 0.66;

/// What comes as near as this and speaks against the claim leaves it open.
const MARGIN: f64 = 0.12;

/// So many of the passages that a claim cites are looked at, and so many sentences of each.
const MOST_CITED: usize = 4;
const MOST_SENTENCES: usize = 60;

/// So many windows are looked at closely.
const CLOSELY: usize = 4;

/// A claim made ready to be looked for in other words.
struct Asked<'a> {
    text: &'a str,
    claim: &'a Analysis,
    whole: Meaning,
    words: Vec<Wanted<'a>>,
}

/// A word of a claim that counts as far as something near it is there.
struct Wanted<'a> {
    key: &'a str,
    weight: f64,
    /// Nothing for what must be there as it is.
    meaning: Option<Meaning>,
}

impl Verifier {
    /// What became of a claim of which no sentence has enough words: supported, if one that it
    /// cites says it in other words.
    pub(super) fn paraphrased(&self, text: &str, claim: &Claim) -> Option<Checked> {
        let analysis = self.corpus.analyse(text);
        if is_foreign(&analysis.tokens) {
            return None;
        }
        let asked = Asked {
            text,
            whole: Meaning::of(text),
            words: self.wanted(&analysis),
            claim: &analysis,
        };
        let cited = self.cited_first(claim).into_iter();
        let cited = cited.take_while(|&it| self.is_cited(it, claim));
        let mut windows: Vec<(Window, f64)> = cited
            .take(MOST_CITED)
            .flat_map(|it| self.near_windows(it, &asked))
            .collect();
        windows.sort_by(|one, other| other.1.total_cmp(&one.1));
        windows.truncate(CLOSELY);
        let (window, near) = self.unopposed(&asked, &windows)?;
        let passage = self.corpus.passages.get(window.passage)?;
        Some(Checked {
            evidence: vec![evidence(&passage.source, self.corpus.span(&window)?)],
            overlap: near,
            ..plain(Verdict::Supported)
        })
    }

    /// The nearest window that says all of a claim, if nothing that is about as near speaks
    /// against it.
    fn unopposed(&self, asked: &Asked<'_>, windows: &[(Window, f64)]) -> Option<(Window, f64)> {
        let mut best: Option<(Window, f64)> = None;
        for &(window, near) in windows {
            if best.is_some_and(|(_, best)| near < best - MARGIN) {
                break;
            }
            let passage = self.corpus.passages.get(window.passage)?;
            let there = self.corpus.analysis(&window);
            let sides = Sides {
                corpus: &self.corpus,
                passage,
                text: asked.text,
                claim: asked.claim,
                said: passage.source.text.get(self.corpus.span(&window)?)?,
                window: &there,
            };
            let findings = sides.compare();
            if !findings.conflicts.is_empty() {
                return None;
            }
            if best.is_none() && findings.lacks.is_empty() && agree(asked.claim, &there) {
                best = Some((window, near));
            }
        }
        best
    }

    /// What a claim speaks of, without its directions, which are looked at apart.
    fn wanted<'a>(&self, claim: &'a Analysis) -> Vec<Wanted<'a>> {
        let mut all: Vec<Wanted<'a>> = Vec::new();
        for (at, (token, key)) in claim.tokens.iter().zip(&claim.keys).enumerate() {
            let Some(key) = key.as_deref() else {
                continue;
            };
            if lexicon::direction(&token.text).is_some() || all.iter().any(|it| it.key == key) {
                continue;
            }
            let strict = token.kind != Kind::Word || claim.names.contains(&at);
            all.push(Wanted {
                key,
                weight: self.corpus.weight(key),
                meaning: (!strict).then(|| Meaning::of(&token.text)),
            });
        }
        all
    }

    /// Sentences of a passage, and pairs of them, that come near a claim, with how near.
    fn near_windows(&self, passage: usize, asked: &Asked<'_>) -> Vec<(Window, f64)> {
        let Some(of) = self.corpus.passages.get(passage) else {
            return Vec::new();
        };
        let near: Vec<HashMap<&str, f64>> = asked
            .words
            .iter()
            .map(|it| near_words(it, of.meanings()))
            .collect();
        let enough = enough(asked.claim);
        let sentences = of.spans.len().min(MOST_SENTENCES);
        let singles = (0..sentences).map(|at| (at, at));
        let pairs = (1..sentences).map(|at| (at - 1, at));
        let windows = singles.chain(pairs);
        let windows = windows.filter_map(|(from, to)| {
            let window = Window { passage, from, to };
            let there: Vec<&Analysis> = self.corpus.sentences_of(&window).collect();
            let score = score(asked, &near, &there);
            let said = of.source.text.get(self.corpus.span(&window)?)?;
            let alike = || asked.whole.likeness(&Meaning::of(said)) >= ALIKE;
            // Two that share their subject are alike, whatever is said of it.
            let near = score >= NEAR.max(enough);
            let partly = enough <= NEAR && score >= PARTLY;
            (near || (partly && alike())).then_some((window, score))
        });
        windows.collect()
    }
}

/// The words of a passage that can stand for one of a claim, and how much.
fn near_words<'a>(wanted: &Wanted<'a>, there: &'a Meanings) -> HashMap<&'a str, f64> {
    let mut all = HashMap::from([(wanted.key, 1.0)]);
    let Some(own) = &wanted.meaning else {
        return all;
    };
    for (key, meaning) in there {
        let near = own.nearness(meaning);
        if near > 0.0 {
            all.entry(key.as_str()).or_insert(near);
        }
    }
    all
}

/// How much of what is asked for is there, 0 to 1, each word as much as the nearest one is near.
fn score(asked: &Asked<'_>, near: &[HashMap<&str, f64>], there: &[&Analysis]) -> f64 {
    let mut all = 0.0;
    let mut shared = 0.0;
    for (it, near) in asked.words.iter().zip(near) {
        let keys = there.iter().flat_map(|it| it.keys.iter().flatten());
        let found = keys.filter_map(|key| near.get(key.as_str()));
        all += it.weight;
        shared += it.weight * found.copied().fold(0.0, f64::max);
    }
    let same = |number: &&Number| {
        let mut said = there.iter().flat_map(|it| &it.numbers);
        said.any(|it| compare(number, it) == Match::Same)
    };
    let numbers: f64 = asked.claim.numbers.iter().filter(same).map(tells).sum();
    let (all, shared) = (all + numbers, shared + numbers);
    if all > 0.0 { shared / all } else { 0.0 }
}

/// How much a number tells that is there just so. Three digits tell as much as a rare word.
fn tells(number: &Number) -> f64 {
    let value = number.value.about().abs();
    if !number.value.is_whole() || value >= 100.0 {
        3.0
    } else if value >= 10.0 {
        2.0
    } else {
        1.0
    }
}

/// Whether both sides deny something or neither does, and what the claim says of more or less has
/// something there that points the same way.
fn agree(claim: &Analysis, there: &Analysis) -> bool {
    let points = |of: &Analysis, up: bool| {
        let mut all = of.directions.iter();
        all.any(|(at, it)| it.up == up && lexicon::is_scale(it.axis) && !of.is_negated(*at))
    };
    claim.denials.is_empty() == there.denials.is_empty()
        && [true, false]
            .iter()
            .all(|&up| !points(claim, up) || points(there, up))
}
