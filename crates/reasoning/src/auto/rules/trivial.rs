//! Recognizes contents that need no reasoning: greetings and bare sums.

use deliberate_core::fold_letters;

use super::{
    phrases::{LANGUAGES, PhraseList, RuleLanguage},
    text::{PAUSE_TOKEN, Phrase, split_words, strip_longest},
};

/// A longer content is never trivial.
const MAX_CHARS: usize = 60;

/// The reason why a content clearly needs no reasoning.
pub(super) fn trivial_reason(content: &str) -> Option<&'static str> {
    let content = content.trim();
    if content.chars().count() > MAX_CHARS || content.contains('\n') {
        return None;
    }
    let content: String = fold_letters(content).collect();
    let words = split_words(&content);
    if !content.contains('?') && !words.is_empty() && consists_of(&words, |it| &it.greetings) {
        Some("A greeting")
    } else if is_arithmetic(&content) {
        Some("Simple arithmetic")
    } else {
        None
    }
}

/// Tells whether the words are nothing but phrases of such lists, in any language.
fn consists_of(
    words: &[String],
    list: impl Fn(&'static RuleLanguage) -> &'static PhraseList,
) -> bool {
    let phrases: Vec<&Phrase> = LANGUAGES.iter().flat_map(|it| &list(it).0).collect();
    let mut clauses = words.split(|word| word == PAUSE_TOKEN);
    clauses.all(|clause| {
        let mut rest = clause;
        while let Some(left) = strip_longest(rest, phrases.iter().copied()) {
            rest = left;
        }
        rest.is_empty()
    })
}

const MAX_OPERATORS: usize = 4;
/// Arithmetic with longer numbers is not trivial.
const MAX_DIGITS: usize = 6;

/// Tells whether the folded content is a few numbers with operators, and at most a request for the
/// result.
fn is_arithmetic(content: &str) -> bool {
    let first = content.find(|it: char| it.is_ascii_digit() || matches!(it, '(' | '-' | '−'));
    let last = content.rfind(|it: char| it.is_ascii_digit() || matches!(it, ')' | '='));
    let (Some(first), Some(last)) = (first, last) else {
        return false;
    };
    let (Some(before), Some(sum), Some(after)) = (
        content.get(..first),
        content.get(first..=last),
        content.get(last + 1..),
    ) else {
        return false;
    };
    let (before, after) = (split_words(before), split_words(after));
    if !consists_of(&before, |it| &it.sum_words) || !consists_of(&after, |it| &it.sum_words) {
        return false;
    }
    let (sum, equals) = match sum.strip_suffix('=') {
        Some(sum) => (sum.trim_end(), true),
        None => (sum, false),
    };
    let is_asked = equals || !before.is_empty() || !after.is_empty();
    ArithmeticExpression::parse(sum).is_some_and(|sum| {
        (1..=MAX_OPERATORS).contains(&sum.operators) && (sum.is_clear || is_asked)
    })
}

/// The properties of an arithmetic expression that decide whether it is one.
#[derive(Default)]
struct ArithmeticExpression {
    operators: usize,
    /// Whether the text can only be arithmetic. Numbers with only "-" or "/" between them may be a
    /// date, a range, a score, a phone number or a ratio; those two need spaces around them anyway.
    is_clear: bool,
}

impl ArithmeticExpression {
    /// Parses a well-formed expression.
    fn parse(text: &str) -> Option<Self> {
        let mut sum = Self::default();
        let mut open = 0_usize;
        // Whether a number or an opening bracket must follow.
        let mut wants_number = true;
        let mut before = None;
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            let after = rest.get(letter.len_utf8()..)?;
            let is_spaced = before == Some(' ') && after.starts_with(' ');
            before = Some(letter);
            rest = after;
            match letter {
                ' ' => {}
                '(' if wants_number => open += 1,
                ')' if !wants_number => open = open.checked_sub(1)?,
                '-' | '−' if wants_number && after.starts_with(|it: char| it.is_ascii_digit()) => {
                }
                '0'..='9' if wants_number => {
                    rest = skip_number(letter, after)?;
                    wants_number = false;
                }
                '-' | '−' | '/' if !wants_number && is_spaced => {
                    sum.operators += 1;
                    wants_number = true;
                }
                '+' | '*' | '×' | '÷' | '^' if !wants_number => {
                    sum.operators += 1;
                    sum.is_clear = true;
                    wants_number = true;
                }
                _ => return None,
            }
        }
        (open == 0 && !wants_number).then_some(sum)
    }
}

/// The rest of `text` after the number that begins with the digit `first`.
fn skip_number(first: char, text: &str) -> Option<&str> {
    let is_of_number = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | ',');
    let end = text.find(|letter| !is_of_number(letter));
    let (more, rest) = text.split_at_checked(end.unwrap_or(text.len()))?;
    let is_long = more.len() >= MAX_DIGITS;
    // 01 is a month or a code.
    let is_code = first == '0' && !more.is_empty() && !more.starts_with(['.', ',']);
    let points = more.matches(['.', ',']).count();
    let is_number = points == 0 || (points == 1 && !more.ends_with(['.', ',']));
    (is_number && !is_long && !is_code).then_some(rest)
}
