//! Whether a number of a claim is a number of a passage.

use super::{
    number::{Bound, Decimal, Number, Role, Span},
    units::{self, FOLD, PERCENT},
};

/// What a number of a passage is to one of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Match {
    /// It says the same, or what the claim follows from.
    Same,
    /// It says something else of the same kind.
    Other,
    /// It is of another kind: grams beside seconds.
    Apart,
}

/// Compares a number of a claim with one of a passage.
pub(super) fn compare(claim: &Number, said: &Number) -> Match {
    let (one, other) = match shares(claim, said) {
        Some(pair) => pair,
        None => (claim.value.clone(), said.value.clone()),
    };
    let as_shares = shares(claim, said).is_some();
    if let (Some(unit), Some(other_unit)) = (claim.unit, said.unit)
        && let Some(factor) = units::converted(unit, other_unit)
    {
        let (one, other) = (one.about() * factor, other.about());
        let near = (one - other).abs() <= 1e-9 * other.abs();
        return if near && !hardens(claim, said) {
            Match::Same
        } else {
            Match::Other
        };
    }
    if !as_shares && !same_kind(claim, said) {
        return Match::Apart;
    }
    let opposite = matches!(
        (claim.bound, said.bound),
        (Bound::Below | Bound::Within, Bound::Above) | (Bound::Above, Bound::Below)
    );
    if one.unsigned() == other.unsigned() {
        let signs = one.negative == other.negative || claim.unit == Some(PERCENT);
        return if opposite || !signs || hardens(claim, said) {
            Match::Other
        } else {
            Match::Same
        };
    }
    let (one, other) = (one.about(), other.about());
    // A bound follows from a number; another bound is another claim, even where it follows.
    let follows = match claim.bound {
        _ if !matches!(said.bound, Bound::Exact | Bound::Within) => false,
        Bound::Below => other < one && near_enough(one, other),
        Bound::Above => other > one && near_enough(one, other),
        Bound::Rough => (one - other).abs() <= 0.05 * other.abs(),
        Bound::Exact | Bound::Within => false,
    };
    if follows { Match::Same } else { Match::Other }
}

/// Whether a claim gives as the value what is only a bound of it, or an end of a range.
fn hardens(claim: &Number, said: &Number) -> bool {
    let bounded = matches!(said.bound, Bound::Below | Bound::Above);
    let valued = matches!(claim.bound, Bound::Exact | Bound::Rough);
    let end = match (claim.span, said.span) {
        (Span::Alone, Span::Low) => claim.bound != Bound::Above,
        (Span::Alone, Span::High) => !matches!(claim.bound, Bound::Below | Bound::Within),
        _ => false,
    };
    (bounded && valued) || end || plays_another_part(claim, said)
}

/// Whether the digits are those of something else: how far it rose of where it got to, how far
/// values are spread of a value, all of what others are a part of.
fn plays_another_part(claim: &Number, said: &Number) -> bool {
    match (claim.role, said.role) {
        (Role::By, Role::Reached) | (Role::Reached, Role::By) => true,
        (Role::Spread, other) | (other, Role::Spread) => other != Role::Spread,
        (_, Role::Total) => claim.all,
        _ => false,
    }
}

/// A bound that is far off says nothing; those of probabilities are meant so.
fn near_enough(bound: f64, value: f64) -> bool {
    (bound > 0.0 && bound <= 0.1) || (bound - value).abs() <= 0.15 * bound.abs()
}

/// `45 %` and `a proportion of 0.45`, both as per cents, if one is marked as a share.
fn shares(claim: &Number, said: &Number) -> Option<(Decimal, Decimal)> {
    let percent = |it: &Number| it.unit == Some(PERCENT);
    let marked =
        |it: &Number| it.share && it.unit.is_none() && (0.0..=1.0).contains(&it.value.about());
    let raised = |it: &Number| it.value.clone().times_ten(2);
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
        (Some(one), Some(other)) => one.of == other.of,
        (Some(one), None) => one != PERCENT && one != FOLD && !said.counts,
        (None, Some(one)) => one != PERCENT && one != FOLD && !claim.counts,
        (None, None) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{numerals::numbers, tokens::tokens},
        *,
    };

    fn only(text: &str) -> Number {
        let found = numbers(text, &tokens(text));
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        found.into_iter().next().expect("there is one")
    }

    fn same(one: &str, other: &str) -> bool {
        compare(&only(one), &only(other)) == Match::Same
    }

    #[test]
    fn one_number_written_in_many_ways() {
        assert!(same("1,200 cells", "1200 cells"));
        assert!(same("1.2 thousand cells", "1200 cells"));
        assert!(same("1.2k cells", "1,200 cells"));
        assert!(same("45 %", "45 percent"));
        assert!(same("45 per cent", "45%"));
        assert!(same("45%", "a proportion of 0.45"));
        assert!(same("twelve mice", "12 mice"));
        assert!(same("two hundred and six bones", "206 bones"));
        assert!(same("twenty-five sites", "25 sites"));
        assert!(same("1.5 kg", "1500 g"));
        assert!(same("3 × 10^8", "300,000,000"));
        assert!(same("twofold", "2-fold"));
        assert!(same("half of it", "50%"));
        assert!(same("175B parameters", "175 billion parameters"));
        assert!(same("p < 0.05", "p = 0.03"));
        assert!(same("about 45%", "44.8%"));
        assert!(same("two years", "24 months"));
        assert!(same("over 3 days", "72 h"));
        assert!(same("two and a half years", "30 months"));
        assert!(same("2.5 years", "2 and a half years"));
        assert!(same("minus 40 °C", "-40 °C"));
        assert!(same("$3.4 million", "3.4 million dollars"));
        assert!(same("a rise by 5 points", "5 points"));
    }

    #[test]
    fn numbers_that_differ() {
        assert!(!same("45%", "a score of 0.45"));
        assert!(!same("45%", "45 patients"));
        assert!(!same("45%", "44.8%"));
        assert!(!same("12 mg", "12 g"));
        assert!(!same("12 mg", "12 ms"));
        assert!(!same("12 ft", "12 m"));
        assert!(!same("350 mPa", "350 MPa"));
        assert!(!same("1,000 hours", "1,000 cycles"));
        assert!(!same("€3.4 million", "$3.4 million"));
        assert!(!same("two years", "two and a half years"));
        assert!(!same("two and a half months", "two and a half years"));
        assert!(!same("rose by 41.7%", "rose to 41.7%"));
        assert!(!same("p < 0.001", "p = 0.03"));
        assert!(!same("p < 0.05", "p > 0.05"));
        assert!(!same("5 °C", "-5 °C"));
        assert!(!same("5 percent", "less than 5 percent"));
        assert!(!same("about 5 percent", "at most 5 percent"));
        assert!(!same("two years", "more than 24 months"));
        assert!(!same("45%", "a proportion of at least 0.45"));
        assert!(same("fewer than 5 percent", "less than 5 percent"));
        assert!(!same(
            "1000000000000000000000000000001",
            "1000000000000000000000000000002"
        ));
    }
}
