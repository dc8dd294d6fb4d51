//! A question of several parts, taken apart.

use super::{
    expand::Queries,
    state::{Desk, State, Stop},
};
use crate::answer::{
    asks::{Kind, tagged},
    shelf::Retrieves,
};

const DECOMPOSE: Kind = Kind {
    purpose: "decompose",
    text: include_str!("../asks/decompose.md"),
    max_tokens: 500,
    temperature: 0.3,
};

/// Parts of a question.
const MOST: usize = 4;

pub(super) async fn run<R: Retrieves>(
    state: &mut State,
    desk: &Desk<'_, R>,
) -> Result<String, Stop> {
    let shown = tagged("question", &state.question);
    let ask = DECOMPOSE.ask::<Queries>("decompose".to_owned(), &[("question", &shown)]);
    let parts: Option<Queries> = state.ask(desk.call, ask).await?;
    let parts = parts.map(|it| it.clean(&state.question, MOST));
    // The question itself stays: what joins the parts is in no part.
    state.queries.extend(parts.unwrap_or_default());
    Ok(format!("{} parts", state.queries.len() - 1))
}
