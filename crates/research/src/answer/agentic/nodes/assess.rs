//! Assess node: rates the retrieved passages as a whole by their grades.

use crate::answer::agentic::state::{AgenticState, Assessment};

const CORRECT_THRESHOLD: f64 = 0.7;
const AMBIGUOUS_THRESHOLD: f64 = 0.4;

pub(crate) fn run(state: &mut AgenticState) -> String {
    let assessment = match state.confidence {
        it if it >= CORRECT_THRESHOLD => Assessment::Correct,
        it if it >= AMBIGUOUS_THRESHOLD => Assessment::Ambiguous,
        _ => Assessment::Incorrect,
    };
    state.assessment = Some(assessment);
    let word = match assessment {
        Assessment::Correct => "correct",
        Assessment::Ambiguous => "ambiguous",
        Assessment::Incorrect => "incorrect",
    };
    format!("{word} ({:.2})", state.confidence)
}
