//! Rewrite node: asks for a new query from the question, the results, and the problems. Passages
//! from earlier rounds stay in the pool.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::{
    agentic::state::{AgenticContext, AgenticState, NodeError},
    prompts::PromptTemplate,
    retriever::Retriever,
};

#[derive(Debug, Deserialize, JsonSchema)]
struct RewriteReply {
    query: String,
}

const REWRITE_PROMPT: PromptTemplate = PromptTemplate {
    purpose: "rewrite",
    text: include_str!("../../prompts/rewrite.md"),
    max_tokens: 300,
    temperature: 0.5,
};

/// Passages in the request, and characters of each.
const MAX_PASSAGES: usize = 3;
const PASSAGE_CHARS: usize = 300;

pub(crate) async fn run<R: Retriever>(
    state: &mut AgenticState,
    context: &AgenticContext<'_, R>,
) -> Result<String, NodeError> {
    state.retries += 1;
    let first: Vec<usize> = state.retrieved.iter().copied().take(MAX_PASSAGES).collect();
    let (passages, _) = state.pool.render_with(&first, |_, it| {
        deliberate_core::truncate_chars(&it.passage.text, PASSAGE_CHARS)
    });
    let problems = if state.problems.is_empty() {
        String::new()
    } else {
        format!(
            "\nWrong with the answer:\n{}",
            state
                .pool
                .fence()
                .wrap("problem", &state.problems.join("\n"))
        )
    };
    let asked = state
        .pool
        .fence()
        .wrap("problem", &state.past_queries.join("\n"));
    let ask = REWRITE_PROMPT.build_request::<RewriteReply>(
        format!("rewrite/{}", state.retries),
        &[
            (
                "question",
                &state.pool.fence().wrap("question", &state.question),
            ),
            ("asked", &asked),
            ("passages", &passages),
            ("problems", &problems),
        ],
    );
    let rewritten: Option<RewriteReply> = state.ask(context.call, ask).await?;
    let query = rewritten.map(|it| deliberate_core::truncate_chars(it.query.trim(), 300));
    let new = |it: &String| {
        !it.is_empty()
            && !state
                .past_queries
                .iter()
                .any(|old| old.eq_ignore_ascii_case(it))
    };
    let query = match query.filter(new) {
        Some(query) => query,
        // Search for the first unsupported sentence itself.
        None => match state.problems.first() {
            Some(problem) => deliberate_core::truncate_chars(problem, 200),
            None => state.question.clone(),
        },
    };
    state.queries = vec![query.clone()];
    Ok(format!("new query: {query}"))
}
