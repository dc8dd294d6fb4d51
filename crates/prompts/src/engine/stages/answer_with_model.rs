//! Lets the server's own model answer the steps that were rendered, brings the answers before
//! their gates, and goes on with the next leg.

use deliberate_llm::{ChatMessage, ModelError, ModelRequest, PlainText, Purpose};
use deliberate_toolkit::{ToolError, answer_schema};
use futures::future::{BoxFuture, join_all};
use schemars::JsonSchema;
use serde::Deserialize;

use super::EngineStage;
use crate::engine::{EngineContext, StageOutcome, context::RenderedStep, review_answer};

/// The most a model may write for a step.
const MAX_TOKENS: u32 = 4_000;

pub(super) struct AnswerWithModel;

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
            // What was taken in so far is kept before anyone is paid for the next.
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

/// The answers to all of them, asked for at once. Words without JSON are an answer, too.
async fn ask_model(
    context: &EngineContext<'_>,
    asks: Vec<ModelRequest>,
) -> Result<Vec<Result<String, ToolError>>, ToolError> {
    let plain: fn(String) -> StepAnswer = |answer| StepAnswer { answer };
    let asked = asks.into_iter().map(|ask| async move {
        let thought = context.call.ask(ask, Some(plain)).await;
        thought.map(|thought| thought.value.answer)
    });
    // All are looked at: the first that waits for the client must not hide the others.
    let answers = join_all(asked).await;
    let waits =
        |it: &Result<_, ToolError>| matches!(it, Err(ToolError::Model(ModelError::Pending)));
    if answers.iter().any(waits) {
        return Err(ModelError::Pending.into());
    }
    Ok(answers)
}

/// Whether a step was answered so often that only a person can say how to go on.
fn is_stuck(context: &EngineContext<'_>) -> bool {
    context.rendered.iter().any(|shown| {
        let step = context.state.step(shown.number);
        let held = step
            .filter(|step| step.is_held())
            .and_then(|step| step.review.as_ref());
        held.is_some_and(|held| held.review.attempts.is_exhausted())
    })
}

fn step_request(context: &EngineContext<'_>, shown: &RenderedStep) -> ModelRequest {
    let attempts = context
        .state
        .step(shown.number)
        .map_or(0, |step| step.attempts);
    let parts = [&shown.user, &shown.guidance];
    let text: Vec<&str> = parts
        .iter()
        .map(|it| it.trim())
        .filter(|it| !it.is_empty())
        .collect();
    ModelRequest {
        key: format!("answer-{}-{attempts}", shown.number),
        purpose: Purpose::new("prompt_step"),
        system: shown.system.clone(),
        messages: vec![ChatMessage::user(text.join("\n\n"))],
        schema: answer_schema::<StepAnswer>(),
        plain_text: PlainText::IsTheAnswer,
        max_tokens: MAX_TOKENS,
        temperature: 0.4,
        ..ModelRequest::default()
    }
}
