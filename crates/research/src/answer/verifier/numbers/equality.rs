//! Comparison of a number in a claim with a number in a passage.

use super::{
    number::{Decimal, Number, NumberBound, NumberRole, RangeEnd},
    units::{self, FOLD, PERCENT},
};

/// Relation of a passage's number to a claim's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberMatch {
    /// It has the same value, or the claim follows from it.
    Same,
    /// It has a different value of the same dimension.
    Different,
    /// It has another dimension: grams and seconds.
    Incomparable,
}

/// Compares a number of a claim with a number of a passage.
pub(crate) fn compare_numbers(claim: &Number, said: &Number) -> NumberMatch {
    let (one, other) = match as_percentages(claim, said) {
        Some(pair) => pair,
        None => (claim.value.clone(), said.value.clone()),
    };
    let as_shares = as_percentages(claim, said).is_some();
    if let (Some(unit), Some(other_unit)) = (claim.unit, said.unit)
        && let Some(factor) = units::conversion_factor(unit, other_unit)
    {
        let (one, other) = (one.to_f64() * factor, other.to_f64());
        let near = (one - other).abs() <= 1e-9 * other.abs();
        return if near && !overstates(claim, said) {
            NumberMatch::Same
        } else {
            NumberMatch::Different
        };
    }
    if !as_shares && !same_kind(claim, said) {
        return NumberMatch::Incomparable;
    }
    let opposite = matches!(
        (claim.bound, said.bound),
        (NumberBound::Below | NumberBound::Within, NumberBound::Above)
            | (NumberBound::Above, NumberBound::Below)
    );
    if one.abs() == other.abs() {
        let signs = one.negative == other.negative || claim.unit == Some(PERCENT);
        return if opposite || !signs || overstates(claim, said) {
            NumberMatch::Different
        } else {
            NumberMatch::Same
        };
    }
    let (one, other) = (one.to_f64(), other.to_f64());
    // A bound follows from a value. A different bound is a different claim, even if it follows.
    let follows = match claim.bound {
        _ if !matches!(said.bound, NumberBound::Exact | NumberBound::Within) => false,
        NumberBound::Below => other < one && is_near_bound(one, other),
        NumberBound::Above => other > one && is_near_bound(one, other),
        NumberBound::Approximate => (one - other).abs() <= 0.1 * other.abs(),
        NumberBound::Exact | NumberBound::Within => false,
    };
    if follows {
        NumberMatch::Same
    } else {
        NumberMatch::Different
    }
}

/// Whether a claim states as a value what is only a bound or an end of a range.
fn overstates(claim: &Number, said: &Number) -> bool {
    let bounded = matches!(said.bound, NumberBound::Below | NumberBound::Above);
    let valued = matches!(claim.bound, NumberBound::Exact | NumberBound::Approximate);
    let end = match (claim.range_end, said.range_end) {
        (RangeEnd::Single, RangeEnd::Low) => claim.bound != NumberBound::Above,
        (RangeEnd::Single, RangeEnd::High) => {
            !matches!(claim.bound, NumberBound::Below | NumberBound::Within)
        }
        _ => false,
    };
    (bounded && valued) || end || has_other_role(claim, said)
}

/// Whether the same digits have another role: a change instead of an endpoint, a spread instead of
/// a value, or a total instead of a part.
fn has_other_role(claim: &Number, said: &Number) -> bool {
    match (claim.role, said.role) {
        (NumberRole::Change, NumberRole::Endpoint) | (NumberRole::Endpoint, NumberRole::Change) => {
            true
        }
        (NumberRole::Spread, other) | (other, NumberRole::Spread) => other != NumberRole::Spread,
        (_, NumberRole::Total) => claim.is_of_all,
        _ => false,
    }
}

/// Whether a bound is close to the value, so that it still says something about it. Small bounds,
/// as of probabilities, always count.
fn is_near_bound(bound: f64, value: f64) -> bool {
    (bound > 0.0 && bound <= 0.1) || (bound - value).abs() <= 0.15 * bound.abs()
}

/// Converts `45 %` and `a proportion of 0.45` to percentages, if one is marked as a share.
fn as_percentages(claim: &Number, said: &Number) -> Option<(Decimal, Decimal)> {
    let percent = |it: &Number| it.unit == Some(PERCENT);
    let marked =
        |it: &Number| it.is_share && it.unit.is_none() && (0.0..=1.0).contains(&it.value.to_f64());
    let raised = |it: &Number| it.value.clone().scale_by_power_of_ten(2);
    if percent(claim) && marked(said) {
        Some((claim.value.clone(), raised(said)))
    } else if marked(claim) && percent(said) {
        Some((raised(claim), said.value.clone()))
    } else {
        None
    }
}

fn same_kind(claim: &Number, said: &Number) -> bool {
    match (claim.unit, said.unit) {
        (Some(one), Some(other)) => one.dimension == other.dimension,
        (Some(one), None) => one != PERCENT && one != FOLD && !said.is_count,
        (None, Some(one)) => one != PERCENT && one != FOLD && !claim.is_count,
        (None, None) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::verifier::{numbers::parser::parse_numbers, text::tokenizer::tokenize};

    fn parse_single(text: &str) -> Number {
        let found = parse_numbers(text, &tokenize(text));
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        found.into_iter().next().expect("there is one")
    }

    fn is_same(one: &str, other: &str) -> bool {
        compare_numbers(&parse_single(one), &parse_single(other)) == NumberMatch::Same
    }

    #[test]
    fn one_number_written_in_many_ways() {
        assert!(is_same("1,200 cells", "1200 cells"));
        assert!(is_same("1.2 thousand cells", "1200 cells"));
        assert!(is_same("1.2k cells", "1,200 cells"));
        assert!(is_same("45 %", "45 percent"));
        assert!(is_same("45 per cent", "45%"));
        assert!(is_same("45%", "a proportion of 0.45"));
        assert!(is_same("twelve mice", "12 mice"));
        assert!(is_same("two hundred and six bones", "206 bones"));
        assert!(is_same("twenty-five sites", "25 sites"));
        assert!(is_same("1.5 kg", "1500 g"));
        assert!(is_same("3 × 10^8", "300,000,000"));
        assert!(is_same("twofold", "2-fold"));
        assert!(is_same("half of it", "50%"));
        assert!(is_same("175B parameters", "175 billion parameters"));
        assert!(is_same("p < 0.05", "p = 0.03"));
        assert!(is_same("about 45%", "44.8%"));
        assert!(is_same("two years", "24 months"));
        assert!(is_same("over 3 days", "72 h"));
        assert!(is_same("two and a half years", "30 months"));
        assert!(is_same("2.5 years", "2 and a half years"));
        assert!(is_same("minus 40 °C", "-40 °C"));
        assert!(is_same("$3.4 million", "3.4 million dollars"));
        assert!(is_same("a rise by 5 points", "5 points"));
    }

    #[test]
    fn numbers_that_differ() {
        assert!(!is_same("45%", "a score of 0.45"));
        assert!(!is_same("45%", "45 patients"));
        assert!(!is_same("45%", "44.8%"));
        assert!(!is_same("12 mg", "12 g"));
        assert!(!is_same("12 mg", "12 ms"));
        assert!(!is_same("12 ft", "12 m"));
        assert!(!is_same("350 mPa", "350 MPa"));
        assert!(!is_same("1,000 hours", "1,000 cycles"));
        assert!(!is_same("€3.4 million", "$3.4 million"));
        assert!(!is_same("two years", "two and a half years"));
        assert!(!is_same("two and a half months", "two and a half years"));
        assert!(!is_same("rose by 41.7%", "rose to 41.7%"));
        assert!(!is_same("p < 0.001", "p = 0.03"));
        assert!(!is_same("p < 0.05", "p > 0.05"));
        assert!(!is_same("5 °C", "-5 °C"));
        assert!(!is_same("5 percent", "less than 5 percent"));
        assert!(!is_same("about 5 percent", "at most 5 percent"));
        assert!(!is_same("two years", "more than 24 months"));
        assert!(!is_same("45%", "a proportion of at least 0.45"));
        assert!(is_same("fewer than 5 percent", "less than 5 percent"));
        assert!(!is_same(
            "1000000000000000000000000000001",
            "1000000000000000000000000000002"
        ));
    }
}
