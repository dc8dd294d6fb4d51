//! State of a question on its way through the graph.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use deliberate_core::PromptFence;
use deliberate_llm::{ModelError, ModelRequest};
use deliberate_toolkit::{ModelAnswer, ToolContext, ToolError};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use super::{AgenticRequest, budget::AgenticBudget, nodes::filters::QuestionFilters};
use crate::{
    ArticleFilter, RetrievalScope,
    answer::{
        checked_answer::CheckedAnswer, draft::AnswerDraft, passage_pool::PassagePool,
        response::NodeTrace,
    },
};

/// Services that nodes use.
pub(crate) struct AgenticContext<'a, R> {
    pub(super) retriever: &'a R,
    pub(super) call: &'a ToolContext,
}

/// Kind of question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    /// Asks for a definition.
    Direct,
    Standard,
    /// Asks how several things are related.
    MultiHop,
}

/// Relevance of the retrieved passages as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Assessment {
    /// Most passages are relevant.
    Correct,
    /// Some passages are relevant.
    Ambiguous,
    /// Few passages are relevant.
    Incorrect,
}

/// Reason why a node could not finish.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NodeError {
    #[error("{0}")]
    BudgetExhausted(String),
    /// A failure that no other node can compensate for.
    #[error("{0}")]
    Failed(#[from] ToolError),
}

/// Everything that the nodes share about a question.
pub(crate) struct AgenticState {
    pub(super) question: String,
    pub(super) scope: RetrievalScope,
    pub(super) scope_text: String,
    pub(super) max_sources: usize,
    pub(super) max_retries: u32,
    pub(super) kind: QuestionKind,
    /// Queries of the next retrieval round.
    pub(super) queries: Vec<String>,
    /// Queries of all earlier rounds.
    pub(super) past_queries: Vec<String>,
    pub(super) question_filters: Option<QuestionFilters>,
    pub(super) filter: ArticleFilter,
    /// Passages of all rounds.
    pub(super) pool: PassagePool,
    /// Passages of the last round, and those of them without a grade.
    pub(super) retrieved: Vec<usize>,
    pub(super) ungraded: Vec<usize>,
    pub(super) scores: BTreeMap<usize, f64>,
    /// Relevant passages of all rounds.
    pub(super) relevant: BTreeSet<usize>,
    /// Selected sentences of a passage.
    pub(super) refined: BTreeMap<usize, String>,
    /// Passages that the answer is written from, best first.
    pub(super) order: Vec<usize>,
    pub(super) rounds: u32,
    pub(super) retries: u32,
    pub(super) confidence: f64,
    pub(super) assessment: Option<Assessment>,
    pub(super) draft: Option<AnswerDraft>,
    /// The best checked draft so far.
    pub(super) checked_answer: Option<CheckedAnswer>,
    pub(super) problems: Vec<String>,
    pub(super) mode: &'static str,
    pub(super) notes: Vec<String>,
    pub(super) skipped: Vec<String>,
    pub(super) trace: Vec<NodeTrace>,
    pub(super) budget: AgenticBudget,
}

impl AgenticState {
    pub(super) fn new(
        question: &str,
        request: &AgenticRequest,
        scope: RetrievalScope,
        budget: AgenticBudget,
        fence: PromptFence,
    ) -> Self {
        Self {
            question: question.to_owned(),
            scope,
            scope_text: request.scope.clone(),
            max_sources: request.max_sources,
            max_retries: request.max_retries,
            kind: QuestionKind::Standard,
            queries: vec![question.to_owned()],
            past_queries: Vec::new(),
            question_filters: None,
            filter: ArticleFilter::default(),
            pool: PassagePool::new(fence),
            retrieved: Vec::new(),
            ungraded: Vec::new(),
            scores: BTreeMap::new(),
            relevant: BTreeSet::new(),
            refined: BTreeMap::new(),
            order: Vec::new(),
            rounds: 0,
            retries: 0,
            confidence: 0.0,
            assessment: None,
            draft: None,
            checked_answer: None,
            problems: Vec::new(),
            mode: "hybrid",
            notes: Vec::new(),
            skipped: Vec::new(),
            trace: Vec::new(),
            budget,
        }
    }

    /// Asks a model within the budget. A failure is noted and returns `None`.
    pub(super) async fn ask<T: DeserializeOwned>(
        &mut self,
        call: &ToolContext,
        ask: ModelRequest,
    ) -> Result<Option<T>, NodeError> {
        let share = self.budget.request_timeout();
        self.ask_with_timeout(call, ask, share).await
    }

    /// Like `ask`, but the request may take all of the remaining time.
    pub(super) async fn ask_with_remaining_time<T: DeserializeOwned>(
        &mut self,
        call: &ToolContext,
        ask: ModelRequest,
    ) -> Result<Option<T>, NodeError> {
        let left = self.budget.remaining_time();
        self.ask_with_timeout(call, ask, left).await
    }

    async fn ask_with_timeout<T: DeserializeOwned>(
        &mut self,
        call: &ToolContext,
        ask: ModelRequest,
        most: Option<Duration>,
    ) -> Result<Option<T>, NodeError> {
        let purpose = ask.purpose.as_str().to_owned();
        let thinking = call.ask::<T>(ask, None);
        match self.with_timeout(most, &purpose, thinking).await? {
            Some(thought) => self.accept_reply(&purpose, thought),
            None => Ok(None),
        }
    }

    /// Runs `work` for at most `most`. A timeout is noted and returns `None`.
    pub(super) async fn with_timeout<F: Future>(
        &mut self,
        most: Option<Duration>,
        purpose: &str,
        work: F,
    ) -> Result<Option<F::Output>, NodeError> {
        let Some(most) = most else {
            return Ok(Some(work.await));
        };
        if let Ok(done) = tokio::time::timeout(most, work).await {
            return Ok(Some(done));
        }
        if self.budget.remaining_time() == Some(Duration::ZERO) {
            return Err(NodeError::BudgetExhausted(self.budget.timeout_message()));
        }
        self.note(format!(
            "The model request failed ({purpose}): it took longer than {} s.",
            most.as_secs()
        ));
        Ok(None)
    }

    /// Returns the reply. A failure of the model is noted and returns `None`.
    pub(super) fn accept_reply<T>(
        &mut self,
        purpose: &str,
        thought: Result<ModelAnswer<T>, ToolError>,
    ) -> Result<Option<T>, NodeError> {
        match thought {
            Ok(thinking) => Ok(Some(thinking.value)),
            Err(ToolError::Model(ModelError::BudgetExhausted { reason })) => {
                Err(NodeError::BudgetExhausted(reason))
            }
            Err(ToolError::Model(error)) if error != ModelError::Pending => {
                self.note(format!("The model request failed ({purpose}): {error}."));
                Ok(None)
            }
            Err(error) => Err(NodeError::Failed(error)),
        }
    }

    /// Adds a note for the caller unless it is already there.
    pub(super) fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    pub(super) fn note_skipped(&mut self, what: String) {
        self.skipped.push(what);
    }

    pub(super) fn record_trace(
        &mut self,
        node: &'static str,
        outcome: String,
        took: Duration,
        calls: u32,
    ) {
        self.trace.push(NodeTrace {
            node,
            outcome,
            ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            model_calls: calls,
        });
    }

    /// Whether enough of the answer is supported. An unchecked answer is not grounded.
    pub(super) fn is_grounded(&self, support: f64) -> bool {
        self.checked_answer
            .as_ref()
            .is_some_and(|it| it.is_supported(support))
    }

    /// The best passages, from at most as many papers as the caller asked for.
    pub(super) fn best_passages(&self) -> Vec<usize> {
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
