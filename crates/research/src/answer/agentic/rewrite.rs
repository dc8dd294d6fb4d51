//! Another query, from what was asked, what was found and what was wrong. What was found before
//! stays.

use schemars::JsonSchema;
use serde::Deserialize;

use super::state::{Desk, State, Stop};
use crate::answer::{
    asks::{Kind, tagged},
    shelf::Retrieves,
};

#[derive(Debug, Deserialize, JsonSchema)]
struct Rewritten {
    #[schemars(length(max = 300))]
    query: String,
}

const REWRITE: Kind = Kind {
    purpose: "rewrite",
    text: include_str!("../asks/rewrite.md"),
    max_tokens: 300,
    temperature: 0.5,
};

/// How many passages it is shown, and how much of each.
const SHOWN: usize = 3;
const SHOWN_CHARS: usize = 300;

pub(super) async fn run<R: Retrieves>(
    state: &mut State,
    desk: &Desk<'_, R>,
) -> Result<String, Stop> {
    state.retries += 1;
    let first: Vec<usize> = state.found.iter().copied().take(SHOWN).collect();
    let (passages, _) = state.pool.shown_as(&first, |_, it| {
        deliberate_core::cut_to_chars(&it.passage.text, SHOWN_CHARS)
    });
    let problems = if state.problems.is_empty() {
        String::new()
    } else {
        format!(
            "\nWrong with the answer:\n{}",
            tagged("problem", &state.problems.join("\n"))
        )
    };
    let asked = tagged("problem", &state.asked.join("\n"));
    let ask = REWRITE.ask::<Rewritten>(
        format!("rewrite/{}", state.retries),
        &[
            ("question", &tagged("question", &state.question)),
            ("asked", &asked),
            ("passages", &passages),
            ("problems", &problems),
        ],
    );
    let rewritten: Option<Rewritten> = state.ask(desk.call, ask).await?;
    let query = rewritten.map(|it| deliberate_core::cut_to_chars(it.query.trim(), 300));
    let new =
        |it: &String| !it.is_empty() && !state.asked.iter().any(|old| old.eq_ignore_ascii_case(it));
    let query = match query.filter(new) {
        Some(query) => query,
        // What the answer could not show is looked for as it stands.
        None => match state.problems.first() {
            Some(problem) => deliberate_core::cut_to_chars(problem, 200),
            None => state.question.clone(),
        },
    };
    state.queries = vec![query.clone()];
    Ok(format!("asks for: {query}"))
}
