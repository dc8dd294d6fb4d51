//! Tests of claims that differ from their passage in a sign, a unit, or the object of a number.

use super::verifier::evidence_passage;
use deliberate_research::answer::verifier::{Claim, ClaimCheck, ClaimVerdict, Verifier};

fn check(passage: &str, text: &str, quote: Option<&str>) -> ClaimCheck {
    let claim = Claim {
        text: text.to_owned(),
        cited: vec!["p1".to_owned()],
        quote: quote.map(str::to_owned),
    };
    Verifier::new(&[evidence_passage("p1", passage)]).check(&claim)
}

fn assert_unsupported(cases: &[(&str, &str)]) {
    for (passage, claim) in cases {
        let checked = check(passage, claim, None);
        assert!(
            matches!(
                checked.verdict,
                ClaimVerdict::Contradicted | ClaimVerdict::NotFound
            ),
            "{claim}: {checked:?}"
        );
        let own = check(passage, passage, None);
        assert_eq!(own.verdict, ClaimVerdict::Supported, "{passage}: {own:?}");
    }
}

#[test]
fn signs_that_tell_numbers_apart_are_not_passed_over() {
    assert_unsupported(&[
        (
            "The sensor draws 0.8 mW at rest.",
            "The sensor draws 0.8 MW at rest.",
        ),
        ("The beam broke at 350 MPa.", "The beam broke at 350 mPa."),
        (
            "The file takes 5 MB on disk.",
            "The file takes 5 Mb on disk.",
        ),
        (
            "We counted 10⁴ cells per well.",
            "We counted 104 cells per well.",
        ),
        (
            "Der Anteil stieg um 3,2 Prozent.",
            "Der Anteil stieg um 32 Prozent.",
        ),
    ]);
}

#[test]
fn another_unit_is_another_number() {
    assert_unsupported(&[
        (
            "The battery kept its charge for 1,000 cycles.",
            "The battery kept its charge for 1,000 hours.",
        ),
        (
            "The probe was lowered to 12 m.",
            "The probe was lowered to 12 ft.",
        ),
        (
            "The programme cost $3.4 million in the first year.",
            "The programme cost €3.4 million in the first year.",
        ),
        (
            "Patients were followed for two and a half years after surgery.",
            "Patients were followed for two years after surgery.",
        ),
        (
            "Patients were followed for two and a half years after surgery.",
            "Patients were followed for two and a half months after surgery.",
        ),
    ]);
    // Another interval is another word, which code does not judge.
    let passage = "The drug was given twice daily to all patients.";
    let claim = "The drug was given twice weekly to all patients.";
    let checked = check(passage, claim, None);
    assert_eq!(checked.verdict, ClaimVerdict::NotChecked, "{checked:?}");
}

#[test]
fn what_a_number_is_said_of_counts() {
    assert_unsupported(&[
        (
            "The water table lay at a depth of 27 ± 4 cm.",
            "The water table lay at a depth of 4 cm.",
        ),
        (
            "The share of infected trees rose from 3.2% to 41.7% in the study area.",
            "The share of infected trees rose by 41.7% in the study area.",
        ),
        ("Only 3 of the 20 rats survived.", "All 20 rats survived."),
        (
            "The electrode retained 95% of its capacity after the test.",
            "The electrode lost 95% of its capacity after the test.",
        ),
        (
            "Unlike aspirin, ibuprofen raised the risk of bleeding.",
            "Aspirin raised the risk of bleeding.",
        ),
    ]);
}

#[test]
fn who_asks_says_nothing() {
    let passage = "Does aspirin reduce mortality in men with angina? We followed 200 men.";
    let checked = check(
        passage,
        "Aspirin reduces mortality in men with angina.",
        None,
    );
    assert_eq!(checked.verdict, ClaimVerdict::NotChecked, "{checked:?}");
}

#[test]
fn a_true_quote_bears_out_no_other_sentence() {
    let passage = "The batteries lasted 19 months on average. The sensors were buried in peat.";
    for claim in [
        "Smoking is healthy for pregnant women.",
        "The earth is flat.",
        "The batteries exploded violently.",
    ] {
        let quote = Some("The batteries lasted 19 months on average.");
        let checked = check(passage, claim, quote);
        assert_ne!(
            checked.verdict,
            ClaimVerdict::Supported,
            "{claim}: {checked:?}"
        );
    }
    for (claim, quote) in [
        (
            "The authors write that “the batteries lasted 19 months on average”.",
            None,
        ),
        (
            "The batteries lasted 19 months.",
            Some("The batteries lasted 19 months on average."),
        ),
    ] {
        let checked = check(passage, claim, quote);
        assert_eq!(
            checked.verdict,
            ClaimVerdict::Supported,
            "{claim}: {checked:?}"
        );
    }
}

#[test]
fn the_same_in_other_clothes_is_still_the_same() {
    for (passage, claim) in [
        (
            "It was stored at -40 °C overnight.",
            "It was stored at minus 40 °C overnight.",
        ),
        (
            "The programme cost $3.4 million in the first year.",
            "In its first year the programme cost 3.4 million dollars.",
        ),
        (
            "Patients were followed for two and a half years after surgery.",
            "Patients were followed for 2.5 years after surgery.",
        ),
        (
            "The share of infected trees rose from 3.2% to 41.7%.",
            "The share of infected trees rose to 41.7%.",
        ),
        ("Only 3 of the 20 rats survived.", "3 of 20 rats survived."),
    ] {
        let checked = check(passage, claim, None);
        assert_eq!(
            checked.verdict,
            ClaimVerdict::Supported,
            "{claim}: {checked:?}"
        );
    }
}
