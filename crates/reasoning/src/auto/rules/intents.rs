//! Wishes for a way to think. One counts as an instruction, at the start of a sentence and with its
//! natural object soon after it; words that merely occur say nothing.

use super::{
    text::{
        PAUSE_TOKEN, RuleSentence, find_phrase, replace_quotations, split_sentences, split_words,
        strip_phrase,
    },
    vocabulary::{
        INSTRUCTION_OPENERS, INTENT_PATTERNS, IntentPattern, MODE_SIGNALS, NEGATION_WORDS,
        TEXT_TASK_VERBS,
    },
};
use crate::auto::mode_choice::ModeChoice;

/// A longer text is for the router: there is more in it than an instruction.
const MAX_CHARS: usize = 1_000;

/// The one wish a text clearly says, with the words that say it.
pub(super) fn detect_intent(text: &str) -> Option<(ModeChoice, String)> {
    if text.chars().count() > MAX_CHARS {
        return None;
    }
    let sentences = split_sentences(&replace_quotations(text))?;
    // Quotations count where they raise a doubt.
    let all = split_words(text);
    if is_text_task(&sentences, &all) {
        return None;
    }
    let last = sentences.len().checked_sub(1)?;
    let mut found: Option<(ModeChoice, String)> = None;
    for (at, sentence) in sentences.iter().enumerate() {
        let said = INTENT_PATTERNS
            .iter()
            .find_map(|wish| wish.match_sentence(sentence, &all));
        match said {
            // In the midst of a text it may be part of a story.
            Some(_) if at != 0 && at != last => return None,
            Some((choice, _)) if found.as_ref().is_some_and(|(it, _)| *it != choice) => {
                return None;
            }
            Some(said) => found = found.or(Some(said)),
            // A question besides is what is really asked.
            None if sentence.is_question => return None,
            None => {}
        }
    }
    let (choice, _) = found.as_ref()?;
    let mut others = MODE_SIGNALS.iter().filter(|(other, _)| other != choice);
    if others.any(|(_, signs)| has_any(&all, signs)) {
        return None;
    }
    found
}

/// Whether a text says something that turns wishes around.
pub(super) fn has_negation(text: &str) -> bool {
    contains_negation(&split_words(text))
}

fn contains_negation(words: &[String]) -> bool {
    has_any(words, NEGATION_WORDS) || words.iter().any(|word| word.ends_with("n't"))
}

fn has_any(words: &[String], phrases: &[&str]) -> bool {
    phrases
        .iter()
        .any(|phrase| find_phrase(words, phrase).is_some())
}

/// Whether a sentence begins with such work, or goes on to it.
fn is_text_task(sentences: &[RuleSentence], all: &[String]) -> bool {
    let is_work = |word: &String| TEXT_TASK_VERBS.contains(&word.as_str());
    let begins = |sentence: &RuleSentence| strip_openers(sentence).first().is_some_and(is_work);
    let goes_on = |pair: &[String]| match pair {
        [link, word] => matches!(link.as_str(), "and" | "then") && is_work(word),
        _ => false,
    };
    sentences.iter().any(begins) || all.windows(2).any(goes_on)
}

/// The words of a sentence after those that only open it.
fn strip_openers(sentence: &RuleSentence) -> &[String] {
    let mut rest = sentence.words.as_slice();
    while let Some(left) = INSTRUCTION_OPENERS
        .iter()
        .find_map(|opening| strip_phrase(rest, opening))
    {
        rest = strip_phrase(left, PAUSE_TOKEN).unwrap_or(left);
    }
    rest
}

impl IntentPattern {
    /// The words that say it in a sentence of a text of `all` these words.
    fn match_sentence(
        &self,
        sentence: &RuleSentence,
        all: &[String],
    ) -> Option<(ModeChoice, String)> {
        let instruction = strip_openers(sentence);
        // "Brainstorm or decide?" asks; "Can you brainstorm names?" wishes.
        let is_opened = instruction.len() < sentence.words.len();
        if sentence.is_question && !is_opened {
            return None;
        }
        let said = self.verbs.iter().find_map(|verb| {
            let mut rest = strip_phrase(instruction, verb)?;
            for (reach, objects) in self.objects {
                rest = after_first_phrase(rest, *reach, objects)?;
            }
            let next = rest.first().map_or(PAUSE_TOKEN, String::as_str);
            if !self.followed_by.is_empty()
                && next != PAUSE_TOKEN
                && !self.followed_by.contains(&next)
            {
                return None;
            }
            // A wish is for something, if only in the words that say it.
            let length = instruction.len() - rest.len();
            let is_whole = !self.objects.is_empty() || !rest.is_empty();
            is_whole.then(|| instruction.get(..length)).flatten()
        })?;
        let means_another = self.unless.iter().any(|words| has_any(all, words));
        let hesitant = !self.allows_negations && contains_negation(all);
        (!means_another && !hesitant).then(|| (self.choice, said.join(" ").replace(" ,", ",")))
    }
}

/// What follows the first of these phrases, if one begins within so many words.
fn after_first_phrase<'a>(
    words: &'a [String],
    reach: usize,
    phrases: &[&str],
) -> Option<&'a [String]> {
    (0..reach).find_map(|at| {
        let rest = words.get(at..)?;
        phrases.iter().find_map(|phrase| strip_phrase(rest, phrase))
    })
}
