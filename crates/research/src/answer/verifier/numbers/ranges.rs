//! Pairs of numbers that are the ends of a range or of a change. An end of a range is not a value;
//! the start or end of a change is.

use super::number::{Number, NumberBound, RangeEnd};
use crate::answer::verifier::text::{
    lexicon,
    tokenizer::{TextToken, TextTokenKind},
};

/// Tokens before `from 3 to 5` that are searched for a word that decides whether it is a range.
const MAX_LOOKBACK: usize = 12;

/// Marks the ends of ranges among the numbers of a text.
pub(crate) fn mark_ranges(tokens: &[TextToken], numbers: &mut [Number]) {
    for at in 1..numbers.len() {
        let (Some(one), Some(other)) = (numbers.get(at - 1), numbers.get(at)) else {
            continue;
        };
        let Some(spans) = range_ends(tokens, one, other) else {
            continue;
        };
        for (at, span) in [(at - 1, spans.0), (at, spans.1)] {
            if let Some(number) = numbers.get_mut(at) {
                number.range_end = span;
            }
        }
    }
}

/// Marks bounds that follow their number: `5 or more`, `65 and older`.
pub(crate) fn mark_bounds(tokens: &[TextToken], numbers: &mut [Number]) {
    for number in numbers
        .iter_mut()
        .filter(|it| it.bound == NumberBound::Exact)
    {
        let word = |by: usize| tokens.get(number.to + by).map_or("", |it| it.text.as_str());
        // `65 years or older`: the counted noun may come between.
        let by = usize::from(!matches!(word(0), "or" | "and"));
        if !matches!(word(by), "or" | "and") {
            continue;
        }
        number.bound = match word(by + 1) {
            "more" | "higher" | "greater" | "longer" | "larger" | "less" | "fewer" | "lower"
            | "shorter" | "smaller"
                if word(by) == "and" =>
            {
                NumberBound::Exact
            }
            "more" | "above" | "higher" | "greater" | "older" | "longer" | "over" | "larger"
                if !is_comparison(word(by + 2)) =>
            {
                NumberBound::Above
            }
            "less" | "fewer" | "below" | "lower" | "younger" | "shorter" | "under" | "smaller"
                if !is_comparison(word(by + 2)) =>
            {
                NumberBound::Below
            }
            _ => NumberBound::Exact,
        };
    }
}

/// Whether the word belongs to what follows, as in `5 or more than 7` and `5 and lower pain`.
fn is_comparison(next: &str) -> bool {
    next.chars().any(char::is_alphanumeric)
        && !matches!(
            next,
            "of" | "in" | "were" | "was" | "had" | "at" | "are" | "is"
        )
}

/// Classifies two consecutive numbers as the ends of a range or of a change.
fn range_ends(tokens: &[TextToken], one: &Number, other: &Number) -> Option<(RangeEnd, RangeEnd)> {
    let between = tokens.get(one.to..other.from)?;
    let [joint] = between else {
        return None;
    };
    let word = |back: usize| {
        let at = one.from.checked_sub(back)?;
        tokens.get(at).map(|it| it.text.as_str())
    };
    let after = |wanted: &str| (1..=2).any(|back| word(back) == Some(wanted));
    let change = Some((RangeEnd::Change, RangeEnd::Change));
    let range = match joint.text.as_str() {
        "and" if after("between") => true,
        "to" if after("from") => !is_change(tokens, one.from),
        "-" | "–" | "through" | "to" => true,
        "and" | "," => return change,
        _ => return None,
    };
    let units = one.unit.is_none() || one.unit == other.unit;
    let (low, high) = (one.value.to_f64(), other.value.to_f64());
    if range && units && low < high && !is_year(one) {
        Some((RangeEnd::Low, RangeEnd::High))
    } else {
        change
    }
}

/// Whether `from 3 to 5` describes a change.
fn is_change(tokens: &[TextToken], from: usize) -> bool {
    let before = tokens.get(from.saturating_sub(MAX_LOOKBACK)..from);
    let before = before.unwrap_or_default().iter().rev();
    let clause = before.take_while(|it| !matches!(it.text.as_str(), "." | ";" | "(" | "?" | "!"));
    for token in clause.filter(|it| it.kind == TextTokenKind::Word) {
        match token.text.as_str() {
            "ranged" | "ranging" | "ranges" | "range" | "varied" | "varies" | "vary"
            | "varying" | "anywhere" => return false,
            "went" | "changed" | "moved" | "shifted" | "passed" | "came" | "goes" | "changing" => {
                return true;
            }
            word if lexicon::direction(word).is_some() => return true,
            _ => {}
        }
    }
    false
}

fn is_year(number: &Number) -> bool {
    number.unit.is_none()
        && number.value.is_integer()
        && (1500.0..=2100.0).contains(&number.value.to_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::verifier::{numbers::parser::parse_numbers, text::tokenizer::tokenize};

    fn parse_range_ends(text: &str) -> Vec<RangeEnd> {
        let found = parse_numbers(text, &tokenize(text));
        found.into_iter().map(|it| it.range_end).collect()
    }

    #[test]
    fn ranges_are_told_from_changes() {
        for text in [
            "between 10 and 20 grams",
            "10–20 g",
            "10-20 g",
            "10 to 20 mg",
            "It ranged from 10 to 20 °C",
            "temperatures from 10 to 20 °C",
            "between 10 g and 20 g",
        ] {
            assert_eq!(
                parse_range_ends(text),
                [RangeEnd::Low, RangeEnd::High],
                "{text}"
            );
        }
        for text in [
            "It fell from 84.6 to 84.1",
            "It rose from 10 to 20 g",
            "between 1985 and 2014",
            "10 and 20 g",
        ] {
            assert_eq!(
                parse_range_ends(text),
                [RangeEnd::Change, RangeEnd::Change],
                "{text}"
            );
        }
        assert_eq!(
            parse_range_ends("10 mice and 20 rats"),
            [RangeEnd::Single, RangeEnd::Single]
        );
    }

    #[test]
    fn bounds_stand_on_both_sides() {
        let bound = |text: &str| {
            let found = parse_numbers(text, &tokenize(text));
            found.first().map(|it| it.bound)
        };
        for text in [
            "no more than 5 mg",
            "a maximum of 5 mg",
            "did not exceed 5 mg",
            "less than or equal to 5 mg",
            "5 mg or less",
            "as much as 5 mg",
        ] {
            assert_eq!(bound(text), Some(NumberBound::Below), "{text}");
        }
        for text in [
            "no fewer than 5 mice",
            "5 mice or more",
            "65 years and older",
            "upwards of 5 mg",
            "exceeds 5 mg",
        ] {
            assert_eq!(bound(text), Some(NumberBound::Above), "{text}");
        }
        for text in ["5 mg and lower pain", "5 mg or placebo", "over 5 days"] {
            assert_eq!(bound(text), Some(NumberBound::Exact), "{text}");
        }
    }
}
