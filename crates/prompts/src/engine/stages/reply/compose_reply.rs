//! Composes the reply: the rendered steps, then instructions for the next call. A plain prompt is
//! only its text.

use deliberate_toolkit::ToolError;
use futures::future::BoxFuture;
use serde_json::json;

use crate::{
    chain::PlannedStep,
    engine::{
        AppliedGate, EngineContext, StageOutcome, context::RenderedStep, stages::EngineStage,
    },
};

pub(crate) struct ComposeReply;

impl EngineStage for ComposeReply {
    fn name(&self) -> &'static str {
        "tell"
    }

    fn run<'a>(
        &'a self,
        context: &'a mut EngineContext<'_>,
    ) -> BoxFuture<'a, Result<StageOutcome, ToolError>> {
        Box::pin(async move {
            let open = context.open_steps();
            let several = context.rendered.len() > 1;
            let parts: Vec<String> = context
                .rendered
                .iter()
                .map(|it| render_step_text(it, several))
                .collect();
            context.reply.said = parts.join("\n\n");
            let Some(run) = context.run.as_ref().map(|run| run.id.to_string()) else {
                add_notes(context);
                return Ok(StageOutcome::Next);
            };
            let nodes: Vec<&PlannedStep> = open.iter().collect();
            let footer = match context.state.undecided_condition(&nodes) {
                Some(question) => {
                    context.reply.status = Some("question".to_owned());
                    let text = context.plan.questions.get(question);
                    let number = open.first().map_or(1, |node| node.number);
                    condition_prompt(text.map_or("", |it| it.text.as_str()), &run, number)
                }
                None => render_footer(context, &open, &run),
            };
            if !footer.is_empty() {
                if !context.reply.said.is_empty() {
                    context.reply.said.push_str("\n\n");
                }
                context.reply.said.push_str(&footer);
            }
            context.reply.steps = open.iter().map(|node| node.number).collect();
            context.reply.total_steps = Some(context.plan.len());
            context.reply.gates = applied_gates(&open);
            context.reply.chain_id = Some(run);
            add_notes(context);
            Ok(StageOutcome::Next)
        })
    }
}

/// Appends the notes to the text, because not every client shows the other fields.
pub(crate) fn add_notes(context: &mut EngineContext<'_>) {
    let notes = context.reply.notes.iter();
    let told: Vec<String> = notes.map(|note| format!("\n\n(Note: {note})")).collect();
    context.reply.said.push_str(&told.concat());
}

fn render_step_text(step: &RenderedStep, several: bool) -> String {
    let title = if several {
        format!("## Step {}: {}", step.number, step.name)
    } else {
        String::new()
    };
    let parts = if step.review {
        [
            &title,
            &step.delegation_note,
            &step.guidance,
            &step.system,
            &step.user,
        ]
    } else {
        [
            &title,
            &step.delegation_note,
            &step.system,
            &step.user,
            &step.guidance,
        ]
    };
    let said: Vec<&str> = parts
        .iter()
        .map(|part| part.as_str())
        .filter(|part| !part.trim().is_empty())
        .collect();
    // A single part is returned byte for byte.
    match said.as_slice() {
        [only] => (*only).to_owned(),
        several => several
            .iter()
            .map(|it| it.trim_end())
            .collect::<Vec<_>>()
            .join("\n\n"),
    }
}

fn condition_prompt(question: &str, run: &str, step: u32) -> String {
    format!(
        "Decide, from the work so far: {question}\n\nNext: send chain_id=\"{run}\", step={step}, \
         gate_verdict=\"PASS - why\" for yes or \"FAIL - why\" for no."
    )
}

/// Renders the instructions for the next call.
fn render_footer(context: &mut EngineContext<'_>, open: &[PlannedStep], run: &str) -> String {
    let held = context.rendered.iter().any(|it| it.review);
    context.reply.status = Some(if held { "review" } else { "step" }.to_owned());
    context.reply.review = open
        .iter()
        .filter_map(|node| context.state.step(node.number))
        .filter(|step| step.is_held())
        .filter_map(|step| step.review.as_ref())
        .flat_map(|answer_review| answer_review.results.clone())
        .collect();
    let fresh: Vec<&RenderedStep> = context.rendered.iter().filter(|it| !it.review).collect();
    let total = context.plan.len();
    match fresh.as_slice() {
        [] => String::new(),
        [only] => {
            let wants = open
                .iter()
                .any(|node| node.number == only.number && needs_judgment(context, node));
            let call = if wants {
                json!({
                    "chain_id": run,
                    "step": only.number,
                    "user_response": "…",
                    "gate_verdict": "PASS - why",
                })
            } else {
                json!({ "chain_id": run, "step": only.number, "user_response": "…" })
            };
            let (number, name) = (only.number, &only.name);
            format!(
                "---\nStep {number} of {total} ({name}). When it is done, call prompt_engine with {call}"
            )
        }
        several => {
            let numbers: Vec<String> = several.iter().map(|it| it.number.to_string()).collect();
            let list = numbers.join(", ");
            let first = several.first().map_or(1, |it| it.number);
            let call = json!({ "chain_id": run, "step": first, "user_response": "…" });
            let wants = open.iter().any(|node| needs_judgment(context, node));
            let verdict = if wants {
                " Add gate_verdict \"PASS - why\" where criteria need a judgment."
            } else {
                ""
            };
            format!(
                "---\nSteps {list} of {total} can be done in parallel, in any order. When one is \
                 done, call prompt_engine with its number: {call}; or send all at once, with \
                 user_response as a JSON object that has an answer for each step number.{verdict}"
            )
        }
    }
}

/// Returns whether the client must judge the answer to a step.
fn needs_judgment(context: &EngineContext<'_>, node: &PlannedStep) -> bool {
    use crate::model::{CriterionKind, EvaluationMode};
    if context.engine.options.judge == crate::GateJudgeKind::Model {
        return false;
    }
    node.gates.iter().any(|gate| {
        let own = gate.gate.evaluation.as_ref();
        let by_judge = own.is_some_and(|it| it.mode == EvaluationMode::Judge);
        !by_judge
            && gate
                .gate
                .criteria
                .iter()
                .any(|it| matches!(it.kind, CriterionKind::LlmSelfCheck { .. }))
    })
}

fn applied_gates(open: &[PlannedStep]) -> Vec<AppliedGate> {
    let mut told: Vec<AppliedGate> = Vec::new();
    for selected_gate in open.iter().flat_map(|node| &node.gates) {
        let gate = AppliedGate {
            id: selected_gate.gate.id.clone(),
            from: selected_gate.source,
        };
        if !told.contains(&gate) {
            told.push(gate);
        }
    }
    told
}
