//! Numbers that are two ends: of a range, or of a change. An end of a range is no value by itself;
//! what something rose or fell to is one.

use super::{
    lexicon,
    number::{Bound, Number, Span},
    tokens::{Kind, Token},
};

/// How far before `from 3 to 5` stands what says whether it is a range.
const REACH: usize = 12;

/// Marks the ends of ranges among the numbers of a text.
pub(super) fn mark_ranges(tokens: &[Token], numbers: &mut [Number]) {
    for at in 1..numbers.len() {
        let (Some(one), Some(other)) = (numbers.get(at - 1), numbers.get(at)) else {
            continue;
        };
        let Some(spans) = ends(tokens, one, other) else {
            continue;
        };
        for (at, span) in [(at - 1, spans.0), (at, spans.1)] {
            if let Some(number) = numbers.get_mut(at) {
                number.span = span;
            }
        }
    }
}

/// Marks what bounds a number from behind: `5 or more`, `65 and older`.
pub(super) fn mark_bounds(tokens: &[Token], numbers: &mut [Number]) {
    for number in numbers.iter_mut().filter(|it| it.bound == Bound::Exact) {
        let word = |by: usize| tokens.get(number.to + by).map_or("", |it| it.text.as_str());
        // `65 years or older`: what is counted may stand between.
        let by = usize::from(!matches!(word(0), "or" | "and"));
        if !matches!(word(by), "or" | "and") {
            continue;
        }
        number.bound = match word(by + 1) {
            "more" | "higher" | "greater" | "longer" | "larger" | "less" | "fewer" | "lower"
            | "shorter" | "smaller"
                if word(by) == "and" =>
            {
                Bound::Exact
            }
            "more" | "above" | "higher" | "greater" | "older" | "longer" | "over" | "larger"
                if !is_compared(word(by + 2)) =>
            {
                Bound::Above
            }
            "less" | "fewer" | "below" | "lower" | "younger" | "shorter" | "under" | "smaller"
                if !is_compared(word(by + 2)) =>
            {
                Bound::Below
            }
            _ => Bound::Exact,
        };
    }
}

/// In `5 or more than 7` and `5 and lower pain` the word belongs to what follows.
fn is_compared(next: &str) -> bool {
    next.chars().any(char::is_alphanumeric)
        && !matches!(
            next,
            "of" | "in" | "were" | "was" | "had" | "at" | "are" | "is"
        )
}

/// What two numbers in a row are to each other.
fn ends(tokens: &[Token], one: &Number, other: &Number) -> Option<(Span, Span)> {
    let between = tokens.get(one.to..other.from)?;
    let [joint] = between else {
        return None;
    };
    let word = |back: usize| {
        let at = one.from.checked_sub(back)?;
        tokens.get(at).map(|it| it.text.as_str())
    };
    let after = |wanted: &str| (1..=2).any(|back| word(back) == Some(wanted));
    let change = Some((Span::Change, Span::Change));
    let range = match joint.text.as_str() {
        "and" if after("between") => true,
        "to" if after("from") => !changes(tokens, one.from),
        "-" | "–" | "through" | "to" => true,
        "and" | "," => return change,
        _ => return None,
    };
    let units = one.unit.is_none() || one.unit == other.unit;
    let (low, high) = (one.value.about(), other.value.about());
    if range && units && low < high && !is_year(one) {
        Some((Span::Low, Span::High))
    } else {
        change
    }
}

/// Whether `from 3 to 5` is where something was and where it went.
fn changes(tokens: &[Token], from: usize) -> bool {
    let before = tokens.get(from.saturating_sub(REACH)..from);
    let before = before.unwrap_or_default().iter().rev();
    let clause = before.take_while(|it| !matches!(it.text.as_str(), "." | ";" | "(" | "?" | "!"));
    for token in clause.filter(|it| it.kind == Kind::Word) {
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
        && number.value.is_whole()
        && (1500.0..=2100.0).contains(&number.value.about())
}

#[cfg(test)]
mod tests {
    use super::{
        super::{numerals::numbers, tokens::tokens},
        *,
    };

    fn spans(text: &str) -> Vec<Span> {
        let found = numbers(text, &tokens(text));
        found.into_iter().map(|it| it.span).collect()
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
            assert_eq!(spans(text), [Span::Low, Span::High], "{text}");
        }
        for text in [
            "It fell from 84.6 to 84.1",
            "It rose from 10 to 20 g",
            "between 1985 and 2014",
            "10 and 20 g",
        ] {
            assert_eq!(spans(text), [Span::Change, Span::Change], "{text}");
        }
        assert_eq!(spans("10 mice and 20 rats"), [Span::Alone, Span::Alone]);
    }

    #[test]
    fn bounds_stand_on_both_sides() {
        let bound = |text: &str| {
            let found = numbers(text, &tokens(text));
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
            assert_eq!(bound(text), Some(Bound::Below), "{text}");
        }
        for text in [
            "no fewer than 5 mice",
            "5 mice or more",
            "65 years and older",
            "upwards of 5 mg",
            "exceeds 5 mg",
        ] {
            assert_eq!(bound(text), Some(Bound::Above), "{text}");
        }
        for text in ["5 mg and lower pain", "5 mg or placebo", "over 5 days"] {
            assert_eq!(bound(text), Some(Bound::Exact), "{text}");
        }
    }
}
