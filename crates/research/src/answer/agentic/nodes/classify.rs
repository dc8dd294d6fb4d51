//! Classify node: determines the kind of question from its words.

use crate::answer::agentic::state::{AgenticState, QuestionKind};

const DIRECT_PHRASES: &[&str] = &["what is", "what are", "who is", "define", "meaning of"];
const PAPER_PHRASES: &[&str] = &[
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
const MULTI_HOP_PHRASES: &[&str] = &[
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

/// A longer question asks for more than a definition.
const MAX_DIRECT_WORDS: usize = 10;

pub(crate) fn run(state: &mut AgenticState) -> String {
    state.kind = classify_question(&state.question);
    match state.kind {
        QuestionKind::Direct => "direct: searched without planning".to_owned(),
        QuestionKind::Standard => "standard".to_owned(),
        QuestionKind::MultiHop => "multi-hop: split into subquestions".to_owned(),
    }
}

fn classify_question(question: &str) -> QuestionKind {
    let lower = question.to_lowercase();
    let words: Vec<&str> = lower
        .split(|it: char| !it.is_alphanumeric())
        .filter(|it| !it.is_empty())
        .collect();
    let has = |any: &[&str]| words.iter().any(|it| any.contains(it));
    if has(MULTI_HOP_PHRASES) {
        return QuestionKind::MultiHop;
    }
    let text = words.join(" ");
    let asks_what = DIRECT_PHRASES
        .iter()
        .any(|it| text.starts_with(it) || text.contains(" meaning of "));
    if asks_what && !has(PAPER_PHRASES) && words.len() <= MAX_DIRECT_WORDS {
        return QuestionKind::Direct;
    }
    QuestionKind::Standard
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_told_apart_by_their_words() {
        assert_eq!(classify_question("What is BM25?"), QuestionKind::Direct);
        assert_eq!(
            classify_question("What is the effect of aspirin in this study?"),
            QuestionKind::Standard
        );
        assert_eq!(
            classify_question("How does BM25 differ across datasets?"),
            QuestionKind::MultiHop
        );
        assert_eq!(
            classify_question("Compare BM25 versus vectors"),
            QuestionKind::MultiHop
        );
        assert_eq!(
            classify_question("Does sleep help memory?"),
            QuestionKind::Standard
        );
    }
}
