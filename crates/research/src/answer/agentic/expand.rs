//! Other wordings of the question, and, asked for in the same breath, which papers it restricts
//! itself to.

use futures::future::join;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    filters::{self, Filters},
    state::{Desk, State, Stop},
};
use crate::answer::{
    asks::{Kind, tagged},
    shelf::Retrieves,
};

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Queries {
    #[schemars(length(max = 4), inner(length(max = 300)))]
    queries: Vec<String>,
}

const EXPAND: Kind = Kind {
    purpose: "expand",
    text: include_str!("../asks/expand.md"),
    max_tokens: 400,
    temperature: 0.5,
};

/// The question and so many rephrasings.
const REPHRASINGS: usize = 2;

pub(super) async fn run<R: Retrieves>(
    state: &mut State,
    desk: &Desk<'_, R>,
) -> Result<String, Stop> {
    let shown = tagged("question", &state.question);
    let expand = EXPAND.ask::<Queries>("expand".to_owned(), &[("question", &shown)]);
    let filter = filters::ask(&shown);
    let took = state.budget.take(&expand).map_err(Stop::Spent)?;
    let took_filter = state.budget.take(&filter).map_err(Stop::Spent)?;
    // Both before either is waited for: a client is given them together.
    let both = join(
        desk.call.think::<Queries>(expand, None),
        desk.call.think::<Filters>(filter, None),
    );
    let share = state.budget.share();
    let Some((queries, filters)) = state.in_time(share, "expand", both).await? else {
        return Ok("the question alone".to_owned());
    };
    let queries = state.heard("expand", took, queries)?;
    state.read_filters = state.heard("filters", took_filter, filters)?;
    let more = queries.map(|it| it.clean(&state.question, REPHRASINGS));
    state.queries.extend(more.unwrap_or_default());
    Ok(format!("{} queries", state.queries.len()))
}

impl Queries {
    /// Queries as models write them, without numbering, and without those that say the same.
    pub(super) fn clean(self, question: &str, most: usize) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for query in self.queries {
            let line = query.lines().next().unwrap_or_default();
            let bare = line.trim_start_matches(|it: char| {
                it.is_ascii_digit() || matches!(it, '.' | ')' | '-' | '*' | ' ')
            });
            let query = deliberate_core::cut_to_chars(bare.trim(), 300);
            let same = |it: &str| it.eq_ignore_ascii_case(&query);
            if !query.is_empty() && !same(question) && !all.iter().any(|it| same(it)) {
                all.push(query);
            }
        }
        all.truncate(most);
        all
    }
}
