//! Several independent requests for one step: an approach, a perspective or a continuation each.

use deliberate_llm::ModelRequest;
use deliberate_toolkit::{ToolContext, ToolError};
use serde::{Deserialize, Deserializer, de, de::DeserializeOwned};
use serde_json::Value;

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
    let outcomes = call.ask_all::<ItemOrList<T>>(asks).await?;
    for (index, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Ok(answer) => answers.extend(answer.value.take(index)),
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

/// The fields in which pipes of the original server answer all items at once.
const LISTS: [&str; 3] = ["approaches", "perspectives", "continuations"];

/// The item that was asked for, or a list of all items in each answer.
struct ItemOrList<T>(Vec<T>);

impl<T> ItemOrList<T> {
    /// Takes the item for the request number `index`.
    fn take(mut self, index: usize) -> Option<T> {
        let place = index % self.0.len().max(1);
        (place < self.0.len()).then(|| self.0.swap_remove(place))
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for ItemOrList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let list = LISTS.iter().find_map(|name| value.get(name)?.as_array());
        let items: Vec<T> = list
            .into_iter()
            .flatten()
            .filter_map(|item| T::deserialize(item).ok())
            .collect();
        if !items.is_empty() {
            return Ok(Self(items));
        }
        let item = T::deserialize(value).map_err(de::Error::custom)?;
        Ok(Self(vec![item]))
    }
}
