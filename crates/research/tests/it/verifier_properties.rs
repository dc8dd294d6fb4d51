//! Properties of the verifier for arbitrary input.

use proptest::prelude::*;

use super::verifier::evidence_passage;
use deliberate_research::{
    answer::verifier::{Claim, ClaimVerdict, EvidencePassage, Verifier, split_sentences},
    articles::FullText,
};

const WORDS: &[&str] = &[
    "dose",
    "mice",
    "patients",
    "Denmark",
    "BERT",
    "recall",
    "increased",
    "lower",
    "not",
    "the",
    "of",
    "with",
    "IL-6",
    "accuracy",
    "risk",
    "treatment",
    "was",
    "group",
    "and",
    "than",
    "p53",
    "ﬁnal",
    "well-known",
    "significantly",
    "no",
    "effect",
];

fn arbitrary_word() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(WORDS).prop_map(str::to_owned),
        1 => (1_u32..99_999).prop_map(|it| it.to_string()),
        1 => (1_u32..99, 1_u32..99).prop_map(|(one, two)| format!("{one}.{two}%")),
        1 => (1_u32..999).prop_map(|it| format!("{it},{:03} mg", it % 1_000)),
    ]
}

fn arbitrary_sentence() -> impl Strategy<Value = String> {
    prop::collection::vec(arbitrary_word(), 3..14)
        .prop_map(|words| format!("The {}.", words.join(" ")))
}

fn arbitrary_passage() -> impl Strategy<Value = String> {
    prop::collection::vec(arbitrary_sentence(), 1..6).prop_map(|all| all.join(" "))
}

fn claim(text: &str) -> Claim {
    Claim {
        text: text.to_owned(),
        cited: vec!["p1".to_owned()],
        quote: None,
    }
}

fn assert_evidence_in_text(
    sources: &[EvidencePassage],
    checked: &deliberate_research::answer::verifier::ClaimCheck,
) {
    for evidence in checked.evidence.iter().chain(&checked.disputed) {
        let source = sources.iter().find(|it| it.id == evidence.passage).unwrap();
        let text = FullText {
            pages: source.text.split('\u{c}').map(str::to_owned).collect(),
            ..FullText::default()
        };
        assert_eq!(
            text.excerpt(&evidence.place).as_deref(),
            Some(evidence.quote.as_str())
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn it_never_panics_and_its_places_hold(
        texts in prop::collection::vec("(\\PC|[a-zA-Z0-9 .,%<>=±“”\"'\\-\n\u{c}]){0,200}", 0..4),
        said in "(\\PC|[a-zA-Z0-9 .,%<>=±“”\"'\\-\n]){0,200}",
        quote in prop::option::of("[a-z .…\\[\\]0-9]{0,60}"),
    ) {
        let sources: Vec<EvidencePassage> = texts
            .iter()
            .enumerate()
            .map(|(at, text)| evidence_passage(&format!("p{at}"), text))
            .collect();
        let verifier = Verifier::new(&sources);
        let checked = verifier.check(&Claim { quote, ..claim(&said) });
        assert_evidence_in_text(&sources, &checked);
    }

    #[test]
    fn what_stands_there_word_for_word_is_supported(one in arbitrary_passage(), two in arbitrary_passage()) {
        let sources = [evidence_passage("p1", &one), evidence_passage("p2", &two)];
        let verifier = Verifier::new(&sources);
        for sentence in split_sentences(&one).into_iter().chain(split_sentences(&two)) {
            let checked = verifier.check(&claim(&sentence));
            prop_assert_eq!(checked.verdict, ClaimVerdict::Supported, "{}", sentence);
            assert_evidence_in_text(&sources, &checked);
        }
    }

    #[test]
    fn one_digit_changed_is_never_supported(text in arbitrary_passage(), which in any::<prop::sample::Index>(), by in 1_u32..9) {
        let verifier = Verifier::new(&[evidence_passage("p1", &text)]);
        let sentences = split_sentences(&text);
        for sentence in &sentences {
            let digits: Vec<usize> = sentence
                .char_indices()
                .filter(|(_, it)| it.is_ascii_digit())
                .map(|(at, _)| at)
                .collect();
            if digits.is_empty() {
                continue;
            }
            let at = digits[which.index(digits.len())];
            let (before, rest) = sentence.split_at(at);
            let (digit, after) = rest.split_at(1);
            let other = (digit.parse::<u32>().unwrap() + by) % 10;
            let changed = format!("{before}{other}{after}");
            if sentences.contains(&changed) {
                continue;
            }
            let checked = verifier.check(&claim(&changed));
            prop_assert_ne!(checked.verdict, ClaimVerdict::Supported, "{}\nof: {}", changed, text);
        }
    }
}
