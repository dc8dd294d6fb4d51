//! Numbers written in words.

use super::{
    number::{Decimal, Number, NumberBound, NumberRole, RangeEnd},
    parser::{finish_number, parse_bound},
    units::{self, FOLD, PERCENT},
};
use crate::answer::verifier::text::tokenizer::{TextToken, TextTokenKind};

/// Parses `twelve`, `twenty-five`, `two hundred and six`, `half`, `two-thirds`, `twofold`.
pub(crate) fn parse_number_words(text: &str, tokens: &[TextToken], at: usize) -> Option<Number> {
    let word = |at: usize| {
        let token = tokens.get(at).filter(|it| it.kind == TextTokenKind::Word);
        token.map(|it| it.text.as_str())
    };
    let first = word(at)?;
    let plain = |value: &str, unit, to| {
        Decimal::parse(value).map(|value| Number {
            value,
            unit: Some(unit),
            unit_exponent: 0,
            bound: parse_bound(tokens, at),
            range_end: RangeEnd::Single,
            is_share: false,
            role: NumberRole::Unspecified,
            is_of_all: false,
            is_count: false,
            from: at,
            to,
        })
    };
    let rough = |value: &str, to| {
        plain(value, PERCENT, to).map(|it| Number {
            bound: NumberBound::Approximate,
            ..it
        })
    };
    match (first, word(at + 1).unwrap_or_default()) {
        ("a" | "one", "third") => return rough("33.3", at + 2),
        ("a" | "one", "quarter") => return plain("25", PERCENT, at + 2),
        ("two", "thirds") => return rough("66.7", at + 2),
        ("three", "quarters") => return plain("75", PERCENT, at + 2),
        (count, part) => {
            if let Some(percent) = fraction_percent(count, part) {
                return plain(percent, PERCENT, at + 2);
            }
        }
    }
    if let (Some(of), Some("in"), Some(all)) =
        (small_number(first), word(at + 1), word(at + 2).and_then(small_number))
        && let Some((percent, exact)) = ratio_percent(of, all)
        // `one in three years` is a frequency.
        && !finish_number(text, tokens, at, at + 3, Decimal::from_integer(all)).unit.is_some_and(units::is_time)
    {
        return if exact {
            plain(&percent, PERCENT, at + 3)
        } else {
            rough(&percent, at + 3)
        };
    }
    match first {
        "half" if word(at + 2) == Some("maximal") => return None,
        "half" if matches!(word(at + 1), Some("a" | "an")) => {
            let of_unit = finish_number(text, tokens, at, at + 2, Decimal::parse("0.5")?);
            return if of_unit.unit.is_some_and(units::is_time) {
                Some(of_unit)
            } else {
                plain("50", PERCENT, at + 1)
            };
        }
        "half" | "halved" => return plain("50", PERCENT, at + 1),
        "twice" | "twofold" | "double" | "doubled" | "doubling" | "doubles" => {
            return plain("2", FOLD, at + 1);
        }
        "thrice" | "threefold" | "triple" | "tripled" => return plain("3", FOLD, at + 1),
        "tenfold" => return plain("10", FOLD, at + 1),
        "fivefold" => return plain("5", FOLD, at + 1),
        "fourfold" | "quadrupled" => return plain("4", FOLD, at + 1),
        _ => {}
    }
    let mut total: u64 = 0;
    let mut part: u64 = 0;
    let mut next = at;
    let mut any = false;
    while let Some(here) = word(next) {
        if let Some(value) = small_number(here) {
            // Two number words in a row are two numbers, unless they are tens and ones.
            if any
                && (!(20..100).contains(&(part % 100)) || value >= 10 || !part.is_multiple_of(10))
            {
                break;
            }
            part = part.checked_add(value)?;
        } else if let Some(tens) = units::magnitude(here, false).filter(|_| any) {
            let by = 10_u64.checked_pow(u32::try_from(tens).ok()?)?;
            if tens == 2 {
                part = part.checked_mul(by)?;
            } else {
                total = total.checked_add(part.checked_mul(by)?)?;
                part = 0;
            }
        } else if here == "and"
            && any
            && part.is_multiple_of(100)
            && word(next + 1).and_then(small_number).is_some()
        {
            next += 1;
            part = part.checked_add(word(next).and_then(small_number)?)?;
        } else {
            break;
        }
        any = true;
        next += 1;
        if tokens.get(next).is_some_and(|it| it.is_break("-")) && word(next + 1).is_some() {
            let joined = word(next + 1).and_then(small_number).is_some();
            next += usize::from(joined);
        }
    }
    // `one` is usually a pronoun.
    if !any || (first == "one" && next == at + 1) {
        return None;
    }
    let whole = total.checked_add(part)?;
    if is_and_a_half(tokens, next) {
        let value = Decimal::parse(&format!("{whole}.5"))?;
        return Some(finish_number(text, tokens, at, next + 3, value));
    }
    Some(finish_number(
        text,
        tokens,
        at,
        next,
        Decimal::from_integer(whole),
    ))
}

/// Whether `and a half` follows a number, as in `two and a half`.
pub(crate) fn is_and_a_half(tokens: &[TextToken], at: usize) -> bool {
    let words = tokens.iter().skip(at).map(|it| it.text.as_str());
    words.take(3).eq(["and", "a", "half"])
}

/// Converts `four in five` to a percentage, and says whether it is exact.
fn ratio_percent(of: u64, all: u64) -> Option<(String, bool)> {
    let share = (1..all).contains(&of) && all <= 10;
    let percent = || format!("{:.1}", of as f64 * 100.0 / all as f64);
    share.then(|| (percent(), (1000 * of).is_multiple_of(all)))
}

/// Converts `one fifth` or `three tenths` to a percentage. `a fifth` may be an ordinal.
fn fraction_percent(count: &str, part: &str) -> Option<&'static str> {
    let percent = match (count, part) {
        ("one", "fifth") => "20",
        ("two", "fifths") => "40",
        ("three", "fifths") => "60",
        ("four", "fifths") => "80",
        ("one", "tenth") => "10",
        ("three", "tenths") => "30",
        ("seven", "tenths") => "70",
        ("nine", "tenths") => "90",
        _ => return None,
    };
    Some(percent)
}

fn small_number(word: &str) -> Option<u64> {
    const ONES: [&str; 20] = [
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
    ];
    const TENS: [&str; 8] = [
        "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
    ];
    let place = |of: &[&str]| of.iter().position(|it| *it == word);
    let ones = place(&ONES).and_then(|it| u64::try_from(it).ok());
    ones.or_else(|| {
        let tens = u64::try_from(place(&TENS)?).ok()?;
        Some((tens + 2) * 10)
    })
}
