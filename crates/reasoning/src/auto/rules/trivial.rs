//! Recognizes contents that need no reasoning: greetings, plain arithmetic and a few facts.

use super::text::{split_words, strip_phrase};

/// A longer content is never trivial.
const MAX_CHARS: usize = 60;

/// The reason why a content clearly needs no reasoning.
pub(super) fn trivial_reason(content: &str) -> Option<&'static str> {
    let content = content.trim();
    if content.chars().count() > MAX_CHARS || content.contains('\n') {
        return None;
    }
    if is_greeting(content) {
        Some("A greeting")
    } else if is_arithmetic(content) {
        Some("Simple arithmetic")
    } else if is_fact(content) {
        Some("A plain question for a fact")
    } else {
        None
    }
}

const GREETINGS: &[&str] = &[
    "hi",
    "hello",
    "hey",
    "thanks",
    "many thanks",
    "thank you",
    "bye",
    "goodbye",
    "good morning",
    "good afternoon",
    "good evening",
    "good night",
];

const GREETING_SUFFIXES: &[&str] = &[
    "there",
    "all",
    "everyone",
    "again",
    "so much",
    "very much",
    "a lot",
];

fn is_greeting(content: &str) -> bool {
    let words = split_words(content);
    let mut rest = words.as_slice();
    if content.contains('?') || rest.is_empty() {
        return false;
    }
    let one_of = |phrases: &[&str], rest| phrases.iter().find_map(|it| strip_phrase(rest, it));
    let mut greeted = false;
    while !rest.is_empty() {
        if let Some(left) = one_of(GREETINGS, rest) {
            (rest, greeted) = (left, true);
        } else if let Some(left) = one_of(GREETING_SUFFIXES, rest).filter(|_| greeted) {
            rest = left;
        } else {
            return false;
        }
    }
    greeted
}

const ARITHMETIC_PREFIXES: &[&str] = &[
    "what is ",
    "what's ",
    "how much is ",
    "calculate ",
    "compute ",
];
const MAX_OPERATORS: usize = 4;
/// Arithmetic with longer numbers is not trivial.
const MAX_DIGITS: usize = 6;

/// Tells whether the content is a few numbers with operators, and at most a request for the result.
fn is_arithmetic(content: &str) -> bool {
    let text = content.to_lowercase().replace('’', "'");
    let opened = ARITHMETIC_PREFIXES
        .iter()
        .find_map(|it| text.strip_prefix(it));
    let sum = opened.unwrap_or(&text).trim();
    let sum = sum.trim_end_matches(['?', '.', '!', ' ']);
    let (sum, equals) = match sum.strip_suffix('=') {
        Some(before) => (before.trim(), true),
        None => (sum, false),
    };
    let Some(sum) = ArithmeticExpression::parse(sum) else {
        return false;
    };
    (1..=MAX_OPERATORS).contains(&sum.operators) && (sum.is_clear || opened.is_some() || equals)
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
    let is_of_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let end = text.find(|letter| !is_of_number(letter));
    let (more, rest) = text.split_at_checked(end.unwrap_or(text.len()))?;
    let is_long = more.len() >= MAX_DIGITS;
    // 01 is a month or a code.
    let is_code = first == '0' && !more.is_empty() && !more.starts_with('.');
    let points = more.matches('.').count();
    let is_number = points == 0 || (points == 1 && !more.ends_with('.'));
    (is_number && !is_long && !is_code).then_some(rest)
}

const FACT_PREFIXES: &[&str] = &["what is the", "what's the"];
const FACT_SUBJECTS: &[&str] = &[
    "capital of",
    "currency of",
    "chemical symbol of",
    "plural of",
    "abbreviation of",
];
/// Words that show that the question is not about a single well-known thing.
const NON_FACT_WORDS: &[&str] = &[
    "a", "an", "and", "any", "at", "be", "but", "each", "every", "for", "her", "his", "if", "in",
    "is", "it", "its", "my", "of", "on", "or", "our", "some", "that", "their", "these", "this",
    "those", "to", "was", "what", "when", "which", "who", "why", "with", "your",
];
const MAX_FACT_WORDS: usize = 3;

/// Recognizes questions for a fact of general knowledge, in a few unambiguous forms.
fn is_fact(content: &str) -> bool {
    let is_simple =
        |letter: char| letter.is_alphabetic() || matches!(letter, ' ' | '-' | '\'' | '’');
    let question = content.trim_end_matches(['?', ' ']);
    if !question.chars().all(is_simple) {
        return false;
    }
    let words = split_words(question);
    let one_of = |phrases: &[&str], rest| phrases.iter().find_map(|it| strip_phrase(rest, it));
    let Some(thing) = one_of(FACT_PREFIXES, &words).and_then(|rest| one_of(FACT_SUBJECTS, rest))
    else {
        return false;
    };
    // "The Netherlands" is well known, "the fund" is not.
    let is_known = thing.first().is_none_or(|word| word != "the")
        || question
            .split(' ')
            .next_back()
            .is_some_and(|word| word.starts_with(char::is_uppercase));
    (1..=MAX_FACT_WORDS).contains(&thing.len())
        && is_known
        && !thing
            .iter()
            .any(|word| NON_FACT_WORDS.contains(&word.as_str()))
}
