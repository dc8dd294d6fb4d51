//! Several independent requests for one step: an approach, a perspective or a continuation each.

use deliberate_llm::ModelRequest;
use deliberate_toolkit::{ToolContext, ToolError};
use serde::de::DeserializeOwned;

/// The answers to parallel requests.
pub(crate) struct ParallelAnswers<T> {
    /// The answers that arrived, in the order of the requests.
    pub(crate) answers: Vec<T>,
    /// How many requests failed, and why; `None` if all were answered.
    pub(crate) note: Option<String>,
}

/// Sends all requests at once. Fails if fewer than `least` are answered.
pub(crate) async fn ask_parallel<T: DeserializeOwned>(
    asks: Vec<ModelRequest>,
    least: usize,
    call: &ToolContext,
) -> Result<ParallelAnswers<T>, ToolError> {
    let count = asks.len();
    let mut answers = Vec::with_capacity(count);
    let mut failures = Vec::new();
    for outcome in call.ask_all::<T>(asks).await? {
        match outcome {
            Ok(answer) => answers.push(answer.value),
            Err(error) => failures.push(error),
        }
    }
    let failed = failures.len();
    let first = failures.into_iter().next();
    if answers.len() < least {
        return Err(first.unwrap_or(ToolError::Internal));
    }
    let note = first.map(|error| {
        format!(
            "{failed} of {count} model requests failed ({})",
            error.code()
        )
    });
    Ok(ParallelAnswers { answers, note })
}
