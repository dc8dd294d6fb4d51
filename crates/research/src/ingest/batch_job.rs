//! Processes a list of items one at a time, committing each before the next begins. The list and
//! the results so far are passed from step to step of the call, so everything is bounded.

use deliberate_core::{Change, truncate_chars};
use deliberate_toolkit::{STEP_STATE, ToolContext, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::articles::ArticleRecord;

const MAX_NOTE_CHARS: usize = 600;

/// The most notes on one item.
const MAX_NOTES: usize = 10;

const MAX_TITLE_CHARS: usize = 300;

/// The outcome of an item that was processed before.
pub(crate) const UNCHANGED: &str = "unchanged";

/// A list of items to process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct BatchJob {
    /// The items still to be processed, the next one first.
    pub(crate) todo: Vec<String>,
    pub(crate) done: Vec<BatchItemResult>,
    /// The number of further items that are left to another call.
    #[serde(default)]
    pub(crate) left: usize,
    /// Some of those further items. One of them replaces each item that fails or was processed
    /// before, so that every call makes progress, however often it is repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) spare: Vec<String>,
    /// Notes on the list as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

/// The result of one item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct BatchItemResult {
    pub(crate) name: String,
    /// added, joined, unchanged, known or failed
    pub(crate) outcome: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) article_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

impl BatchJob {
    /// A job whose items are all unprocessed.
    pub(crate) const fn new(todo: Vec<String>) -> Self {
        Self {
            todo,
            done: Vec::new(),
            left: 0,
            spare: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Records the result of an item and returns its changes. A failed item is recorded and the job
    /// continues, unless the store failed or the call was cancelled.
    pub(crate) fn record_result(
        &mut self,
        name: String,
        came: Result<(BatchItemResult, Vec<Change>), ToolError>,
    ) -> Result<Vec<Change>, ToolError> {
        match came {
            Ok((line, changes)) => {
                if line.outcome == UNCHANGED {
                    self.take_spare();
                }
                self.done.push(line);
                Ok(changes)
            }
            Err(error @ (ToolError::Store(_) | ToolError::Cancelled)) => Err(error),
            Err(error) => {
                self.done.push(BatchItemResult::from_error(name, &error));
                self.take_spare();
                Ok(Vec::new())
            }
        }
    }

    fn take_spare(&mut self) {
        if !self.spare.is_empty() {
            self.todo.push(self.spare.remove(0));
            self.left = self.left.saturating_sub(1);
        }
    }

    /// The arguments of the next step: those of the call and the state of the job. `None` at the
    /// end.
    pub(crate) fn next_arguments(&self, mut arguments: Value) -> Option<Value> {
        if self.todo.is_empty() {
            return None;
        }
        let fields = arguments.as_object_mut()?;
        fields.insert(STEP_STATE.to_owned(), serde_json::to_value(self).ok()?);
        Some(arguments)
    }

    /// The number of items in this call.
    pub(crate) fn total(&self) -> usize {
        self.todo.len() + self.done.len()
    }

    /// Removes the next item and computes its share of the progress.
    pub(crate) fn take_next(&mut self) -> Option<(String, ProgressShare)> {
        if self.todo.is_empty() {
            return None;
        }
        let share = ProgressShare::new(self.done.len(), self.total());
        Some((self.todo.remove(0), share))
    }

    /// The number of items with this outcome.
    pub(crate) fn count_outcome(&self, outcome: &str) -> usize {
        self.done.iter().filter(|it| it.outcome == outcome).count()
    }
}

impl BatchItemResult {
    /// The result of an item that became an article.
    pub(crate) fn from_record(
        name: &str,
        outcome: &str,
        record: &ArticleRecord,
        notes: Vec<String>,
    ) -> Self {
        let notes = notes.into_iter().take(MAX_NOTES);
        Self {
            name: name.to_owned(),
            outcome: outcome.to_owned(),
            article_id: Some(record.id.clone()),
            title: Some(truncate_chars(&record.article.title, MAX_TITLE_CHARS)),
            notes: notes
                .map(|it| truncate_chars(&it, MAX_NOTE_CHARS))
                .collect(),
        }
    }

    /// The result of an item that failed.
    pub(crate) fn from_error(name: String, error: &ToolError) -> Self {
        let hint = error.hint().map(|it| format!(" {it}"));
        let note = format!("{error}.{}", hint.unwrap_or_default());
        Self {
            name,
            outcome: "failed".to_owned(),
            article_id: None,
            title: None,
            notes: vec![truncate_chars(&note, MAX_NOTE_CHARS)],
        }
    }
}

/// The share of one item in the progress of a call. The code that processes the item reports
/// progress through it, so that all progress of a call is on one scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ProgressShare {
    from: f64,
    to: f64,
    total: usize,
    /// The position of the item, from 1.
    position: usize,
}

impl ProgressShare {
    /// The whole progress of a call.
    pub(crate) const FULL: Self = Self {
        from: 0.0,
        to: 1.0,
        total: 1,
        position: 1,
    };

    fn new(before: usize, total: usize) -> Self {
        Self {
            from: before as f64,
            to: before as f64 + 1.0,
            total,
            position: before + 1,
        }
    }

    /// A part of the share, between two fractions.
    pub(crate) fn subrange(self, from: f64, to: f64) -> Self {
        let at = |part: f64| self.from + (self.to - self.from) * part.clamp(0.0, 1.0);
        Self {
            from: at(from),
            to: at(to),
            ..self
        }
    }

    /// Reports the completed fraction of the share to the client.
    pub(crate) fn report(self, call: &ToolContext, done: f64, message: &str) {
        let done = self.subrange(done, 1.0).from;
        let total = Some(self.total as f64);
        if self.total == 1 {
            call.progress(done, total, message);
        } else {
            let message = format!("{} of {}: {message}", self.position, self.total);
            call.progress(done, total, &message);
        }
    }
}
