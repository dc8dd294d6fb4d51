//! Detects instructions that ask for a mode. One counts only at the start of a sentence and with
//! its natural object soon after the verb; other occurrences of the words are ignored.

use super::{
    text::{
        PAUSE_TOKEN, RuleSentence, find_phrase, replace_quotations, split_sentences, split_words,
        strip_phrase,
    },
    vocabulary::{INSTRUCTION_OPENERS, IntentPattern, NEGATION_WORDS, TEXT_TASK_VERBS},
};
use crate::auto::mode_choice::ModeChoice;

/// A longer text is left to the router, because it contains more than an instruction.
const MAX_CHARS: usize = 1_000;

/// The one mode that a text clearly asks for, with the words that ask for it.
pub(super) fn detect_intent(text: &str) -> Option<(ModeChoice, String)> {
    if text.chars().count() > MAX_CHARS {
        return None;
    }
    let sentences = split_sentences(&replace_quotations(text))?;
    // Words inside quotations count as doubts.
    let all = split_words(text);
    if is_text_task(&sentences, &all) {
        return None;
    }
    let last = sentences.len().checked_sub(1)?;
    let mut found: Option<(ModeChoice, String)> = None;
    for (at, sentence) in sentences.iter().enumerate() {
        let said = ModeChoice::all().find_map(|choice| {
            let mut intents = choice.routing.intents.iter();
            let words = intents.find_map(|intent| intent.match_sentence(sentence, &all))?;
            Some((choice, words))
        });
        match said {
            // In the middle of a text it may be part of a story.
            Some(_) if at != 0 && at != last => return None,
            Some((choice, _)) if found.as_ref().is_some_and(|(it, _)| *it != choice) => {
                return None;
            }
            Some(said) => found = found.or(Some(said)),
            // Next to an instruction, a question is the actual request.
            None if sentence.is_question => return None,
            None => {}
        }
    }
    let (choice, _) = found.as_ref()?;
    let mut others = ModeChoice::all().filter(|other| other != choice);
    if others.any(|other| has_any(&all, other.routing.signals)) {
        return None;
    }
    found
}

/// Tells whether a text contains a word that may reverse an instruction.
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

/// Tells whether a sentence begins or continues with work on a text or a program.
fn is_text_task(sentences: &[RuleSentence], all: &[String]) -> bool {
    let is_work = |word: &String| TEXT_TASK_VERBS.contains(&word.as_str());
    let begins = |sentence: &RuleSentence| strip_openers(sentence).first().is_some_and(is_work);
    let goes_on = |pair: &[String]| match pair {
        [link, word] => matches!(link.as_str(), "and" | "then") && is_work(word),
        _ => false,
    };
    sentences.iter().any(begins) || all.windows(2).any(goes_on)
}

/// The words of a sentence after its opening phrases, such as "please" or "can you".
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
    /// The words of the sentence that match the pattern. `all` are the words of the whole text.
    fn match_sentence(&self, sentence: &RuleSentence, all: &[String]) -> Option<String> {
        let instruction = strip_openers(sentence);
        // "Brainstorm or decide?" is a question; "Can you brainstorm names?" is an instruction.
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
            // An instruction needs an object: one of the pattern, or any further words.
            let length = instruction.len() - rest.len();
            let is_whole = !self.objects.is_empty() || !rest.is_empty();
            is_whole.then(|| instruction.get(..length)).flatten()
        })?;
        let means_another = self.unless.iter().any(|words| has_any(all, words));
        let hesitant = !self.allows_negations && contains_negation(all);
        (!means_another && !hesitant).then(|| said.join(" ").replace(" ,", ","))
    }
}

/// The words after the first of these phrases that begins within `reach` words.
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
