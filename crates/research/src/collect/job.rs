//! Work on a list, one thing at a time, each kept before the next begins. The list and what came of
//! it so far go from one leg of the call to the next, so all of it has bounds.

use deliberate_core::{Change, cut_to_chars};
use deliberate_toolkit::{Call, LEG, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Kept;

/// No note is longer.
const NOTE_CHARS: usize = 600;

/// The most notes on one thing.
const MOST_NOTES: usize = 10;

/// No title is told at greater length.
const TITLE_CHARS: usize = 300;

/// The outcome of one that was done before.
pub(crate) const UNCHANGED: &str = "unchanged";

/// Work on a list.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    /// What is still to be done, the next one first.
    pub(crate) todo: Vec<String>,
    /// What came of the others.
    pub(crate) done: Vec<JobLine>,
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
pub(crate) struct JobLine {
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

impl Job {
    /// Work on a list of which nothing is done yet.
    pub(crate) const fn on(todo: Vec<String>) -> Self {
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
    pub(crate) fn note(
        &mut self,
        name: String,
        came: Result<(JobLine, Vec<Change>), ToolError>,
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
                self.done.push(JobLine::failed(name, &error));
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
    pub(crate) fn next(&self, mut arguments: Value) -> Option<Value> {
        if self.todo.is_empty() {
            return None;
        }
        let fields = arguments.as_object_mut()?;
        fields.insert(LEG.to_owned(), serde_json::to_value(self).ok()?);
        Some(arguments)
    }

    /// How many there are in all.
    pub(crate) fn total(&self) -> usize {
        self.todo.len() + self.done.len()
    }

    /// Takes the next one off the list, with its share of the work.
    pub(crate) fn take(&mut self) -> Option<(String, Share)> {
        if self.todo.is_empty() {
            return None;
        }
        let share = Share::of(self.done.len(), self.total());
        Some((self.todo.remove(0), share))
    }

    /// How many ended so.
    pub(crate) fn count(&self, outcome: &str) -> usize {
        self.done.iter().filter(|it| it.outcome == outcome).count()
    }
}

impl JobLine {
    /// One that came to an article.
    pub(crate) fn of(name: &str, outcome: &str, kept: &Kept, notes: Vec<String>) -> Self {
        let notes = notes.into_iter().take(MOST_NOTES);
        Self {
            name: name.to_owned(),
            outcome: outcome.to_owned(),
            article_id: Some(kept.id.clone()),
            title: Some(cut_to_chars(&kept.article.title, TITLE_CHARS)),
            notes: notes.map(|it| cut_to_chars(&it, NOTE_CHARS)).collect(),
        }
    }

    /// One that failed.
    pub(crate) fn failed(name: String, error: &ToolError) -> Self {
        let hint = error.hint().map(|it| format!(" {it}"));
        let note = format!("{error}.{}", hint.unwrap_or_default());
        Self {
            name,
            outcome: "failed".to_owned(),
            article_id: None,
            title: None,
            notes: vec![cut_to_chars(&note, NOTE_CHARS)],
        }
    }
}

/// The share that one thing has in the work of a call: whoever works on it tells how far it has
/// come by this alone, so that all that is told of a call is on one scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share {
    from: f64,
    to: f64,
    total: usize,
    /// Which of them it is, from 1.
    at: usize,
}

impl Share {
    /// All of the work.
    pub(crate) const WHOLE: Self = Self {
        from: 0.0,
        to: 1.0,
        total: 1,
        at: 1,
    };

    fn of(before: usize, total: usize) -> Self {
        Self {
            from: before as f64,
            to: before as f64 + 1.0,
            total,
            at: before + 1,
        }
    }

    /// A part of it, from one fraction of it to another.
    pub(crate) fn part(self, from: f64, to: f64) -> Self {
        let at = |part: f64| self.from + (self.to - self.from) * part.clamp(0.0, 1.0);
        Self {
            from: at(from),
            to: at(to),
            ..self
        }
    }

    /// Tells the client how much of it is done, as a fraction.
    pub(crate) fn tell(self, call: &Call, done: f64, message: &str) {
        let done = self.part(done, 1.0).from;
        let total = Some(self.total as f64);
        if self.total == 1 {
            call.progress(done, total, message);
        } else {
            let message = format!("{} of {}: {message}", self.at, self.total);
            call.progress(done, total, &message);
        }
    }
}
