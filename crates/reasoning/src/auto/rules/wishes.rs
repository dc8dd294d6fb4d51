//! Wishes for a way to think. One counts as an instruction, at the start of a sentence and with its
//! natural object soon after it; words that merely occur say nothing.

use super::{
    super::choice::Choice,
    text::{PAUSE, Sentence, after, find, sentences, without_quotations, words},
    vocabulary::{HESITATIONS, OPENINGS, SIGNS, WISHES, WORK, Wish},
};

/// A longer text is for the router: there is more in it than an instruction.
const MOST_CHARS: usize = 1_000;

/// The one wish a text clearly says, with the words that say it.
pub(super) fn wish(text: &str) -> Option<(Choice, String)> {
    if text.chars().count() > MOST_CHARS {
        return None;
    }
    let sentences = sentences(&without_quotations(text))?;
    // Quotations count where they raise a doubt.
    let all = words(text);
    if works_on_a_text(&sentences, &all) {
        return None;
    }
    let last = sentences.len().checked_sub(1)?;
    let mut found: Option<(Choice, String)> = None;
    for (at, sentence) in sentences.iter().enumerate() {
        let said = WISHES.iter().find_map(|wish| wish.said(sentence, &all));
        match said {
            // In the midst of a text it may be part of a story.
            Some(_) if at != 0 && at != last => return None,
            Some((choice, _)) if found.as_ref().is_some_and(|(it, _)| *it != choice) => {
                return None;
            }
            Some(said) => found = found.or(Some(said)),
            // A question besides is what is really asked.
            None if sentence.asks => return None,
            None => {}
        }
    }
    let (choice, _) = found.as_ref()?;
    let mut others = SIGNS.iter().filter(|(other, _)| other != choice);
    if others.any(|(_, signs)| has_any(&all, signs)) {
        return None;
    }
    found
}

/// Whether a text says something that turns wishes around.
pub(super) fn hesitates(text: &str) -> bool {
    are_hesitant(&words(text))
}

fn are_hesitant(words: &[String]) -> bool {
    has_any(words, HESITATIONS) || words.iter().any(|word| word.ends_with("n't"))
}

fn has_any(words: &[String], phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| find(words, phrase).is_some())
}

/// Whether a sentence begins with such work, or goes on to it.
fn works_on_a_text(sentences: &[Sentence], all: &[String]) -> bool {
    let is_work = |word: &String| WORK.contains(&word.as_str());
    let begins = |sentence: &Sentence| instruction(sentence).first().is_some_and(is_work);
    let goes_on = |pair: &[String]| match pair {
        [link, word] => matches!(link.as_str(), "and" | "then") && is_work(word),
        _ => false,
    };
    sentences.iter().any(begins) || all.windows(2).any(goes_on)
}

/// The words of a sentence after those that only open it.
fn instruction(sentence: &Sentence) -> &[String] {
    let mut rest = sentence.words.as_slice();
    while let Some(left) = OPENINGS.iter().find_map(|opening| after(rest, opening)) {
        rest = after(left, PAUSE).unwrap_or(left);
    }
    rest
}

impl Wish {
    /// The words that say it in a sentence of a text of `all` these words.
    fn said(&self, sentence: &Sentence, all: &[String]) -> Option<(Choice, String)> {
        let instruction = instruction(sentence);
        // "Brainstorm or decide?" asks; "Can you brainstorm names?" wishes.
        let is_opened = instruction.len() < sentence.words.len();
        if sentence.asks && !is_opened {
            return None;
        }
        let said = self.verbs.iter().find_map(|verb| {
            let mut rest = after(instruction, verb)?;
            for (reach, objects) in self.objects {
                rest = after_first(rest, *reach, objects)?;
            }
            let next = rest.first().map_or(PAUSE, String::as_str);
            if !self.then.is_empty() && next != PAUSE && !self.then.contains(&next) {
                return None;
            }
            // A wish is for something, if only in the words that say it.
            let length = instruction.len() - rest.len();
            let is_whole = !self.objects.is_empty() || !rest.is_empty();
            is_whole.then(|| instruction.get(..length)).flatten()
        })?;
        let means_another = self.unless.iter().any(|words| has_any(all, words));
        let hesitant = !self.holds_negations && are_hesitant(all);
        (!means_another && !hesitant).then(|| (self.choice, said.join(" ").replace(" ,", ",")))
    }
}

/// What follows the first of these phrases, if one begins within so many words.
fn after_first<'a>(words: &'a [String], reach: usize, phrases: &[&str]) -> Option<&'a [String]> {
    (0..reach).find_map(|at| {
        let rest = words.get(at..)?;
        phrases.iter().find_map(|phrase| after(rest, phrase))
    })
}
