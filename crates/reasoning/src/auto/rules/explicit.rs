//! Finds explicit requests: texts and hints that name the way to think.

use std::{ops::Range, sync::LazyLock};

use super::{
    phrases::{LANGUAGES, ModeRequest, PhraseList, RuleLanguage},
    text::{PAUSE_TOKEN, Phrase, split_sentences, split_words, strip_longest},
};
use crate::auto::mode_choice::ModeChoice;

/// A longer sentence is data rather than a request.
const MAX_SENTENCE_WORDS: usize = 400;
/// A request stands in one of so many sentences at the start or the end of a text; in the middle it
/// may be part of a story.
const EDGE_SENTENCES: usize = 2;
/// How far the name of a way to think may be from the verb that goes with it, in words.
const NEAR_WORDS: usize = 12;

/// Words around the name of a mode in a hint.
const HINT_WORDS: &str = "please, use, try, prefer, mode, tool, bitte, nutze, modus, utilise, s'il te \
    plaît, usa, por favor, modo, per favore, 请, 用, 使用, 模式, を, て, ください, モード";

/// A request for a mode in one language.
struct RequestPattern {
    choice: ModeChoice,
    language: &'static RuleLanguage,
    request: &'static ModeRequest,
}

static PATTERNS: LazyLock<Vec<RequestPattern>> = LazyLock::new(|| {
    let of_language = |language: &'static RuleLanguage| {
        let requests = language.requests.iter();
        requests.filter_map(move |request| {
            Some(RequestPattern {
                choice: ModeChoice::find(&request.mode)?,
                language,
                request,
            })
        })
    };
    LANGUAGES.iter().flat_map(of_language).collect()
});

static HINT_PHRASES: LazyLock<PhraseList> = LazyLock::new(|| HINT_WORDS.to_owned().into());

/// The one mode that a text explicitly asks for, with the words that ask for it.
pub(super) fn find_request(text: &str) -> Option<(ModeChoice, String)> {
    let sentences = split_sentences(text);
    let is_edge = |at: usize| at < EDGE_SENTENCES || at + EDGE_SENTENCES >= sentences.len();
    let mut found: Option<(ModeChoice, String)> = None;
    for (at, sentence) in sentences.iter().enumerate() {
        if !is_edge(at) || sentence.len() > MAX_SENTENCE_WORDS {
            continue;
        }
        let before = sentences.get(..at).unwrap_or_default();
        for pattern in PATTERNS.iter() {
            let Some(words) = pattern.find(sentence) else {
                continue;
            };
            // After "translate" and the like, the rest is the text to work on.
            let text_tasks = &pattern.language.text_tasks;
            let mut earlier = before.iter().chain([sentence]);
            if earlier.any(|earlier| text_tasks.occurs_in(earlier)) {
                continue;
            }
            match &found {
                Some((choice, _)) if *choice != pattern.choice => return None,
                Some(_) => {}
                None => found = Some((pattern.choice, words)),
            }
        }
    }
    found
}

/// The mode that a hint names, if the hint contains nothing else, or that it explicitly asks for.
pub(super) fn find_in_hint(hint: &str) -> Option<ModeChoice> {
    let mut words = split_words(hint);
    words.retain(|word| word != PAUSE_TOKEN);
    let named = |choice: &ModeChoice| {
        let name = [Phrase::new(choice.as_str())];
        covers_hint(&words, &PhraseList::default(), |rest| {
            strip_longest(rest, name.iter())
        })
    };
    let mut patterns = PATTERNS.iter();
    ModeChoice::all()
        .find(named)
        .or_else(|| Some(patterns.find(|it| it.is_whole_hint(&words))?.choice))
        .or_else(|| Some(find_request(hint)?.0))
}

/// Tells whether a hint has nothing but a phrase that `strip_name` takes away, `near` words and the
/// words that usually surround a name.
fn covers_hint<'a>(
    hint: &'a [String],
    near: &PhraseList,
    strip_name: impl Fn(&'a [String]) -> Option<&'a [String]>,
) -> bool {
    let mut rest = hint;
    let mut is_named = false;
    while !rest.is_empty() {
        if let Some(left) = strip_name(rest) {
            (rest, is_named) = (left, true);
            continue;
        }
        let phrases = near.0.iter().chain(&HINT_PHRASES.0);
        let Some(left) = strip_longest(rest, phrases) else {
            return false;
        };
        rest = left;
    }
    is_named
}

/// Tells whether a text contains a negation of any language.
pub(super) fn has_negation(text: &str) -> bool {
    let words = split_words(text);
    LANGUAGES.iter().any(|it| it.negations.occurs_in(&words))
}

impl RequestPattern {
    fn near_words(&self) -> &PhraseList {
        self.request.near_words(self.language)
    }

    fn is_whole_hint(&self, hint: &[String]) -> bool {
        let strip_name = |rest| self.request.phrases.strip(rest);
        self.request.next.0.is_empty() && covers_hint(hint, self.near_words(), strip_name)
    }

    /// The words of the sentence that ask for the mode.
    fn find(&self, sentence: &[String]) -> Option<String> {
        self.request.phrases.0.iter().find_map(|wanted| {
            let mut positions = wanted.positions(sentence);
            positions.find_map(|at| {
                let phrase = at..at + wanted.len();
                let span = self.request_span(sentence, &phrase, wanted.is_instruction)?;
                let words = sentence.get(span)?.join(" ");
                Some(words.replace(" ,", ","))
            })
        })
    }

    /// The words from the verb to the phrase, if they are a request.
    fn request_span(
        &self,
        sentence: &[String],
        phrase: &Range<usize>,
        is_instruction: bool,
    ) -> Option<Range<usize>> {
        let clause = |at: usize| sentence.get(clause_start(sentence, at)..at);
        let after = sentence.get(phrase.end..)?;
        let (next, unless_next) = (&self.request.next, &self.request.unless_next);
        if (!next.0.is_empty() && !next.starts(after)) || unless_next.starts(after) {
            return None;
        }
        let language = self.language;
        if is_instruction && !language.strip_openers(clause(phrase.start)?).is_empty() {
            return None;
        }
        let span = match self.nearest_verb(sentence, phrase) {
            Some(verb) => verb.start.min(phrase.start)..verb.end.max(phrase.end),
            None if self.near_words().0.is_empty() => phrase.clone(),
            // "Step by step, please."
            None if self.stands_alone(sentence, phrase) => phrase.clone(),
            None => return None,
        };
        let asked = language.strip_openers(clause(span.start)?);
        if language.related().any(|it| it.questions.occurs_in(asked)) {
            return None;
        }
        // A negation stands before the request, between its words or right after it; farther on it
        // belongs to the problem.
        let before = sentence.get(clause_start(sentence, span.start)..phrase.start)?;
        let after = sentence.get(phrase.end..(span.end + 1).min(sentence.len()))?;
        let negated = language.related().any(|it| it.negations.occurs_in(before))
            || language.negations.occurs_in(after);
        (!negated).then_some(span)
    }

    fn nearest_verb(&self, sentence: &[String], phrase: &Range<usize>) -> Option<Range<usize>> {
        let verbs = self.near_words().0.iter().flat_map(|verb| {
            let positions = verb.positions(sentence);
            positions.map(move |at| at..at + verb.len())
        });
        let distance = |verb: &Range<usize>| {
            let before = phrase.start.saturating_sub(verb.end);
            before.max(verb.start.saturating_sub(phrase.end))
        };
        let apart = verbs.filter(|verb| verb.end <= phrase.start || verb.start >= phrase.end);
        apart
            .filter(|verb| distance(verb) <= NEAR_WORDS)
            .min_by_key(distance)
    }

    /// Tells whether the sentence has nothing but the phrase and phrases such as "please".
    fn stands_alone(&self, sentence: &[String], phrase: &Range<usize>) -> bool {
        let parts = [sentence.get(..phrase.start), sentence.get(phrase.end..)];
        parts.into_iter().flatten().all(|part| {
            let mut clauses = part.split(|word| word == PAUSE_TOKEN);
            clauses.all(|clause| self.language.strip_openers(clause).is_empty())
        })
    }
}

/// The position after the last pause before `at`.
fn clause_start(sentence: &[String], at: usize) -> usize {
    let before = sentence.get(..at).unwrap_or_default();
    let pause = before.iter().rposition(|word| word == PAUSE_TOKEN);
    pause.map_or(0, |pause| pause + 1)
}
