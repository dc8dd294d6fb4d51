//! A draft from the best passages. What was wrong with the one before is told, so that this one
//! keeps closer to them.

use super::state::{Desk, State, Stop};
use crate::answer::{
    draft::{self, Draft},
    shelf::Retrieves,
};

pub(super) async fn run<R: Retrieves>(
    state: &mut State,
    desk: &Desk<'_, R>,
) -> Result<String, Stop> {
    state.draft = None;
    let best = state.best();
    if best.is_empty() {
        return Ok("nothing to write from".to_owned());
    }
    let room = draft::room(state.budget.left_tokens());
    let (passages, shown) = state.pool.shown_within(&best, room, |at, it| {
        let picked = state.refined.get(&at);
        picked.cloned().unwrap_or_else(|| it.passage.text.clone())
    });
    let key = format!("answer/{}", state.rounds);
    let ask = draft::ask(key, &state.question, &passages, &state.problems);
    state.draft = state.ask_at_last::<Draft>(desk.call, ask).await?;
    let Some(draft) = &state.draft else {
        state.leave_out("generate: no model could be asked".to_owned());
        return Ok("no draft".to_owned());
    };
    let said = format!(
        "{} sentences from {} passages",
        draft.sentences.len(),
        shown.len()
    );
    if let Some(note) = draft.note() {
        state.note(note);
    }
    Ok(said)
}
