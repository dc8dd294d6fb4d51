//! The value of a result, whatever its form: `**110**`, `$110` and `Greta gets back 110 dollars` say
//! the same. Results of one question are compared by it. Where two results may differ in meaning,
//! they count as different: a false agreement would confirm a wrong result.

mod number;

use std::sync::LazyLock;

use regex::Regex;

use crate::model_fields::normalized;
use number::NumberAnswer;

/// The value of a result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AnswerValue {
    /// The only number of the result.
    Number(NumberAnswer),
    /// The only time of day, and what else is said.
    TimeOfDay {
        minutes: u32,
        words: Vec<String>,
    },
    /// Year, month, day.
    Date(u32, u32, u32),
    YesOrNo(bool),
    /// Anything else, without its form.
    Text(String),
}

/// A sentence with more words than this is not reduced to a value.
const MAX_WORDS: usize = 16;

/// A text with more words than this is worded in another way each time.
const MAX_COMPARABLE_WORDS: usize = 6;

/// Words with which a number is a bound, a choice, a denial or a part of a larger expression.
const QUALIFIERS: [&str; 45] = [
    "not",
    "no",
    "never",
    "least",
    "most",
    "more",
    "less",
    "fewer",
    "than",
    "over",
    "under",
    "above",
    "below",
    "about",
    "around",
    "roughly",
    "approximately",
    "between",
    "or",
    "if",
    "except",
    "without",
    "until",
    "before",
    "after",
    "up",
    "down",
    "minus",
    "negative",
    "plus",
    "times",
    "half",
    "quarter",
    "dozen",
    "hundred",
    "thousand",
    "million",
    "billion",
    "k",
    "squared",
    "cubed",
    "root",
    "power",
    "early",
    "late",
];

/// Signs with the same effect.
const QUALIFYING_SIGNS: [char; 16] = [
    '<', '>', '≤', '≥', '≠', '≈', '~', '±', '√', '^', '²', '³', '×', '*', '+', '¬',
];

#[expect(
    clippy::expect_used,
    reason = "the patterns are constants, which the tests compile"
)]
pub(super) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a constant pattern compiles")
}

static TIME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(\d{1,2})\s?[:h]\s?([0-5]\d)(?::\d{2})?(?:\s*([ap])\.?\s?m\b)?|\b(\d{1,2})\s*([ap])\.?\s?m\b|\b(noon|midnight)\b",
    )
});
static DATE: LazyLock<Regex> = LazyLock::new(|| {
    let month = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?";
    pattern(&format!(
        r"\b(\d{{4}})-(\d{{1,2}})-(\d{{1,2}})\b|\b{month}\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})\b|\b(\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+{month},?\s+(\d{{4}})\b"
    ))
});
static WRAPPER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\\(?:boxed|text|mathrm|mathbf)\s*\{([^{}]*)\}"));
static LEAD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?:.*\b(?:answer|result|solution)(?:\s+is|\s*:)\s+|(?:it|that|this)(?:\s+is|'s)\s+)")
});

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

impl AnswerValue {
    pub(crate) fn parse(answer: &str) -> Self {
        let text = plain_form(answer);
        if text.split_whitespace().count() <= MAX_WORDS {
            if let Some(said) = yes_or_no(&text) {
                return Self::YesOrNo(said);
            }
            if let Some(date) = only_date(&text) {
                return date;
            }
            if !is_qualified(&text)
                && let Some(value) =
                    only_time(&text).or_else(|| NumberAnswer::parse(&text).map(Self::Number))
            {
                return value;
            }
        }
        Self::Text(plain_text(&text))
    }

    /// Tells whether two right answers to a question would have the same value: not if it is a text
    /// that everyone words in another way.
    pub(crate) fn is_comparable(&self) -> bool {
        match self {
            Self::Text(text) => text.split_whitespace().count() <= MAX_COMPARABLE_WORDS,
            _ => true,
        }
    }

    /// Tells whether two results of one question are the same. One may say more than the other, but
    /// not something else.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => one.agrees(other),
            (
                Self::TimeOfDay { minutes, words },
                Self::TimeOfDay {
                    minutes: other_minutes,
                    words: other_words,
                },
            ) => minutes == other_minutes && one_contains_other(words, other_words),
            _ => self == other,
        }
    }
}

/// Tells whether all words of one side are on the other side too.
fn one_contains_other(one: &[String], other: &[String]) -> bool {
    let contains = |all: &[String], part: &[String]| part.iter().all(|word| all.contains(word));
    contains(one, other) || contains(other, one)
}

/// The words around a value that tell it apart from others: without articles and other small words.
fn telling_words(text: &str) -> Vec<String> {
    text.split(|letter: char| !(letter.is_alphanumeric() || "/°%$€£'".contains(letter)))
        .map(|word| word.trim_matches('\''))
        .filter(|word| !word.is_empty() && !deliberate_core::is_stop_word(word))
        .map(|word| word.strip_suffix('s').unwrap_or(word).to_owned())
        .collect()
}

/// Removes Markdown, formulas' wrappers and what introduces the result.
fn plain_form(answer: &str) -> String {
    let text = answer
        .replace("**", "")
        .replace(['`', '"', '“', '”'], "")
        .replace(['−', '–'], "-")
        .replace("\\(", "")
        .replace("\\)", "");
    let text = WRAPPER.replace_all(&text, "$1");
    let words = text
        .split_whitespace()
        .map(|word| word.trim_matches(['*', '_']));
    let text = normalized(&words.collect::<Vec<&str>>().join(" "));
    let text = LEAD.replace(&text, "").into_owned();
    match text.split_once('=') {
        // `x = 5`, but no chain of equations.
        Some((name, value)) if !value.contains('=') && name.split_whitespace().count() <= 3 => {
            value.trim().to_owned()
        }
        _ => text,
    }
}

fn is_qualified(text: &str) -> bool {
    let mut words = text.split(|letter: char| !letter.is_alphanumeric());
    text.contains(QUALIFYING_SIGNS) || words.any(|word| QUALIFIERS.contains(&word))
}

/// Reads `yes`, `No.` and `Yes, because …`, but not a list of such words.
fn yes_or_no(text: &str) -> Option<bool> {
    const POSITIVE: [&str; 3] = ["yes", "true", "correct"];
    const NEGATIVE: [&str; 3] = ["no", "false", "incorrect"];
    let first = text
        .split(|letter: char| !letter.is_alphanumeric())
        .next()
        .unwrap_or_default();
    let said = POSITIVE.contains(&first);
    if !said && !NEGATIVE.contains(&first) {
        return None;
    }
    let rest = text.strip_prefix(first)?;
    if rest.is_empty() {
        return Some(said);
    }
    let words: Vec<&str> = rest
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let gives_reason = matches!(words.first(), Some(&("because" | "since" | "as")));
    let is_explained = gives_reason
        || (rest.starts_with([',', '.', ';', ':', '-'])
            && words.len() > 2
            && !rest.contains(|letter: char| letter.is_ascii_digit()));
    let names_another = words
        .iter()
        .any(|word| POSITIVE.contains(word) || NEGATIVE.contains(word));
    (is_explained && !names_another).then_some(said)
}

fn only_date(text: &str) -> Option<AnswerValue> {
    let found = DATE.captures(text)?;
    // Only a date that is the whole result; anything beside it may be the point.
    if found.get(0).map(|it| it.as_str()) != Some(text) {
        return None;
    }
    let part = |index: usize| found.get(index).map(|it| it.as_str());
    let number = |index: usize| part(index)?.parse::<u32>().ok();
    let month = |name: &str| {
        let at = MONTHS.iter().position(|month| *month == name)?;
        u32::try_from(at + 1).ok()
    };
    let (year, month, day) = if let Some(year) = number(1) {
        (year, number(2)?, number(3)?)
    } else if let Some(name) = part(4) {
        (number(6)?, month(name)?, number(5)?)
    } else {
        (number(9)?, month(part(8)?)?, number(7)?)
    };
    Some(AnswerValue::Date(year, month, day))
}

fn only_time(text: &str) -> Option<AnswerValue> {
    let mut times = TIME.captures_iter(text);
    let (time, None) = (times.next()?, times.next()) else {
        return None;
    };
    let part = |index: usize| time.get(index).map(|it| it.as_str());
    let minutes = if let Some(word) = part(6) {
        if word == "noon" { 720 } else { 0 }
    } else {
        let hour: u32 = part(1).or_else(|| part(4))?.parse().ok()?;
        let minute: u32 = part(2).map_or(Some(0), |minute| minute.parse().ok())?;
        let hour = match part(3).or_else(|| part(5)) {
            Some("p") if hour < 12 => hour + 12,
            Some("a") if hour == 12 => 0,
            _ => hour,
        };
        if hour > 23 {
            return None;
        }
        hour * 60 + minute
    };
    let rest = text.replacen(part(0)?, " ", 1);
    Some(AnswerValue::TimeOfDay {
        minutes,
        words: telling_words(&rest),
    })
}

/// Unifies what separates items, and drops an article.
fn plain_text(text: &str) -> String {
    let text = ["the ", "a ", "an ", "option "]
        .iter()
        .find_map(|article| text.strip_prefix(article))
        .unwrap_or(text);
    let separated = text
        .replace("->", ",")
        .replace(['→', ';'], ",")
        .replace(" and ", ", ");
    let items = separated.trim_matches(['[', ']', '(', ')', ' ']).split(',');
    let items = items.map(str::trim).filter(|item| !item.is_empty());
    items.collect::<Vec<&str>>().join(", ")
}

#[cfg(test)]
mod tests;
