//! Finds the numbers of a text, with their units and bounds.

use super::{
    number::{Decimal, Number, NumberBound, NumberRole, RangeEnd},
    number_words::{is_and_a_half, parse_number_words},
    ranges::{mark_bounds, mark_ranges},
    roles::mark_roles,
    units::{self, FOLD, MeasurementUnit, PERCENT},
};
use crate::answer::verifier::text::{
    lexicon,
    tokenizer::{TextToken, TextTokenKind},
};

/// Parses the numbers among the tokens of a text.
pub(crate) fn parse_numbers(text: &str, tokens: &[TextToken]) -> Vec<Number> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match parse_number(text, tokens, at) {
            Some(number) => {
                at = number.to.max(at + 1);
                found.push(number);
            }
            None => at += 1,
        }
    }
    propagate_units(tokens, &mut found);
    mark_ranges(tokens, &mut found);
    mark_bounds(tokens, &mut found);
    mark_roles(tokens, &mut found);
    found
}

fn parse_number(text: &str, tokens: &[TextToken], at: usize) -> Option<Number> {
    let token = tokens.get(at)?;
    let (mut value, mut next) = match token.kind {
        TextTokenKind::Number => (Decimal::parse(&token.text)?, at + 1),
        TextTokenKind::Word => return parse_number_words(text, tokens, at),
        _ => return None,
    };
    if let Some(after) = tokens.get(next)
        && let Some(tens) =
            token_source(text, after).and_then(|it| units::magnitude(it, after.start == token.end))
    {
        value = value.scale_by_power_of_ten(tens);
        next += 1;
    } else if value.is_integer()
        && is_and_a_half(tokens, next)
        && let Some(more) = Decimal::parse(&format!("{}.5", token.text))
    {
        value = more;
        next += 3;
    }
    Some(finish_number(text, tokens, at, next, value))
}

fn token_source<'a>(text: &'a str, token: &TextToken) -> Option<&'a str> {
    text.get(token.start..token.end)
}

/// Completes a number whose digits end before `next` with its unit and bound.
pub(crate) fn finish_number(
    text: &str,
    tokens: &[TextToken],
    from: usize,
    next: usize,
    value: Decimal,
) -> Number {
    let back = |by: usize| from.checked_sub(by).and_then(|it| tokens.get(it));
    let (unit, to) = unit_at(text, tokens, next);
    let unit = unit.or_else(|| units::currency(&back(1)?.text));
    let minus = back(1).is_some_and(|it| it.text == "minus")
        && !back(2).is_some_and(|it| it.kind == TextTokenKind::Number);
    let value = if minus { value.negated() } else { value };
    let value = match unit {
        Some(unit) => value.scale_by_power_of_ten(unit.exponent),
        None => value,
    };
    let over_time = unit.is_some_and(units::is_time)
        && back(1).is_some_and(|it| matches!(it.text.as_str(), "over" | "under"));
    Number {
        value,
        unit: unit.map(|it| MeasurementUnit { exponent: 0, ..it }),
        unit_exponent: unit.map_or(0, |it| it.exponent),
        bound: if over_time {
            NumberBound::Exact
        } else {
            parse_bound(tokens, from)
        },
        range_end: RangeEnd::Single,
        is_share: is_share(tokens, from),
        role: NumberRole::Unspecified,
        is_of_all: false,
        is_count: unit.is_none() && has_counted_noun(text, tokens, to),
        from,
        to,
    }
}

/// Whether the token names what is counted, and no unit follows it.
fn has_counted_noun(text: &str, tokens: &[TextToken], at: usize) -> bool {
    let unit = |at: usize| {
        let token = tokens.get(at).filter(|it| it.is_word_like())?;
        token_source(text, token).and_then(units::parse_unit)
    };
    let word = tokens.get(at).filter(|it| it.kind == TextTokenKind::Word);
    word.is_some_and(|it| {
        !lexicon::is_stop_word(&it.text) && units::magnitude(&it.text, false).is_none()
    }) && unit(at + 1).is_none()
}

/// The unit that begins at a token, and the index after it.
fn unit_at(text: &str, tokens: &[TextToken], at: usize) -> (Option<MeasurementUnit>, usize) {
    let word = |at: usize| tokens.get(at).map_or("", |it| it.text.as_str());
    // `two-fold`, `12-week`.
    let at = if word(at) == "-" && tokens.get(at + 1).is_some_and(TextToken::is_word_like) {
        at + 1
    } else {
        at
    };
    let Some(token) = tokens.get(at) else {
        return (None, at);
    };
    if token.is_sign("%") {
        return (Some(PERCENT), at + 1);
    }
    if token.is_sign("×") {
        return (Some(FOLD), at + 1);
    }
    if token.is_sign("°") {
        let scale = match word(at + 1) {
            "f" => "fahrenheit",
            "c" => "celsius",
            _ => "degree",
        };
        let end = if scale == "degree" { at + 1 } else { at + 2 };
        return (
            Some(MeasurementUnit {
                dimension: scale,
                exponent: 0,
            }),
            end,
        );
    }
    if !token.is_word_like() {
        return (None, at);
    }
    match (token.text.as_str(), word(at + 1)) {
        ("per", "cent") => (Some(PERCENT), at + 2),
        ("percentage", "points" | "point") => (
            Some(MeasurementUnit {
                dimension: "percentage point",
                exponent: 0,
            }),
            at + 2,
        ),
        ("degrees" | "degree", scale @ ("celsius" | "fahrenheit")) => {
            let of = if scale == "celsius" {
                "celsius"
            } else {
                "fahrenheit"
            };
            (
                Some(MeasurementUnit {
                    dimension: of,
                    exponent: 0,
                }),
                at + 2,
            )
        }
        _ => match token_source(text, token).and_then(units::parse_unit) {
            Some(unit) => (Some(unit), at + 1),
            None => (None, at),
        },
    }
}

/// Parses the bound that precedes a number.
pub(crate) fn parse_bound(tokens: &[TextToken], from: usize) -> NumberBound {
    let back = |by: usize| {
        let at = from.checked_sub(by)?;
        tokens.get(at).map(|it| it.text.as_str())
    };
    let money = usize::from(matches!(back(1), Some("$" | "€" | "£")));
    let word = |by: usize| back(by + money).unwrap_or_default();
    // In `less than or equal to` the deciding words are further back.
    let equal = word(1) == "to" && word(2) == "equal" && word(3) == "or";
    let shift = if equal { 3 } else { 0 };
    let word = |by: usize| word(by + shift);
    let denied = |by: usize| matches!(word(by), "no" | "not" | "never" | "cannot");
    let (found, front) = match (word(3), word(2), word(1)) {
        // `averaged over 5 runs` means exactly five.
        (
            _,
            "averaging" | "averaged" | "summing" | "summed" | "spread" | "pooled" | "distributed"
            | "integrated" | "aggregated",
            "over",
        ) => (NumberBound::Exact, 9),
        (_, _, "<" | "≤" | "below" | "under" | "beneath") => (NumberBound::Below, 2),
        (
            _,
            _,
            ">" | "≥" | "above" | "over" | "exceeding" | "exceeded" | "exceed" | "exceeds"
            | "beyond" | "surpassed" | "surpassing",
        ) => (NumberBound::Above, 2),
        (_, "less" | "fewer" | "lower" | "smaller" | "younger" | "shorter", "than") => {
            (NumberBound::Below, 3)
        }
        (_, "more" | "greater" | "higher" | "larger" | "older" | "longer", "than") => {
            (NumberBound::Above, 3)
        }
        (_, "at", "most") | (_, "up", "to") | (_, "maximum" | "max" | "ceiling", "of") => {
            (NumberBound::Below, 9)
        }
        (_, "at", "least") | (_, "minimum" | "upwards" | "upward" | "excess", "of") => {
            (NumberBound::Above, 9)
        }
        ("as", "much" | "many" | "high" | "long", "as") => (NumberBound::Below, 9),
        ("as", "little" | "few" | "low", "as") => (NumberBound::Above, 9),
        (
            _,
            _,
            "~" | "about" | "approximately" | "around" | "roughly" | "nearly" | "almost" | "some"
            | "circa",
        ) => (NumberBound::Approximate, 9),
        (_, _, "within") => (NumberBound::Within, 9),
        _ => (NumberBound::Exact, 9),
    };
    match found {
        NumberBound::Below if denied(front) => NumberBound::Above,
        NumberBound::Above if denied(front) => NumberBound::Below,
        found => found,
    }
}

/// Whether nearby words mark the number as a share of one.
fn is_share(tokens: &[TextToken], from: usize) -> bool {
    let near = tokens.iter().skip(from.saturating_sub(6)).take(9);
    near.clone().any(|it| {
        matches!(
            it.text.as_str(),
            "proportion" | "fraction" | "share" | "probability" | "frequency" | "rate" | "accuracy"
        )
    })
}

/// Applies the unit of a list to its members: in `3, 5 and 8 mg` all are milligrams.
fn propagate_units(tokens: &[TextToken], numbers: &mut [Number]) {
    for at in (0..numbers.len().saturating_sub(1)).rev() {
        let (Some(one), Some(next)) = (numbers.get(at), numbers.get(at + 1)) else {
            continue;
        };
        let between = tokens.get(one.to..next.from).unwrap_or_default();
        let joins = |it: &TextToken| {
            matches!(
                it.text.as_str(),
                "," | "and" | "or" | "to" | "-" | "–" | "±" | "vs" | "versus" | "/" | "through"
            )
        };
        let lists = !between.is_empty() && between.len() <= 2 && between.iter().all(joins);
        let (unit, tens) = (next.unit, next.unit_exponent);
        if let Some(one) = numbers.get_mut(at)
            && lists
            && one.unit.is_none()
        {
            one.unit = unit;
            one.value = one.value.clone().scale_by_power_of_ten(tens);
            one.unit_exponent = tens;
        }
    }
}
