//! What is known of a question on its way through the graph.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use deliberate_thinker::{Ask, ThinkError};
use deliberate_toolkit::{Call, Thinking, ToolError};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    Asked,
    budget::{Budget, Taken},
    filters::Filters,
};
use crate::{
    ArticleFilter, Scope,
    answer::{draft::Draft, judged::Judged, pool::Pool, shown::TracedNode},
};

/// What nodes work with.
pub(super) struct Desk<'a, R> {
    pub(super) shelf: &'a R,
    pub(super) call: &'a Call,
}

/// What kind of question it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What something is.
    Direct,
    /// Anything else.
    Standard,
    /// Several things and how they stand to one another.
    MultiHop,
}

/// How well what was found fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Assessment {
    /// Most of it helps.
    Correct,
    /// Some of it does.
    Ambiguous,
    /// Little of it does.
    Incorrect,
}

/// Why the graph can't go on.
#[derive(Debug, thiserror::Error)]
pub(super) enum Stop {
    /// A budget is spent.
    #[error("{0}")]
    Spent(String),
    /// Something failed that no node can make up for.
    #[error("{0}")]
    Failed(#[from] ToolError),
}

/// What is known so far.
pub(super) struct State {
    pub(super) question: String,
    pub(super) scope: Scope,
    pub(super) scope_text: String,
    pub(super) max_sources: usize,
    pub(super) max_retries: u32,
    pub(super) kind: Kind,
    /// What is looked for next.
    pub(super) queries: Vec<String>,
    /// All that was ever looked for.
    pub(super) asked: Vec<String>,
    pub(super) read_filters: Option<Filters>,
    pub(super) filter: ArticleFilter,
    /// Everything found, in all rounds.
    pub(super) pool: Pool,
    /// What the last round found, and what of it is not graded.
    pub(super) found: Vec<usize>,
    pub(super) fresh: Vec<usize>,
    pub(super) scores: BTreeMap<usize, f64>,
    /// What is relevant, of all rounds.
    pub(super) kept: BTreeSet<usize>,
    /// Sentences that were picked out.
    pub(super) refined: BTreeMap<usize, String>,
    /// What the answer is written from, best first.
    pub(super) order: Vec<usize>,
    pub(super) rounds: u32,
    pub(super) retries: u32,
    pub(super) confidence: f64,
    pub(super) assessment: Option<Assessment>,
    pub(super) draft: Option<Draft>,
    /// The best draft so far, checked.
    pub(super) judged: Option<Judged>,
    pub(super) problems: Vec<String>,
    pub(super) mode: &'static str,
    pub(super) notes: Vec<String>,
    pub(super) left_out: Vec<String>,
    pub(super) trace: Vec<TracedNode>,
    pub(super) budget: Budget,
}

impl State {
    pub(super) fn new(question: &str, asked: &Asked, scope: Scope, budget: Budget) -> Self {
        Self {
            question: question.to_owned(),
            scope,
            scope_text: asked.scope.clone(),
            max_sources: asked.max_sources,
            max_retries: asked.max_retries,
            kind: Kind::Standard,
            queries: vec![question.to_owned()],
            asked: Vec::new(),
            read_filters: None,
            filter: ArticleFilter::default(),
            pool: Pool::default(),
            found: Vec::new(),
            fresh: Vec::new(),
            scores: BTreeMap::new(),
            kept: BTreeSet::new(),
            refined: BTreeMap::new(),
            order: Vec::new(),
            rounds: 0,
            retries: 0,
            confidence: 0.0,
            assessment: None,
            draft: None,
            judged: None,
            problems: Vec::new(),
            mode: "hybrid",
            notes: Vec::new(),
            left_out: Vec::new(),
            trace: Vec::new(),
            budget,
        }
    }

    /// Asks a model within the budget. Nothing if it failed, which is noted.
    pub(super) async fn ask<T: DeserializeOwned>(
        &mut self,
        call: &Call,
        ask: Ask,
    ) -> Result<Option<T>, Stop> {
        let share = self.budget.share();
        self.ask_within(call, ask, share).await
    }

    /// The same with all the time that is left.
    pub(super) async fn ask_at_last<T: DeserializeOwned>(
        &mut self,
        call: &Call,
        ask: Ask,
    ) -> Result<Option<T>, Stop> {
        let left = self.budget.left();
        self.ask_within(call, ask, left).await
    }

    async fn ask_within<T: DeserializeOwned>(
        &mut self,
        call: &Call,
        ask: Ask,
        most: Option<Duration>,
    ) -> Result<Option<T>, Stop> {
        let taken = self.budget.take(&ask).map_err(Stop::Spent)?;
        let purpose = ask.purpose.as_str().to_owned();
        let thinking = call.think::<T>(ask, None);
        match self.in_time(most, &purpose, thinking).await? {
            Some(thought) => self.heard(&purpose, taken, thought),
            None => Ok(None),
        }
    }

    /// What comes of some work, if it comes in `most`; else nothing, which is noted.
    pub(super) async fn in_time<F: Future>(
        &mut self,
        most: Option<Duration>,
        purpose: &str,
        work: F,
    ) -> Result<Option<F::Output>, Stop> {
        let Some(most) = most else {
            return Ok(Some(work.await));
        };
        if let Ok(done) = tokio::time::timeout(most, work).await {
            return Ok(Some(done));
        }
        if self.budget.left() == Some(Duration::ZERO) {
            return Err(Stop::Spent(self.budget.out_of_time()));
        }
        self.note(format!(
            "The model could not be asked ({purpose}): it took longer than {} s.",
            most.as_secs()
        ));
        Ok(None)
    }

    /// What came of an ask.
    pub(super) fn heard<T>(
        &mut self,
        purpose: &str,
        taken: Taken,
        thought: Result<Thinking<T>, ToolError>,
    ) -> Result<Option<T>, Stop> {
        match thought {
            Ok(thinking) => {
                self.budget.settle(taken, &thinking.spent);
                Ok(Some(thinking.value))
            }
            Err(ToolError::Think(error)) if error != ThinkError::Pending => {
                if matches!(error, ThinkError::InvalidResponse { .. }) {
                    self.budget.asked_again();
                }
                self.note(format!(
                    "The model could not be asked ({purpose}): {error}."
                ));
                Ok(None)
            }
            Err(error) => Err(Stop::Failed(error)),
        }
    }

    /// Something whoever asked should know, once.
    pub(super) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    pub(super) fn leave_out(&mut self, what: String) {
        self.left_out.push(what);
    }

    pub(super) fn traced(
        &mut self,
        node: &'static str,
        outcome: String,
        took: Duration,
        calls: u32,
    ) {
        self.trace.push(TracedNode {
            node,
            outcome,
            ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            model_calls: calls,
        });
    }

    /// Whether enough of the answer is supported. Nothing checked is not grounded.
    pub(super) fn is_grounded(&self, support: f64) -> bool {
        self.judged.as_ref().is_some_and(|it| it.stands(support))
    }

    /// What the answer is written from: the best passages, of no more papers than were asked for.
    pub(super) fn best(&self) -> Vec<usize> {
        let mut papers: BTreeSet<&str> = BTreeSet::new();
        let mut best = Vec::new();
        for &at in &self.order {
            let Some(found) = self.pool.get(at) else {
                continue;
            };
            let id = found.kept.id.as_str();
            if papers.contains(id) || papers.len() < self.max_sources {
                papers.insert(id);
                best.push(at);
            }
        }
        best.truncate(self.max_sources.saturating_mul(4));
        best
    }
}
