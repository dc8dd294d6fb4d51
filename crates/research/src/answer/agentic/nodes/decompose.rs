//! Decompose node: splits a multi-hop question into subquestions.

use super::expand::QueriesReply;
use crate::answer::{
    agentic::state::{AgenticContext, AgenticState, NodeError},
    prompts::PromptTemplate,
    retriever::Retriever,
};

const DECOMPOSE_PROMPT: PromptTemplate = PromptTemplate {
    purpose: "decompose",
    text: include_str!("../../prompts/decompose.md"),
    max_tokens: 500,
    temperature: 0.3,
};

const MAX_SUBQUESTIONS: usize = 4;

pub(crate) async fn run<R: Retriever>(
    state: &mut AgenticState,
    context: &AgenticContext<'_, R>,
) -> Result<String, NodeError> {
    let shown = state.pool.fence().wrap("question", &state.question);
    let ask = DECOMPOSE_PROMPT
        .build_request::<QueriesReply>("decompose".to_owned(), &[("question", &shown)]);
    let parts: Option<QueriesReply> = state.ask(context.call, ask).await?;
    let parts = parts.map(|it| it.clean(&state.question, MAX_SUBQUESTIONS));
    // The question itself remains a query: no subquestion covers how the parts are related.
    state.queries.extend(parts.unwrap_or_default());
    Ok(format!("{} parts", state.queries.len() - 1))
}
