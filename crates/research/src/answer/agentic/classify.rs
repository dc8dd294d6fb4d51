//! What kind of question it is, by its words.

use super::state::{Kind, State};

const DIRECT: &[&str] = &["what is", "what are", "who is", "define", "meaning of"];
const ABOUT_PAPERS: &[&str] = &[
    "paper",
    "papers",
    "study",
    "studies",
    "research",
    "experiment",
    "experiments",
    "dataset",
    "datasets",
];
const SEVERAL: &[&str] = &[
    "compare",
    "compared",
    "comparison",
    "contrast",
    "relate",
    "related",
    "relation",
    "synthesize",
    "synthesise",
    "implications",
    "across",
    "between",
    "versus",
    "vs",
];

/// Beyond so many words it asks for more than what something is.
const SHORT: usize = 10;

pub(super) fn run(state: &mut State) -> String {
    state.kind = kind(&state.question);
    match state.kind {
        Kind::Direct => "direct: looked up at once".to_owned(),
        Kind::Standard => "standard".to_owned(),
        Kind::MultiHop => "multi-hop: taken apart first".to_owned(),
    }
}

fn kind(question: &str) -> Kind {
    let lower = question.to_lowercase();
    let words: Vec<&str> = lower
        .split(|it: char| !it.is_alphanumeric())
        .filter(|it| !it.is_empty())
        .collect();
    let has = |any: &[&str]| words.iter().any(|it| any.contains(it));
    if has(SEVERAL) {
        return Kind::MultiHop;
    }
    let text = words.join(" ");
    let asks_what = DIRECT
        .iter()
        .any(|it| text.starts_with(it) || text.contains(" meaning of "));
    if asks_what && !has(ABOUT_PAPERS) && words.len() <= SHORT {
        return Kind::Direct;
    }
    Kind::Standard
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_told_apart_by_their_words() {
        assert_eq!(kind("What is BM25?"), Kind::Direct);
        assert_eq!(
            kind("What is the effect of aspirin in this study?"),
            Kind::Standard
        );
        assert_eq!(
            kind("How does BM25 differ across datasets?"),
            Kind::MultiHop
        );
        assert_eq!(kind("Compare BM25 versus vectors"), Kind::MultiHop);
        assert_eq!(kind("Does sleep help memory?"), Kind::Standard);
    }
}
