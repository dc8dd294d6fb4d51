//! What holds of the verifier whatever it is given.

use deliberate_research::{
    answer::verify::{Claim, Source, Verdict, Verifier, split},
    collect::Text,
};
use proptest::prelude::*;

use crate::verify::source;

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

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(WORDS).prop_map(str::to_owned),
        1 => (1_u32..99_999).prop_map(|it| it.to_string()),
        1 => (1_u32..99, 1_u32..99).prop_map(|(one, two)| format!("{one}.{two}%")),
        1 => (1_u32..999).prop_map(|it| format!("{it},{:03} mg", it % 1_000)),
    ]
}

fn sentence() -> impl Strategy<Value = String> {
    prop::collection::vec(word(), 3..14).prop_map(|words| format!("The {}.", words.join(" ")))
}

fn passage() -> impl Strategy<Value = String> {
    prop::collection::vec(sentence(), 1..6).prop_map(|all| all.join(" "))
}

fn claim(text: &str) -> Claim {
    Claim {
        text: text.to_owned(),
        cited: vec!["p1".to_owned()],
        quote: None,
    }
}

fn re_read(sources: &[Source], checked: &deliberate_research::answer::verify::Checked) {
    for evidence in checked.evidence.iter().chain(&checked.disputed) {
        let source = sources.iter().find(|it| it.id == evidence.passage).unwrap();
        let text = Text {
            pages: source.text.split('\u{c}').map(str::to_owned).collect(),
            ..Text::default()
        };
        assert_eq!(
            text.at(&evidence.place).as_deref(),
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
        let sources: Vec<Source> = texts
            .iter()
            .enumerate()
            .map(|(at, text)| source(&format!("p{at}"), text))
            .collect();
        let verifier = Verifier::new(&sources);
        let checked = verifier.check(&Claim { quote, ..claim(&said) });
        re_read(&sources, &checked);
    }

    #[test]
    fn what_stands_there_word_for_word_is_supported(one in passage(), two in passage()) {
        let sources = [source("p1", &one), source("p2", &two)];
        let verifier = Verifier::new(&sources);
        for sentence in split(&one).into_iter().chain(split(&two)) {
            let checked = verifier.check(&claim(&sentence));
            prop_assert_eq!(checked.verdict, Verdict::Supported, "{}", sentence);
            re_read(&sources, &checked);
        }
    }

    #[test]
    fn one_digit_changed_is_never_supported(text in passage(), which in any::<prop::sample::Index>(), by in 1_u32..9) {
        let verifier = Verifier::new(&[source("p1", &text)]);
        let sentences = split(&text);
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
            prop_assert_ne!(checked.verdict, Verdict::Supported, "{}\nof: {}", changed, text);
        }
    }
}
