//! Finds explicit requests: texts and hints that name the way to think.

use std::{ops::Range, sync::LazyLock};

use super::{
    languages::{ENGLISH, LANGUAGES, RuleLanguage},
    requests::ModeRequest,
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

/// The words of a language as phrases.
struct LanguagePhrases {
    is_latin: bool,
    negations: Vec<Phrase>,
    questions: Vec<Phrase>,
    text_tasks: Vec<Phrase>,
    openers: Vec<Phrase>,
}

static LANGUAGE_PHRASES: LazyLock<Vec<LanguagePhrases>> = LazyLock::new(|| {
    let parse = |language: &&RuleLanguage| LanguagePhrases {
        is_latin: language.is_latin,
        negations: Phrase::list(language.negations),
        questions: Phrase::list(language.questions),
        text_tasks: Phrase::list(language.text_tasks),
        openers: Phrase::list(language.openers),
    };
    LANGUAGES.iter().map(parse).collect()
});

impl LanguagePhrases {
    /// The language itself, or all that share the Latin script: English names of ways to think occur
    /// in each of them.
    fn related(&self) -> impl Iterator<Item = &Self> {
        let others = LANGUAGE_PHRASES.iter().filter(|_| self.is_latin);
        let others = others.filter(|it| it.is_latin);
        let own = Some(self).filter(|it| !it.is_latin);
        others.chain(own)
    }
}

/// A `ModeRequest` with parsed phrases.
struct RequestPattern {
    choice: ModeChoice,
    language: &'static LanguagePhrases,
    near: Vec<Phrase>,
    phrases: Vec<RequestPhrase>,
    next: Vec<Phrase>,
    unless_next: Vec<Phrase>,
}

struct RequestPhrase {
    phrase: Phrase,
    /// Whether it counts only where an instruction begins.
    is_instruction: bool,
}

static PATTERNS: LazyLock<Vec<RequestPattern>> = LazyLock::new(|| {
    let of_mode = |choice: ModeChoice| {
        let names = named_mode_phrases(choice);
        let by_name = ModeRequest::new(&ENGLISH, "", "");
        let by_name = RequestPattern {
            phrases: RequestPhrase::list(&names),
            ..RequestPattern::new(choice, &by_name)?
        };
        let requests = choice.routing.requests.iter();
        let written = requests.filter_map(move |it| RequestPattern::new(choice, it));
        Some(written.chain([by_name]))
    };
    ModeChoice::all().filter_map(of_mode).flatten().collect()
});

static HINT_PHRASES: LazyLock<Vec<Phrase>> = LazyLock::new(|| Phrase::list(HINT_WORDS));

/// Phrases that contain the name of a mode or of its tool.
fn named_mode_phrases(choice: ModeChoice) -> String {
    let name = choice.as_str();
    let by_tool = choice.tool().map(|tool| format!(", {tool}"));
    let by_tool = by_tool.unwrap_or_default();
    format!("{name} mode, mode {name}{by_tool}")
}

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
            let is_material =
                |earlier: &Vec<String>| has_any(earlier, &pattern.language.text_tasks);
            if before.iter().chain([sentence]).any(is_material) {
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
        covers_hint(&words, &[], |rest| strip_longest(rest, name.iter()))
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
    near: &[Phrase],
    strip_name: impl Fn(&'a [String]) -> Option<&'a [String]>,
) -> bool {
    let mut rest = hint;
    let mut is_named = false;
    while !rest.is_empty() {
        if let Some(left) = strip_name(rest) {
            (rest, is_named) = (left, true);
            continue;
        }
        let Some(left) = strip_longest(rest, near.iter().chain(HINT_PHRASES.iter())) else {
            return false;
        };
        rest = left;
    }
    is_named
}

/// Tells whether a text contains a negation of any language.
pub(super) fn has_negation(text: &str) -> bool {
    let words = split_words(text);
    let mut languages = LANGUAGE_PHRASES.iter();
    languages.any(|it| has_any(&words, &it.negations))
}

fn has_any(words: &[String], phrases: &[Phrase]) -> bool {
    let mut phrases = phrases.iter();
    phrases.any(|phrase| phrase.positions(words).next().is_some())
}

impl RequestPhrase {
    fn list(text: &str) -> Vec<Self> {
        let parse = |text: &str| Self {
            phrase: Phrase::new(text),
            is_instruction: text.trim().starts_with('^'),
        };
        text.split(',').map(parse).collect()
    }
}

impl RequestPattern {
    /// `None` only if the language is not in the table of languages.
    fn new(choice: ModeChoice, request: &ModeRequest) -> Option<Self> {
        let is_same = |it: &&RuleLanguage| std::ptr::eq(*it, request.language);
        let language = LANGUAGES.iter().position(is_same)?;
        Some(Self {
            choice,
            language: LANGUAGE_PHRASES.get(language)?,
            near: Phrase::list(request.near),
            phrases: RequestPhrase::list(request.phrases),
            next: Phrase::list(request.next),
            unless_next: Phrase::list(request.unless_next),
        })
    }

    fn is_whole_hint(&self, hint: &[String]) -> bool {
        let phrases = || self.phrases.iter().map(|it| &it.phrase);
        self.next.is_empty() && covers_hint(hint, &self.near, |rest| strip_longest(rest, phrases()))
    }

    /// The words of the sentence that ask for the mode.
    fn find(&self, sentence: &[String]) -> Option<String> {
        self.phrases.iter().find_map(|wanted| {
            let mut positions = wanted.phrase.positions(sentence);
            positions.find_map(|at| {
                let phrase = at..at + wanted.phrase.len();
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
        let follows = |phrases: &[Phrase]| phrases.iter().any(|it| it.starts(after));
        if (!self.next.is_empty() && !follows(&self.next)) || follows(&self.unless_next) {
            return None;
        }
        if is_instruction && !self.strip_openers(clause(phrase.start)?).is_empty() {
            return None;
        }
        let span = match self.nearest_verb(sentence, phrase) {
            Some(verb) => verb.start.min(phrase.start)..verb.end.max(phrase.end),
            None if self.near.is_empty() => phrase.clone(),
            // "Step by step, please."
            None if self.stands_alone(sentence, phrase) => phrase.clone(),
            None => return None,
        };
        let mut mates = self.language.related();
        let asked = self.strip_openers(clause(span.start)?);
        if mates.any(|it| has_any(asked, &it.questions)) {
            return None;
        }
        // A negation stands before the request, between its words or right after it; farther on it
        // belongs to the problem.
        let before = sentence.get(clause_start(sentence, span.start)..phrase.start)?;
        let after = sentence.get(phrase.end..(span.end + 1).min(sentence.len()))?;
        let mut mates = self.language.related();
        let negated = mates.any(|it| has_any(before, &it.negations))
            || has_any(after, &self.language.negations);
        (!negated).then_some(span)
    }

    fn nearest_verb(&self, sentence: &[String], phrase: &Range<usize>) -> Option<Range<usize>> {
        let verbs = self.near.iter().flat_map(|verb| {
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
            clauses.all(|clause| self.strip_openers(clause).is_empty())
        })
    }

    /// The words after phrases such as "please" and "can you".
    fn strip_openers<'a>(&self, words: &'a [String]) -> &'a [String] {
        let mut rest = words;
        while let Some(left) = strip_longest(rest, self.language.openers.iter()) {
            rest = left;
        }
        rest
    }
}

/// The position after the last pause before `at`.
fn clause_start(sentence: &[String], at: usize) -> usize {
    let before = sentence.get(..at).unwrap_or_default();
    let pause = before.iter().rposition(|word| word == PAUSE_TOKEN);
    pause.map_or(0, |pause| pause + 1)
}
