//! Verify node: checks every sentence against the passages, in code first. A judge is asked about
//! the sentences that code cannot check.

use deliberate_llm::ModelRequest;

use crate::answer::{
    agentic::state::{AgenticContext, AgenticState, NodeError},
    checked_answer::CheckedAnswer,
    claim_judge::{ClaimJudge, ClaimOpinions, judge_claims},
    retriever::Retriever,
};

/// The model of the call, within the budget of the question.
struct BudgetedJudge<'a, 'b, R> {
    state: &'a mut AgenticState,
    context: &'a AgenticContext<'b, R>,
}

impl<R: Retriever> ClaimJudge for BudgetedJudge<'_, '_, R> {
    type Failure = NodeError;

    async fn opinions(
        &mut self,
        request: ModelRequest,
    ) -> Result<Option<ClaimOpinions>, NodeError> {
        match self.state.ask(self.context.call, request).await {
            Err(NodeError::BudgetExhausted(what)) => {
                self.state.note_skipped(format!("check by a model: {what}"));
                Ok(None)
            }
            asked => asked,
        }
    }
}

pub(crate) async fn run<R: Retriever>(
    state: &mut AgenticState,
    context: &AgenticContext<'_, R>,
) -> Result<String, NodeError> {
    let Some(draft) = state.draft.take() else {
        return Ok("nothing to check".to_owned());
    };
    let mut judged = CheckedAnswer::check(draft.claims(), &state.pool).await?;
    let mut second = 0;
    let options = context.retriever.answer_options();
    if options.model_judge && !state.budget.is_nearly_exhausted() {
        let key = format!("check/{}", state.rounds);
        let pool = state.pool.clone();
        let mut judge = BudgetedJudge { state, context };
        (judged, second) = judge_claims(&mut judge, key, judged, &pool).await?;
    }
    state.problems = judged.problems();
    let support = judged.support();
    let better = state
        .checked_answer
        .as_ref()
        .is_none_or(|it| support >= it.support());
    let claims = judged.claim_count();
    if better {
        state.checked_answer = Some(judged);
    }
    Ok(match support {
        Some(support) => format!(
            "{:.0} % of {claims} claims supported{}",
            support * 100.0,
            if second > 0 {
                format!(", {second} judged by a model")
            } else {
                String::new()
            }
        ),
        None => "the draft makes no claims".to_owned(),
    })
}
