//! Values of a kind in a text, in the form in which answers are compared.

use std::sync::LazyLock;

use regex::Regex;

use crate::ExpectedAnswer;

#[expect(
    clippy::expect_used,
    reason = "the patterns are constants, which the tests compile"
)]
pub(super) fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a constant pattern compiles")
}

static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\d{1,3}(?:[,'_\u{a0}\u{202f}]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"));
static NUMBER_WORD: LazyLock<Regex> =
    LazyLock::new(|| pattern(&format!(r"(?i)\b(?:{})\b", NUMBER_WORDS.join("|"))));
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(\d{1,2})\s?[:h]\s?(\d{2})(?::\d{2})?(?:\s*([ap])\.?\s?m\b)?|\b(\d{1,2})\s*([ap])\.?\s?m\b|\b(noon|midnight)\b",
    )
});
static DATE: LazyLock<Regex> = LazyLock::new(|| {
    let month = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?";
    pattern(&format!(
        r"(?i)\b(\d{{4}})[-/.](\d{{1,2}})[-/.](\d{{1,2}})\b|\b{month}\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})\b|\b(\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+{month},?\s+(\d{{4}})\b"
    ))
});

const NUMBER_WORDS: [&str; 21] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// Returns the values of the expected kind in a text, in their order.
pub(super) fn find_values(expected: &ExpectedAnswer, text: &str) -> Vec<String> {
    match expected {
        ExpectedAnswer::Integer(_) => integers(text),
        ExpectedAnswer::TimeOfDay(_) => times(text),
        ExpectedAnswer::Date { .. } => dates(text),
        ExpectedAnswer::Choice { options, .. } => words(options, text),
        ExpectedAnswer::Sequence { names, .. } => sequences(names, text),
        ExpectedAnswer::PythonTests(_) => Vec::new(),
    }
}

fn integers(text: &str) -> Vec<String> {
    let found: Vec<String> = NUMBER
        .find_iter(text)
        .map(|number| {
            let before = text.get(..number.start()).unwrap_or_default();
            let sign = if is_negative(before) { "-" } else { "" };
            format!("{sign}{}", plain_number(number.as_str()))
        })
        .map(|number| {
            if number == "-0" {
                "0".to_owned()
            } else {
                number
            }
        })
        .collect();
    if found.is_empty() {
        number_words(text)
    } else {
        found
    }
}

/// Returns whether the text before a number ends with a sign that is not a subtraction.
fn is_negative(before: &str) -> bool {
    let Some(rest) = before.strip_suffix(['-', '−', '–']) else {
        return false;
    };
    !rest.ends_with(|c: char| c.is_alphanumeric() || c == ')')
}

/// Removes separators, leading zeros and a fraction of zeros.
fn plain_number(number: &str) -> String {
    let digits: String = number
        .chars()
        .filter(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    match fraction.trim_end_matches('0') {
        "" => whole.to_owned(),
        fraction => format!("{whole}.{fraction}"),
    }
}

fn number_words(text: &str) -> Vec<String> {
    NUMBER_WORD
        .find_iter(text)
        .filter_map(|word| {
            let word = word.as_str().to_lowercase();
            let number = NUMBER_WORDS.iter().position(|known| *known == word)?;
            Some(number.to_string())
        })
        .collect()
}

fn times(text: &str) -> Vec<String> {
    TIME.captures_iter(text)
        .filter_map(|found| {
            let part = |index| found.get(index).map(|part| part.as_str().to_lowercase());
            if let Some(word) = part(6) {
                return Some(if word == "noon" { "12:00" } else { "00:00" }.to_owned());
            }
            let hour: u32 = part(1).or_else(|| part(4))?.parse().ok()?;
            let minute: u32 = part(2).map_or(Some(0), |minute| minute.parse().ok())?;
            let hour = match part(3).or_else(|| part(5)).as_deref() {
                Some("p") if hour < 12 => hour + 12,
                Some("a") if hour == 12 => 0,
                _ => hour % 24,
            };
            (minute < 60).then(|| format!("{hour:02}:{minute:02}"))
        })
        .collect()
}

fn dates(text: &str) -> Vec<String> {
    DATE.captures_iter(text)
        .filter_map(|found| {
            let number = |index: usize| found.get(index)?.as_str().parse::<u32>().ok();
            let month = |index: usize| {
                let name = found.get(index)?.as_str().to_lowercase();
                let position = MONTHS.iter().position(|known| *known == name)?;
                u32::try_from(position + 1).ok()
            };
            let (year, month, day) = if let Some(year) = number(1) {
                (year, number(2)?, number(3)?)
            } else if let Some(month) = month(4) {
                (number(6)?, month, number(5)?)
            } else {
                (number(9)?, month(8)?, number(7)?)
            };
            Some(format!("{year:04}-{month:02}-{day:02}"))
        })
        .collect()
}

fn alternatives(words: &[String]) -> String {
    let escaped: Vec<String> = words.iter().map(|word| regex::escape(word)).collect();
    format!(r"\b(?:{})\b", escaped.join("|"))
}

fn words(options: &[String], text: &str) -> Vec<String> {
    let Ok(any) = Regex::new(&format!("(?i){}", alternatives(options))) else {
        return Vec::new();
    };
    any.find_iter(text)
        .map(|word| word.as_str().to_lowercase())
        .collect()
}

/// Returns runs of at least two names with nothing but separators between them.
fn sequences(names: &[String], text: &str) -> Vec<String> {
    let name = alternatives(names);
    let separator = r"(?:\s|->|→|⟶|[,;<>–—-]|\\rightarrow|\\to\b|\band\b|\bthen\b|\bto\b|\d+[.)])+";
    let Ok(run) = Regex::new(&format!("(?i){name}(?:{separator}{name})+")) else {
        return Vec::new();
    };
    run.find_iter(text)
        .map(|run| words(names, run.as_str()).join(", "))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_every_form() {
        for (text, values) in [
            ("1,200 and 1200.00, 007", &["1200", "1200", "7"][..]),
            ("12.5", &["12.5"]),
            ("10-3 = 7 and -4", &["10", "3", "7", "-4"]),
            ("**$45**", &["45"]),
            ("twelve eggs", &["12"]),
            ("one of 3", &["3"]),
            ("none", &[]),
        ] {
            assert_eq!(integers(text), values, "{text}");
        }
    }

    #[test]
    fn times_are_read_on_both_clocks() {
        for (text, value) in [
            ("18:05", "18:05"),
            ("6:05 pm", "18:05"),
            ("6:05 P.M.", "18:05"),
            ("12:30 a.m.", "00:30"),
            ("6 pm", "18:00"),
            ("9:05", "09:05"),
            ("09:05:00", "09:05"),
            ("24:00", "00:00"),
            ("noon", "12:00"),
            ("18h05", "18:05"),
        ] {
            assert_eq!(times(text), [value], "{text}");
        }
        assert!(times("after 75 minutes, 12.50").is_empty());
    }

    #[test]
    fn dates_are_read_in_numbers_and_words() {
        for text in [
            "2026-03-05",
            "2026/3/5",
            "March 5, 2026",
            "5 March 2026",
            "the 5th of Mar. 2026",
        ] {
            assert_eq!(dates(text), ["2026-03-05"], "{text}");
        }
    }

    #[test]
    fn sequences_need_separators_between_names() {
        let names = ["Ann", "Bob", "Cy"].map(str::to_owned);
        for (text, values) in [
            ("ann, BOB, Cy", &["ann, bob, cy"][..]),
            (
                "from Ann to Cy is Ann -> Bob → Cy",
                &["ann, cy", "ann, bob, cy"],
            ),
            ("1. Ann\n2. Cy\n3. Bob", &["ann, cy, bob"]),
            ("Ann is taller than Bob", &[]),
            ("Anna, Bobby", &[]),
        ] {
            assert_eq!(sequences(&names, text), values, "{text}");
        }
    }
}
