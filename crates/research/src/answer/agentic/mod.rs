//! Agentic answers: a graph that plans a question, retrieves passages, grades them, retrieves
//! again, answers, and checks the answer. Each node has its own file; the edges are in `graph`,
//! the budget in `budget`.
//!
//! An exhausted budget or a failing model ends the graph with the best result so far, marked as
//! partial. The graph has no result only if the call is suspended for the client's own model, is
//! cancelled, or fails before it has found a passage.

mod budget;
mod graph;
pub(crate) mod nodes;
mod response;
mod state;

use deliberate_toolkit::{ToolContext, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::Instant;

use super::{
    retriever::{Retriever, check_query, parse_scope},
    single_pass::default_scope,
};
use crate::prompt_fence::prompt_fence;
use budget::{AgenticBudget, question_budget};
use graph::{AgenticNode, next_node};
use state::{AgenticContext, AgenticState, NodeError};

pub use response::AgenticResponse;
pub use state::{Assessment, QuestionKind};

/// Arguments of an agentic question, as the tool takes them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(description = "")]
pub struct AgenticRequest {
    #[schemars(length(min = 1))]
    pub(crate) question: String,
    #[serde(default = "default_max_sources")]
    #[schemars(range(min = 1, max = 20))]
    pub(crate) max_sources: usize,
    #[serde(default = "default_max_retries")]
    #[schemars(range(min = 0, max = 5))]
    pub(crate) max_retries: u32,
    /// As in `answer_research_question`
    #[serde(default = "default_scope")]
    pub(crate) scope: String,
}

const fn default_max_sources() -> usize {
    5
}

const fn default_max_retries() -> u32 {
    2
}

/// No question needs this many steps: a mistake in the edges must not hang a call.
const MAX_STEPS: usize = 100;

/// Answers a question with the agentic graph.
pub(crate) async fn run_agentic_graph<R: Retriever>(
    shelf: &R,
    call: &ToolContext,
    request: &AgenticRequest,
) -> Result<AgenticResponse, ToolError> {
    let question = check_query(call, "question", &request.question)?;
    let scope = parse_scope(&request.scope)?;
    shelf.check_scope(call, &scope).await?;
    let options = shelf.answer_options();
    let timed = call.has_model().await;
    let (call, meter) = call.with_budget(question_budget(options, timed));
    let context = AgenticContext {
        retriever: shelf,
        call: &call,
    };
    let mut state = AgenticState::new(
        question,
        request,
        scope,
        AgenticBudget(meter),
        prompt_fence(&call),
    );
    let mut node = AgenticNode::Classify;
    for _ in 0..MAX_STEPS {
        if node == AgenticNode::Done {
            break;
        }
        match run_node(node, &mut state, &context).await {
            Ok(()) => node = next_node(node, &state, options.min_support),
            Err(NodeError::Failed(error)) if is_fatal(&error, &state) => return Err(error),
            Err(NodeError::Failed(error)) => {
                state.note_skipped(format!("{} failed: {error}", node.name()));
                break;
            }
            Err(NodeError::BudgetExhausted(what)) => {
                state.note_skipped(format!("{}: {what}", node.name()));
                if !node.is_optional() {
                    break;
                }
                // The remaining budget may still be enough for a search and an answer.
                if node == AgenticNode::Grade {
                    nodes::grade::grade_by_words(&mut state);
                }
                node = next_node(node, &state, options.min_support);
            }
        }
    }
    call.progress(100.0, Some(100.0), "done");
    Ok(AgenticResponse::from_state(state, options.min_support))
}

/// Whether an error leaves nothing to report: the call is suspended or cancelled, or no passage
/// was found before the error.
fn is_fatal(error: &ToolError, state: &AgenticState) -> bool {
    let waits = matches!(
        error,
        ToolError::Model(deliberate_llm::ModelError::Pending) | ToolError::Cancelled
    );
    waits || state.pool.len() == 0
}

/// Runs one node, reports its progress, and adds it to the trace.
async fn run_node<R: Retriever>(
    node: AgenticNode,
    state: &mut AgenticState,
    context: &AgenticContext<'_, R>,
) -> Result<(), NodeError> {
    let told = node.progress_message(state);
    context.call.progress(node.progress(), Some(100.0), &told);
    let begun = Instant::now();
    let calls = state.budget.calls();
    let outcome = if node.is_skippable() && state.budget.is_nearly_exhausted() {
        let what = "the remaining budget is reserved for the answer";
        state.note_skipped(format!("{}: {what}", node.name()));
        if node == AgenticNode::Grade {
            nodes::grade::grade_by_words(state);
        }
        Ok(format!("skipped: {what}"))
    } else {
        dispatch_node(node, state, context).await
    };
    let said = match &outcome {
        Ok(said) => said.clone(),
        Err(stop) => stop.to_string(),
    };
    let calls = state.budget.calls() - calls;
    state.record_trace(node.name(), said, begun.elapsed(), calls);
    outcome.map(|_| ())
}

async fn dispatch_node<R: Retriever>(
    node: AgenticNode,
    state: &mut AgenticState,
    context: &AgenticContext<'_, R>,
) -> Result<String, NodeError> {
    match node {
        AgenticNode::Classify => Ok(nodes::classify::run(state)),
        AgenticNode::Expand => nodes::expand::run(state, context).await,
        AgenticNode::Decompose => nodes::decompose::run(state, context).await,
        AgenticNode::Filters => Ok(nodes::filters::run(state)),
        AgenticNode::Retrieve => nodes::retrieve::run(state, context).await,
        AgenticNode::Grade => nodes::grade::run(state, context).await,
        AgenticNode::Assess => Ok(nodes::assess::run(state)),
        AgenticNode::Refine => nodes::refine::run(state, context).await,
        AgenticNode::Rewrite => nodes::rewrite::run(state, context).await,
        AgenticNode::Rerank => nodes::rerank::run(state, context).await,
        AgenticNode::Generate => nodes::generate::run(state, context).await,
        AgenticNode::Verify => nodes::verify::run(state, context).await,
        AgenticNode::Done => Ok(String::new()),
    }
}
