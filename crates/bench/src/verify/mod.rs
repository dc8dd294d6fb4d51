//! Verifiers: whether a text gives the right answer of a task. Every arm of a benchmark goes through
//! the same code, so that no arm gains from the form of its answers.

mod extract;
mod python;
mod values;

use serde::Serialize;

pub use extract::extract_final_answer;

use crate::{BenchTask, ExpectedAnswer};

/// Whether an answer is right, and what was taken for the answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    pub right: bool,
    /// The answer in the form in which answers are compared; for code the source. Null if the text
    /// has nothing of the wanted kind.
    pub extracted: Option<String>,
}

/// Checks the final answer in a text. Code is run; the error says why that was not possible at all.
pub async fn verify(task: &BenchTask, text: &str) -> anyhow::Result<Verdict> {
    let extracted = extract_final_answer(task, text);
    let right = match (&task.expected, &extracted) {
        (ExpectedAnswer::PythonTests(tests), Some(code)) => python::passes(code, tests).await?,
        (expected, Some(answer)) => *answer == expected.canonical(),
        (_, None) => false,
    };
    Ok(Verdict { right, extracted })
}
