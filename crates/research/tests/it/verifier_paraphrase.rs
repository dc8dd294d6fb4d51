//! Tests of the verifier with paraphrases.

use super::verifier::evidence_passage;
use deliberate_research::answer::verifier::{
    Claim, ClaimCheck, ClaimProblemKind, ClaimVerdict, EvidencePassage, Verifier,
};

const TARIFF: &str = "Domestic makers hired 1,800 workers. Each job cost buyers 815,000 dollars a year. \
    Small firms built on patents of large firms. Bank branches nearby did not bring these gains.";

const UNRELATED: &str = "Glaciers in the Andes lost a tenth of their ice between 1990 and 2010.";

fn check_citing(passages: &[&str], claim: &str, cited: &str) -> ClaimCheck {
    let sources: Vec<EvidencePassage> = passages
        .iter()
        .enumerate()
        .map(|(at, text)| evidence_passage(&format!("p{}", at + 1), text))
        .collect();
    Verifier::new(&sources).check(&Claim {
        text: claim.to_owned(),
        cited: vec![cited.to_owned()],
        quote: None,
    })
}

fn verdict(passage: &str, claim: &str) -> ClaimVerdict {
    check_citing(&[passage, UNRELATED], claim, "p1").verdict
}

#[test]
fn what_is_said_in_other_words_is_not_checked() {
    for claim in [
        "Manufacturers at home took on 1,800 people.",
        "Consumers paid 815,000 dollars annually for every position that was created.",
        "Having a conventional bank close by did not do the same.",
        "Whales sing at night.",
        "Voters were tired of the prime minister.",
    ] {
        let checked = check_citing(&[TARIFF, UNRELATED], claim, "p1");
        assert_eq!(
            checked.verdict,
            ClaimVerdict::NotChecked,
            "{claim}: {checked:?}"
        );
        assert_eq!(checked.problems, [], "{claim}");
    }
}

#[test]
fn what_can_be_told_exactly_is_told_in_any_words() {
    for (claim, kind) in [
        (
            "Manufacturers at home took on 1,900 people.",
            ClaimProblemKind::Number,
        ),
        (
            "Manufacturers in Norway took on 1,800 people.",
            ClaimProblemKind::Name,
        ),
    ] {
        let checked = check_citing(&[TARIFF, UNRELATED], claim, "p1");
        assert_eq!(checked.verdict, ClaimVerdict::NotFound, "{claim}");
        assert_eq!(checked.problems[0].kind, kind, "{claim}");
    }
    for claim in [
        "Manufacturers at home did not take on 1,800 people.",
        "Having a conventional bank close by did the same.",
        "Manufacturers at home lost 1,800 people.",
    ] {
        assert_ne!(verdict(TARIFF, claim), ClaimVerdict::Supported, "{claim}");
    }
}

#[test]
fn a_claim_that_cites_no_passage_is_not_found() {
    let claim = "Manufacturers at home took on many people.";
    let cited = check_citing(&[TARIFF, UNRELATED], claim, "p1");
    assert_eq!(cited.verdict, ClaimVerdict::NotChecked);
    let other = check_citing(&[TARIFF, UNRELATED], claim, "p9");
    assert_eq!(other.verdict, ClaimVerdict::NotFound, "{other:?}");
}

#[test]
fn the_same_twice() {
    let claim = "Manufacturers at home took on 1,800 people.";
    let first = check_citing(&[TARIFF, UNRELATED], claim, "p1");
    for _ in 0..5 {
        assert_eq!(check_citing(&[TARIFF, UNRELATED], claim, "p1"), first);
    }
}

#[test]
fn other_ways_to_say_no() {
    let ores = "Ores came from Wales rather than Spain.";
    let claim = "Ores came from Wales and not from Spain.";
    assert_eq!(verdict(ores, claim), ClaimVerdict::Supported);
    for (passage, claim) in [
        (
            "Memory never exceeded 48 gigabytes.",
            "Memory rose above 48 gigabytes.",
        ),
        (
            "A second reviewer had a large effect on faults.",
            "A second reviewer had no effect on faults.",
        ),
        (
            "A failed test hid the fault but did not remove it.",
            "A failed test removed the fault.",
        ),
    ] {
        assert_ne!(verdict(passage, claim), ClaimVerdict::Supported, "{claim}");
    }
}

#[test]
fn parts_in_words() {
    for (passage, claim) in [
        (
            "Of all adults, 80% could read by 1740.",
            "By 1740 four in five adults could read.",
        ),
        (
            "The oil kept 60% of its vitamins.",
            "The oil kept three fifths of its vitamins.",
        ),
        (
            "The dough rested for 30 minutes.",
            "The dough rested for half an hour.",
        ),
    ] {
        assert_eq!(verdict(passage, claim), ClaimVerdict::Supported, "{claim}");
    }
    for (passage, claim) in [
        (
            "Of all adults, 80% could read by 1740.",
            "By 1740 three in five adults could read.",
        ),
        (
            "The oil kept 60% of its vitamins.",
            "The oil kept two fifths of its vitamins.",
        ),
        (
            "The dough rested for 50 minutes.",
            "The dough rested for half an hour.",
        ),
    ] {
        assert_ne!(verdict(passage, claim), ClaimVerdict::Supported, "{claim}");
    }
}
