//! The graph that plans a question, looks, judges what it found, looks again, answers, and checks
//! the answer: one file a node, the edges in `graph`, the budgets in `budget`.
//!
//! A spent budget or a model that fails ends it with the best there is, marked as partial; the only
//! thing that leaves it without a result is a client that has to think first.

mod assess;
mod budget;
mod check;
mod classify;
mod decompose;
mod expand;
mod filters;
mod generate;
mod grade;
mod graph;
mod refine;
mod report;
mod rerank;
mod retrieve;
mod rewrite;
mod state;

use deliberate_toolkit::{Call, ToolError};
use tokio::time::Instant;

use super::shelf::{Retrieves, looked_for, scope};
use budget::Budget;
use graph::{Node, next};
use state::{Desk, State, Stop};

pub(crate) use report::Report;
pub use state::{Assessment, Kind};

/// What is asked.
pub(crate) struct Asked {
    pub(crate) question: String,
    pub(crate) max_sources: usize,
    pub(crate) max_retries: u32,
    pub(crate) scope: String,
}

/// Steps no question needs: a mistake in the edges must not hang a call.
const MOST_STEPS: usize = 100;

/// Answers a question with the whole graph.
pub(crate) async fn research<R: Retrieves>(
    shelf: &R,
    call: &Call,
    asked: &Asked,
) -> Result<Report, ToolError> {
    let question = looked_for(call, "question", &asked.question)?;
    let scope = scope(&asked.scope)?;
    shelf.check_scope(call, &scope).await?;
    let options = shelf.answers();
    let timed = call.has_model().await;
    let desk = Desk { shelf, call };
    let mut state = State::new(question, asked, scope, Budget::new(options, timed));
    let mut node = Node::Classify;
    for _ in 0..MOST_STEPS {
        if node == Node::Done {
            break;
        }
        match step(node, &mut state, &desk).await {
            Ok(()) => node = next(node, &state, options.support),
            Err(Stop::Failed(error)) if must_end(&error, &state) => return Err(error),
            Err(Stop::Failed(error)) => {
                state.leave_out(format!("{} failed: {error}", node.name()));
                break;
            }
            Err(Stop::Spent(what)) => {
                state.leave_out(format!("{}: {what}", node.name()));
                if !node.is_only_help() {
                    break;
                }
                // What is left may still do for a search and an answer.
                if node == Node::Grade {
                    grade::by_words(&mut state);
                }
                node = next(node, &state, options.support);
            }
        }
    }
    call.progress(100.0, Some(100.0), "done");
    Ok(Report::of(state, options.support))
}

/// Whether an error leaves nothing to show: the client thinks or went away, or nothing was found
/// before it.
fn must_end(error: &ToolError, state: &State) -> bool {
    let waits = matches!(
        error,
        ToolError::Think(deliberate_thinker::ThinkError::Pending) | ToolError::Cancelled
    );
    waits || state.pool.len() == 0
}

/// One node: told, run, and written into the trace.
async fn step<R: Retrieves>(node: Node, state: &mut State, desk: &Desk<'_, R>) -> Result<(), Stop> {
    let told = node.told(state);
    desk.call.progress(node.progress(), Some(100.0), &told);
    let begun = Instant::now();
    let calls = state.budget.calls();
    let outcome = if node.may_be_left_out() && state.budget.is_scarce() {
        let what = "what is left of the budget is for the answer";
        state.leave_out(format!("{}: {what}", node.name()));
        if node == Node::Grade {
            grade::by_words(state);
        }
        Ok(format!("left out: {what}"))
    } else {
        run(node, state, desk).await
    };
    let said = match &outcome {
        Ok(said) => said.clone(),
        Err(stop) => stop.to_string(),
    };
    let calls = state.budget.calls() - calls;
    state.traced(node.name(), said, begun.elapsed(), calls);
    outcome.map(|_| ())
}

async fn run<R: Retrieves>(
    node: Node,
    state: &mut State,
    desk: &Desk<'_, R>,
) -> Result<String, Stop> {
    match node {
        Node::Classify => Ok(classify::run(state)),
        Node::Expand => expand::run(state, desk).await,
        Node::Decompose => decompose::run(state, desk).await,
        Node::Filters => Ok(filters::run(state)),
        Node::Retrieve => retrieve::run(state, desk).await,
        Node::Grade => grade::run(state, desk).await,
        Node::Assess => Ok(assess::run(state)),
        Node::Refine => refine::run(state, desk).await,
        Node::Rewrite => rewrite::run(state, desk).await,
        Node::Rerank => rerank::run(state, desk).await,
        Node::Generate => generate::run(state, desk).await,
        Node::Check => check::run(state, desk).await,
        Node::Done => Ok(String::new()),
    }
}
