//! Generate node: asks for a draft from the best passages. The request lists the problems of the
//! previous draft, so that the new one stays closer to the passages.

use crate::answer::{
    agentic::state::{AgenticContext, AgenticState, NodeError},
    draft::{self, AnswerDraft},
    retriever::Retriever,
};

pub(crate) async fn run<R: Retriever>(
    state: &mut AgenticState,
    context: &AgenticContext<'_, R>,
) -> Result<String, NodeError> {
    state.draft = None;
    let best = state.best_passages();
    if best.is_empty() {
        return Ok("no passages to write from".to_owned());
    }
    let room = draft::passage_bytes_for(state.budget.remaining_tokens());
    let (passages, shown) = state.pool.render_with_limit(&best, room, |at, it| {
        let picked = state.refined.get(&at);
        picked.cloned().unwrap_or_else(|| it.passage.text.clone())
    });
    let key = format!("answer/{}", state.rounds);
    let ask = draft::answer_request(
        key,
        &state.question,
        &passages,
        &state.problems,
        state.pool.fence(),
    );
    state.draft = state
        .ask_with_remaining_time::<AnswerDraft>(context.call, ask)
        .await?;
    let Some(draft) = &state.draft else {
        state.note_skipped("generate: no model was available".to_owned());
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
