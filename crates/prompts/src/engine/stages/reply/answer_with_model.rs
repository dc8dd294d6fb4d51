//! Lets the server's own model answer the rendered steps, checks the answers against their gates,
//! and schedules the next part of the call.

use deliberate_llm::{ChatMessage, ModelError, ModelRequest, PlainText, Purpose};
use deliberate_toolkit::{ToolError, answer_schema};
use futures::future::{BoxFuture, join_all};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::engine::{
    EngineContext, StageOutcome, context::RenderedStep, review_answer, stages::EngineStage,
};

/// The most tokens of an answer.
const MAX_TOKENS: u32 = 4_000;

pub(crate) struct AnswerWithModel;

/// A model's answer to a step.
#[derive(Debug, Deserialize, JsonSchema)]
struct StepAnswer {
    /// The answer, as it should be read.
    #[schemars(length(min = 1))]
    answer: String,
}

impl EngineStage for AnswerWithModel {
    fn name(&self) -> &'static str {
        "think"
    }

    fn run<'a>(
        &'a self,
        context: &'a mut EngineContext<'_>,
    ) -> BoxFuture<'a, Result<StageOutcome, ToolError>> {
        Box::pin(async move {
            if !context.uses_server_model() || context.rendered.is_empty() || is_stuck(context) {
                return Ok(StageOutcome::Next);
            }
            // The changes so far are committed before the next model request is paid for.
            if !context.changes.is_empty() {
                context.schedule_next_call();
                return Ok(StageOutcome::Done);
            }
            let total = f64::from(context.plan.len());
            let asks: Vec<ModelRequest> = context
                .rendered
                .iter()
                .map(|it| step_request(context, it))
                .collect();
            for shown in &context.rendered {
                let done = f64::from(shown.number.saturating_sub(1));
                let message = format!("step {}: {}", shown.number, shown.name);
                context.call.progress(done, Some(total), &message);
            }
            let answers = ask_model(context, asks).await?;
            let mut taken = Vec::new();
            for (shown, answer) in context.rendered.iter().zip(answers) {
                let node = context.plan.step(shown.number);
                taken.push((node.ok_or(ToolError::Internal)?.clone(), answer?));
            }
            review_answer::submit_answers(context, taken).await?;
            context.schedule_next_call();
            Ok(StageOutcome::Done)
        })
    }
}

/// Asks for all answers concurrently. Plain text without JSON is also an answer.
async fn ask_model(
    context: &EngineContext<'_>,
    asks: Vec<ModelRequest>,
) -> Result<Vec<Result<String, ToolError>>, ToolError> {
    let plain: fn(String) -> StepAnswer = |answer| StepAnswer { answer };
    let asked = asks.into_iter().map(|ask| async move {
        let thought = context.call.ask(ask, Some(plain)).await;
        thought.map(|thought| thought.value.answer)
    });
    // All results are examined: one request that waits for the client must not hide the others.
    let answers = join_all(asked).await;
    let waits =
        |it: &Result<_, ToolError>| matches!(it, Err(ToolError::Model(ModelError::Pending)));
    if answers.iter().any(waits) {
        return Err(ModelError::Pending.into());
    }
    Ok(answers)
}

/// Returns whether a step has used all attempts, so that only a user can decide how to continue.
fn is_stuck(context: &EngineContext<'_>) -> bool {
    context.rendered.iter().any(|rendered_step| {
        let step = context.state.step(rendered_step.number);
        let review = step
            .filter(|step| step.is_held())
            .and_then(|step| step.review.as_ref());
        review.is_some_and(|review| review.review.attempts.is_exhausted())
    })
}

fn step_request(context: &EngineContext<'_>, rendered_step: &RenderedStep) -> ModelRequest {
    let attempts = context
        .state
        .step(rendered_step.number)
        .map_or(0, |step| step.attempts);
    let parts = [&rendered_step.user, &rendered_step.guidance];
    let text: Vec<&str> = parts
        .iter()
        .map(|it| it.trim())
        .filter(|it| !it.is_empty())
        .collect();
    ModelRequest {
        key: format!("answer-{}-{attempts}", rendered_step.number),
        purpose: Purpose::new("prompt_step"),
        system: rendered_step.system.clone(),
        messages: vec![ChatMessage::user(text.join("\n\n"))],
        schema: answer_schema::<StepAnswer>(),
        plain_text: PlainText::IsTheAnswer,
        max_tokens: MAX_TOKENS,
        temperature: 0.4,
        ..ModelRequest::default()
    }
}
