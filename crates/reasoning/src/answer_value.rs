//! The value of a result, whatever its form: `**110**`, `$110` and `Greta gets back 110 dollars` say
//! the same. Results of one question are compared by it.

use std::sync::LazyLock;

use regex::Regex;

use crate::model_fields::normalized;

/// The value of a result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AnswerValue {
    /// The only number of the result, with its unit if that has a known size.
    Number {
        value: f64,
        unit: Option<&'static str>,
    },
    /// Minutes since midnight.
    TimeOfDay(u32),
    YesOrNo(bool),
    /// Anything else, without its form.
    Text(String),
}

/// A sentence with more words than this is not reduced to a value.
const MAX_WORDS: usize = 16;

/// A text with more words than this is worded in another way each time.
const MAX_COMPARABLE_WORDS: usize = 6;

/// Words with which a number is a bound, a choice or a denial, and not the value itself.
const QUALIFIERS: [&str; 26] = [
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
];

/// Units whose size differs, so that equal numbers of them are different results.
const UNITS: [(&str, &[&str]); 18] = [
    ("ms", &["ms", "millisecond", "milliseconds"]),
    ("s", &["s", "sec", "secs", "second", "seconds"]),
    ("min", &["min", "mins", "minute", "minutes"]),
    ("h", &["h", "hr", "hrs", "hour", "hours"]),
    ("day", &["day", "days"]),
    ("week", &["week", "weeks"]),
    ("month", &["month", "months"]),
    ("year", &["year", "years"]),
    ("mm", &["mm", "millimeter", "millimeters"]),
    ("cm", &["cm", "centimeter", "centimeters"]),
    ("m", &["m", "meter", "meters", "metre", "metres"]),
    (
        "km",
        &["km", "kilometer", "kilometers", "kilometre", "kilometres"],
    ),
    ("mile", &["mile", "miles"]),
    ("g", &["g", "gram", "grams"]),
    ("kg", &["kg", "kilogram", "kilograms"]),
    ("percent", &["%", "percent"]),
    ("cent", &["cent", "cents"]),
    ("thousand", &["k", "thousand", "million", "billion"]),
];

#[expect(
    clippy::expect_used,
    reason = "the patterns are constants, which the tests compile"
)]
fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a constant pattern compiles")
}

static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?P<sign>-?)(?P<digits>\d{1,3}(?:[,'\u{202f}\u{a0}]\d{3})+(?:\.\d+)?|\d+(?:[.,]\d+)?)\s?(?P<unit>%|\p{L}*)",
    )
});
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(\d{1,2})\s?[:h]\s?([0-5]\d)(?::\d{2})?(?:\s*([ap])\.?\s?m\b)?|\b(\d{1,2})\s*([ap])\.?\s?m\b|\b(noon|midnight)\b",
    )
});
static WRAPPER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\\(?:boxed|text|mathrm|mathbf)\s*\{([^{}]*)\}"));
static LEAD: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^.*\b(?:answer|result|solution|total)(?:\s+is|\s*:)\s+"));

impl AnswerValue {
    pub(crate) fn parse(answer: &str) -> Self {
        let text = plain_form(answer);
        let words: Vec<&str> = text
            .split(|letter: char| !letter.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        if words.len() <= MAX_WORDS {
            if let Some(said) = yes_or_no(&text, &words) {
                return Self::YesOrNo(said);
            }
            let has_qualifier = words.iter().any(|word| QUALIFIERS.contains(word))
                || text.contains(['<', '>', '≤', '≥', '≠', '≈', '~', '±']);
            if !has_qualifier && let Some(value) = only_time(&text).or_else(|| only_number(&text)) {
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

    /// Tells whether two results of one question are the same. A number without a unit agrees with
    /// one that has a unit.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Number { value, unit },
                Self::Number {
                    value: other_value,
                    unit: other_unit,
                },
            ) => {
                let same_unit = unit.is_none() || other_unit.is_none() || unit == other_unit;
                same_unit && (value - other_value).abs() <= value.abs().max(1.0) * 1e-9
            }
            _ => self == other,
        }
    }
}

/// Removes Markdown, formulas' wrappers and what introduces the result.
fn plain_form(answer: &str) -> String {
    let mut text = answer
        .replace(['*', '`', '$', '"', '“', '”'], "")
        .replace(['−', '–'], "-")
        .replace("\\(", "")
        .replace("\\)", "");
    text = WRAPPER.replace_all(&text, "$1").into_owned();
    let text = normalized(&text);
    let text = LEAD.replace(&text, "").into_owned();
    match text.split_once('=') {
        // `x = 5`, but no chain of equations.
        Some((name, value)) if !value.contains('=') && name.split_whitespace().count() <= 3 => {
            value.trim().to_owned()
        }
        _ => text,
    }
}

fn yes_or_no(text: &str, words: &[&str]) -> Option<bool> {
    let first = words.first()?;
    let said = match *first {
        "yes" | "true" | "correct" => true,
        "no" | "false" | "incorrect" => false,
        _ => return None,
    };
    let rest = text.strip_prefix(first)?;
    (rest.is_empty() || rest.starts_with([',', '.', ';', ':', '!', '-'])).then_some(said)
}

fn only_time(text: &str) -> Option<AnswerValue> {
    let mut times = TIME.captures_iter(text);
    let (time, None) = (times.next()?, times.next()) else {
        return None;
    };
    let part = |index: usize| time.get(index).map(|it| it.as_str());
    if let Some(word) = part(6) {
        return Some(AnswerValue::TimeOfDay(if word == "noon" { 720 } else { 0 }));
    }
    let hour: u32 = part(1).or_else(|| part(4))?.parse().ok()?;
    let minute: u32 = part(2).map_or(Some(0), |minute| minute.parse().ok())?;
    let hour = match part(3).or_else(|| part(5)) {
        Some("p") if hour < 12 => hour + 12,
        Some("a") if hour == 12 => 0,
        _ => hour,
    };
    (hour < 24).then_some(AnswerValue::TimeOfDay(hour * 60 + minute))
}

fn only_number(text: &str) -> Option<AnswerValue> {
    let mut numbers = NUMBER.captures_iter(text);
    let (number, None) = (numbers.next()?, numbers.next()) else {
        return None;
    };
    let digits = number.name("digits")?;
    let before = text.get(..digits.start()).unwrap_or_default();
    // `B2` is a name and `3x` a term, not the number 2 or 3.
    if before.ends_with(|letter: char| letter.is_alphabetic() || letter == '/') {
        return None;
    }
    let word = number.name("unit").map_or("", |it| it.as_str());
    let unit = UNITS.iter().find(|(_, names)| names.contains(&word));
    let after = text.get(digits.end()..).unwrap_or_default();
    let touches_letter = after.starts_with(char::is_alphabetic);
    if after.starts_with(['/', '^'])
        || (touches_letter && unit.is_none())
        || unit.is_some_and(|it| it.0 == "thousand")
    {
        return None;
    }
    let sign = number.name("sign").map_or("", |it| it.as_str());
    let is_negative = sign == "-"
        && !before
            .trim_end_matches('-')
            .ends_with(char::is_alphanumeric);
    let value = parse_digits(digits.as_str())?;
    Some(AnswerValue::Number {
        value: if is_negative { -value } else { value },
        unit: unit.map(|(name, _)| *name),
    })
}

/// Parses digits with separators of thousands, and a comma as the decimal mark elsewhere.
fn parse_digits(digits: &str) -> Option<f64> {
    let grouped = digits
        .split([',', '\'', '\u{202f}', '\u{a0}'])
        .skip(1)
        .all(|group| group.split('.').next().is_some_and(|it| it.len() == 3));
    let plain: String = if grouped {
        digits
            .chars()
            .filter(|letter| letter.is_ascii_digit() || *letter == '.')
            .collect()
    } else {
        digits.replace(',', ".")
    };
    plain.parse().ok()
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
mod tests {
    use super::*;

    fn same(one: &str, other: &str) -> bool {
        AnswerValue::parse(one).agrees(&AnswerValue::parse(other))
    }

    #[test]
    fn forms_of_one_value_agree() {
        for (one, other) in [
            ("110", "Greta gets back 110 dollars."),
            ("36 passengers", "**36**"),
            ("$1,200", "1200.0"),
            ("\\boxed{42}", "The answer is 42."),
            ("x = -5", "−5"),
            ("2 hours", "2"),
            ("18:05", "6:05 pm"),
            ("The train arrives at 18:05", "18h05"),
            ("noon", "12:00"),
            ("Yes.", "yes, because 7 is prime"),
            ("True", "yes"),
            ("Ann, Bo, Cy", "Ann → Bo → Cy"),
            ("Ann, Bo and Cy", "[ann, bo, cy]"),
            ("the red box", "Red box."),
            ("3,5", "3.5"),
        ] {
            assert!(same(one, other), "{one} | {other}");
            assert!(same(other, one), "{other} | {one}");
        }
    }

    #[test]
    fn different_values_do_not_agree() {
        for (one, other) in [
            ("x < 3", "x > 3"),
            ("1, 2", "12"),
            ("2 hours", "2 minutes"),
            ("3 million", "3"),
            ("3x", "3"),
            ("B2", "2"),
            ("3/4", "3"),
            ("at least 3", "3"),
            ("not 3", "3"),
            ("18:05", "6:05"),
            ("5", "-5"),
            ("yes", "no"),
            ("No, it is", "Nora"),
            ("Ann, Bo", "Bo, Ann"),
            ("2024-03-05", "2024-03-06"),
            ("3 of 4", "3 of 5"),
        ] {
            assert!(!same(one, other), "{one} | {other}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_agrees_with_itself(text in "\\PC{0,60}") {
            let value = AnswerValue::parse(&text);
            proptest::prop_assert!(value.agrees(&value));
        }
    }
}
