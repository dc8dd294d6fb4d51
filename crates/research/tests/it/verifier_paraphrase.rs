//! Tests of the verifier with paraphrases.

use super::verifier::evidence_passage;
use deliberate_research::answer::verifier::{
    Claim, ClaimCheck, ClaimVerdict, EvidencePassage, Verifier,
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
fn words_that_are_near_in_meaning_support() {
    for claim in [
        "Manufacturers at home took on 1,800 people.",
        "Consumers paid 815,000 dollars annually for every position that was created.",
        "Having a conventional bank close by did not do the same.",
    ] {
        let checked = check_citing(&[TARIFF, UNRELATED], claim, "p1");
        assert_eq!(
            checked.verdict,
            ClaimVerdict::Supported,
            "{claim}: {checked:?}"
        );
        let [evidence] = checked.evidence.as_slice() else {
            panic!("{claim}: {checked:?}");
        };
        assert_eq!(evidence.passage, "p1");
        assert!(TARIFF.contains(&evidence.quote), "{evidence:?}");
    }
}

#[test]
fn what_can_be_told_exactly_is_not_told_by_nearness() {
    for claim in [
        // A number, a name, a negation, a direction.
        "Manufacturers at home took on 1,900 people.",
        "Manufacturers in Norway took on 1,800 people.",
        "Manufacturers at home did not take on 1,800 people.",
        "Having a conventional bank close by did the same.",
        "Manufacturers at home lost 1,800 people.",
    ] {
        assert_ne!(verdict(TARIFF, claim), ClaimVerdict::Supported, "{claim}");
    }
}

#[test]
fn nearness_counts_only_in_what_is_cited() {
    let claim = "Manufacturers at home took on 1,800 people.";
    let cited = check_citing(&[TARIFF, UNRELATED], claim, "p1");
    assert_eq!(cited.verdict, ClaimVerdict::Supported);
    for cited in ["p2", "p9"] {
        let other = check_citing(&[TARIFF, UNRELATED], claim, cited);
        assert_eq!(other.verdict, ClaimVerdict::NotFound, "{other:?}");
    }
}

#[test]
fn what_is_of_another_matter_is_not_near() {
    for claim in [
        "Whales sing at night.",
        "The moon has no air.",
        "Bread rises in a warm kitchen.",
        "Voters were tired of the prime minister.",
    ] {
        assert_eq!(verdict(TARIFF, claim), ClaimVerdict::NotFound, "{claim}");
    }
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
    for (passage, claim) in [
        (
            "Memory never exceeded 48 gigabytes.",
            "Memory stayed below 48 gigabytes.",
        ),
        (
            "Ores came from Wales rather than Spain.",
            "Ores came from Wales and not from Spain.",
        ),
        (
            "A second reviewer had little effect on faults.",
            "A second reviewer had no effect on faults.",
        ),
        (
            "There was no rise in muscle pain. Falls were neither more nor less frequent.",
            "Muscle pain was no more common.",
        ),
    ] {
        assert_eq!(verdict(passage, claim), ClaimVerdict::Supported, "{claim}");
    }
    for (passage, claim) in [
        (
            "Memory never exceeded 48 gigabytes.",
            "Memory rose above 48 gigabytes.",
        ),
        (
            "Ores came from Wales rather than Spain.",
            "Ores came from Spain and not from Wales.",
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

#[test]
fn a_common_word_at_the_beginning_is_no_name() {
    let passage = "Volunteers with irritable bowels had no complaints after the bread.";
    let claim = "People with irritable bowels had no complaints after the bread.";
    assert_eq!(verdict(passage, claim), ClaimVerdict::Supported);
}
