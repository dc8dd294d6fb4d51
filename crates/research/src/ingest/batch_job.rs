//! Work on a list, one thing at a time, each kept before the next begins. The list and what came of
//! it so far go from one leg of the call to the next, so all of it has bounds.

use deliberate_core::{Change, truncate_chars};
use deliberate_toolkit::{STEP_STATE, ToolContext, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::articles::ArticleRecord;

/// No note is longer.
const MAX_NOTE_CHARS: usize = 600;

/// The most notes on one thing.
const MAX_NOTES: usize = 10;

/// No title is told at greater length.
const MAX_TITLE_CHARS: usize = 300;

/// The outcome of one that was done before.
pub(crate) const UNCHANGED: &str = "unchanged";

/// Work on a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct BatchJob {
    /// What is still to be done, the next one first.
    pub(crate) todo: Vec<String>,
    /// What came of the others.
    pub(crate) done: Vec<BatchItemResult>,
    /// How many more there are that were left for another call.
    #[serde(default)]
    pub(crate) left: usize,
    /// Some of those: for each that fails or was done before, one of them is done in its place, so
    /// that no call comes to nothing, however often it is made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) spare: Vec<String>,
    /// What is to be said of the list as a whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
}

/// What came of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct BatchItemResult {
    /// Which
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
    /// Work on a list of which nothing is done yet.
    pub(crate) const fn new(todo: Vec<String>) -> Self {
        Self {
            todo,
            done: Vec::new(),
            left: 0,
            spare: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Notes what came of the one that is called so; what it changes. One that failed is reported
    /// and the rest go on, unless nothing can be kept or nobody waits any longer.
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

    /// The arguments of the next leg, unless it is at its end: those of the call, and how far it has
    /// come.
    pub(crate) fn next_arguments(&self, mut arguments: Value) -> Option<Value> {
        if self.todo.is_empty() {
            return None;
        }
        let fields = arguments.as_object_mut()?;
        fields.insert(STEP_STATE.to_owned(), serde_json::to_value(self).ok()?);
        Some(arguments)
    }

    /// How many there are in all.
    pub(crate) fn total(&self) -> usize {
        self.todo.len() + self.done.len()
    }

    /// Takes the next one off the list, with its share of the work.
    pub(crate) fn take_next(&mut self) -> Option<(String, ProgressShare)> {
        if self.todo.is_empty() {
            return None;
        }
        let share = ProgressShare::new(self.done.len(), self.total());
        Some((self.todo.remove(0), share))
    }

    /// How many ended so.
    pub(crate) fn count_outcome(&self, outcome: &str) -> usize {
        self.done.iter().filter(|it| it.outcome == outcome).count()
    }
}

impl BatchItemResult {
    /// One that came to an article.
    pub(crate) fn from_record(
        name: &str,
        outcome: &str,
        kept: &ArticleRecord,
        notes: Vec<String>,
    ) -> Self {
        let notes = notes.into_iter().take(MAX_NOTES);
        Self {
            name: name.to_owned(),
            outcome: outcome.to_owned(),
            article_id: Some(kept.id.clone()),
            title: Some(truncate_chars(&kept.article.title, MAX_TITLE_CHARS)),
            notes: notes
                .map(|it| truncate_chars(&it, MAX_NOTE_CHARS))
                .collect(),
        }
    }

    /// One that failed.
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

/// The share that one thing has in the work of a call: whoever works on it tells how far it has
/// come by this alone, so that all that is told of a call is on one scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ProgressShare {
    from: f64,
    to: f64,
    total: usize,
    /// Which of them it is, from 1.
    position: usize,
}

impl ProgressShare {
    /// All of the work.
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

    /// A part of it, from one fraction of it to another.
    pub(crate) fn subrange(self, from: f64, to: f64) -> Self {
        let at = |part: f64| self.from + (self.to - self.from) * part.clamp(0.0, 1.0);
        Self {
            from: at(from),
            to: at(to),
            ..self
        }
    }

    /// Tells the client how much of it is done, as a fraction.
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
