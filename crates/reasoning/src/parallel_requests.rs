//! Several independent requests for one step: an approach, a perspective or a continuation each.

use deliberate_llm::{ModelError, ModelRequest, PlainText};
use deliberate_toolkit::{ModelAnswer, ToolContext, ToolError};
use serde::{Deserialize, Deserializer, de, de::DeserializeOwned};
use serde_json::Value;

/// The answers to parallel requests.
pub(crate) struct ParallelAnswers<T> {
    /// The answers that arrived, in the order of the requests.
    pub(crate) answers: Vec<T>,
    /// The index of the request that each of them answers.
    pub(crate) indexes: Vec<usize>,
    /// How many requests failed, and why; `None` if all were answered.
    pub(crate) note: Option<String>,
}

/// The answers to parallel requests, or one answer to all of them.
pub(crate) enum AllOrEach<W, T> {
    /// One reply with all items and what is said about them.
    All(W),
    /// An answer to each request.
    Each(ParallelAnswers<T>),
}

/// An item of which the text alone can be used: a model may leave the fields out, and the client's own
/// model is not asked for them in a round of their own.
pub(crate) trait FreeTextItem: DeserializeOwned {
    /// Builds the item from its text.
    fn from_plain_text(text: String) -> Self;
}

/// Sends all requests at once. Fails if fewer than `least` are answered.
pub(crate) async fn ask_parallel<T: FreeTextItem>(
    asks: Vec<ModelRequest>,
    least: usize,
    call: &ToolContext,
) -> Result<ParallelAnswers<T>, ToolError> {
    ask_parallel_with(asks, least, |_| (), call).await
}

async fn ask_parallel_with<T: FreeTextItem>(
    asks: Vec<ModelRequest>,
    least: usize,
    on_item: impl Fn(&T),
    call: &ToolContext,
) -> Result<ParallelAnswers<T>, ToolError> {
    let on_answer = |answer: &ItemOrList<T>| answer.single().into_iter().for_each(&on_item);
    let outcomes = call
        .ask_all_with(
            with_plain_text(asks),
            Some(ItemOrList::from_plain_text),
            on_answer,
        )
        .await?;
    collect_answers(outcomes.into_iter().map(value_of), least)
}

/// Like `ask_parallel`, but a pipe of the original server answers everything in its first reply, and
/// each further request would only cost. So where prompts are stored at the provider, the first
/// request is sent alone, and the others if its reply is not a `W`.
pub(crate) async fn ask_all_or_each<W: DeserializeOwned, T: FreeTextItem>(
    asks: Vec<ModelRequest>,
    least: usize,
    call: &ToolContext,
) -> Result<AllOrEach<W, T>, ToolError> {
    ask_all_or_each_with(asks, least, |_| (), call).await
}

/// Like `ask_all_or_each`, and calls `on_item` with each item as soon as it arrives, unless one reply
/// holds several.
pub(crate) async fn ask_all_or_each_with<W: DeserializeOwned, T: FreeTextItem>(
    mut asks: Vec<ModelRequest>,
    least: usize,
    on_item: impl Fn(&T),
    call: &ToolContext,
) -> Result<AllOrEach<W, T>, ToolError> {
    if asks.is_empty() || !call.has_stored_prompts().await {
        let each = ask_parallel_with(asks, least, on_item, call).await?;
        return Ok(AllOrEach::Each(each));
    }
    let on_answer = |answer: &ItemOrList<T>| answer.single().into_iter().for_each(&on_item);
    let others = asks.split_off(1);
    let mut outcomes = Vec::new();
    for outcome in call.ask_all::<WholeOrItem<W, T>>(asks).await? {
        match value_of(outcome) {
            Ok(WholeOrItem::Whole(whole)) => return Ok(AllOrEach::All(whole)),
            Ok(WholeOrItem::Item(item)) => {
                on_answer(&item);
                outcomes.push(Ok(item));
            }
            // Another reply may be usable; a provider that gives none would give the others none.
            Err(error) if is_unusable_reply(&error) => outcomes.push(Err(error)),
            Err(error) => return Err(error),
        }
    }
    let others = call.ask_all_with(others, None, on_answer).await?;
    outcomes.extend(others.into_iter().map(value_of));
    Ok(AllOrEach::Each(collect_answers(outcomes, least)?))
}

/// Accepts a text without fields as the answer to these requests.
fn with_plain_text(asks: Vec<ModelRequest>) -> Vec<ModelRequest> {
    let accepted = asks.into_iter().map(|ask| ModelRequest {
        plain_text: PlainText::IsTheAnswer,
        ..ask
    });
    accepted.collect()
}

fn is_unusable_reply(error: &ToolError) -> bool {
    matches!(error, ToolError::Model(ModelError::InvalidResponse { .. }))
}

fn value_of<T>(outcome: Result<ModelAnswer<T>, ToolError>) -> Result<T, ToolError> {
    outcome.map(|answer| answer.value)
}

/// Collects the items, in the order of the requests.
fn collect_answers<T>(
    outcomes: impl IntoIterator<Item = Result<ItemOrList<T>, ToolError>>,
    least: usize,
) -> Result<ParallelAnswers<T>, ToolError> {
    let mut count = 0;
    let mut answers = Vec::new();
    let mut indexes = Vec::new();
    let mut failures = Vec::new();
    for (index, outcome) in outcomes.into_iter().enumerate() {
        count += 1;
        match outcome {
            Ok(value) => {
                answers.extend(value.take(index));
                indexes.resize(answers.len(), index);
            }
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
    Ok(ParallelAnswers {
        answers,
        indexes,
        note,
    })
}

/// A reply with all items, or with the one that was asked for.
enum WholeOrItem<W, T> {
    Whole(W),
    Item(ItemOrList<T>),
}

impl<'de, W: DeserializeOwned, T: DeserializeOwned> Deserialize<'de> for WholeOrItem<W, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if let Ok(whole) = W::deserialize(&value) {
            return Ok(Self::Whole(whole));
        }
        let item = ItemOrList::deserialize(value).map_err(de::Error::custom)?;
        Ok(Self::Item(item))
    }
}

/// The fields in which pipes of the original server answer all items at once.
const LISTS: [&str; 3] = ["approaches", "perspectives", "continuations"];

/// The item that was asked for, or a list of all items in each answer.
struct ItemOrList<T>(Vec<T>);

impl<T: FreeTextItem> ItemOrList<T> {
    fn from_plain_text(text: String) -> Self {
        Self(vec![T::from_plain_text(text)])
    }
}

impl<T> ItemOrList<T> {
    /// The item, if there is only one.
    fn single(&self) -> Option<&T> {
        match self.0.as_slice() {
            [item] => Some(item),
            _ => None,
        }
    }

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
