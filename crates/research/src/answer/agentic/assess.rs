//! What the grades say of the collection as a whole.

use super::state::{Assessment, State};

const CORRECT: f64 = 0.7;
const AMBIGUOUS: f64 = 0.4;

pub(super) fn run(state: &mut State) -> String {
    let assessment = match state.confidence {
        it if it >= CORRECT => Assessment::Correct,
        it if it >= AMBIGUOUS => Assessment::Ambiguous,
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
