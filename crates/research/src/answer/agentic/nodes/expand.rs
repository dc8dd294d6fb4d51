//! Expand node: asks for rephrasings of the question and, at the same time, for the filters that
//! the question implies.

use futures::future::join;
use schemars::JsonSchema;
use serde::Deserialize;

use super::filters::{self, QuestionFilters};
use crate::answer::{
    agentic::state::{AgenticContext, AgenticState, NodeError},
    prompts::PromptTemplate,
    retriever::Retriever,
};

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct QueriesReply {
    #[schemars(length(max = 4))]
    queries: Vec<String>,
}

const EXPAND_PROMPT: PromptTemplate = PromptTemplate {
    purpose: "expand",
    text: include_str!("../../prompts/expand.md"),
    max_tokens: 400,
    temperature: 0.5,
};

/// Rephrasings that are searched in addition to the question.
const MAX_REPHRASINGS: usize = 2;

pub(crate) async fn run<R: Retriever>(
    state: &mut AgenticState,
    context: &AgenticContext<'_, R>,
) -> Result<String, NodeError> {
    let shown = state.pool.fence().wrap("question", &state.question);
    let expand =
        EXPAND_PROMPT.build_request::<QueriesReply>("expand".to_owned(), &[("question", &shown)]);
    let filter = filters::filters_request(&shown);
    // Both requests start before either is awaited, so that a client receives them together.
    let both = join(
        context.call.ask::<QueriesReply>(expand, None),
        context.call.ask::<QuestionFilters>(filter, None),
    );
    let share = state.budget.request_timeout();
    let Some((queries, filters)) = state.with_timeout(share, "expand", both).await? else {
        return Ok("only the question itself".to_owned());
    };
    let queries = state.accept_reply("expand", queries)?;
    let more = queries.map(|it| it.clean(&state.question, MAX_REPHRASINGS));
    state.queries.extend(more.unwrap_or_default());
    state.question_filters = state.accept_reply("filters", filters)?;
    Ok(format!("{} queries", state.queries.len()))
}

impl QueriesReply {
    /// Removes numbering and duplicates from the queries that a model wrote.
    pub(crate) fn clean(self, question: &str, most: usize) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for query in self.queries {
            let line = query.lines().next().unwrap_or_default();
            let bare = line.trim_start_matches(|it: char| {
                it.is_ascii_digit() || matches!(it, '.' | ')' | '-' | '*' | ' ')
            });
            let query = deliberate_core::truncate_chars(bare.trim(), 300);
            let same = |it: &str| it.eq_ignore_ascii_case(&query);
            if !query.is_empty() && !same(question) && !all.iter().any(|it| same(it)) {
                all.push(query);
            }
        }
        all.truncate(most);
        all
    }
}
