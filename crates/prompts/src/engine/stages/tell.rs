//! Puts the answer together: what was rendered, then how to go on. A plain prompt is its text and
//! nothing else.

use deliberate_toolkit::ToolError;
use futures::future::BoxFuture;
use serde_json::json;

use super::Stage;
use crate::{
    chain::Node,
    engine::{Context, Flow, GateTold, context::Shown},
};

pub(super) struct Tell;

impl Stage for Tell {
    fn name(&self) -> &'static str {
        "tell"
    }

    fn run<'a>(&'a self, context: &'a mut Context<'_>) -> BoxFuture<'a, Result<Flow, ToolError>> {
        Box::pin(async move {
            let open = context.open_steps();
            let several = context.shown.len() > 1;
            let parts: Vec<String> = context.shown.iter().map(|it| text(it, several)).collect();
            context.reply.said = parts.join("\n\n");
            let Some(run) = context.run.as_ref().map(|run| run.id.to_string()) else {
                add_notes(context);
                return Ok(Flow::Next);
            };
            let nodes: Vec<&Node> = open.iter().collect();
            let footer = match context.state.undecided(&nodes) {
                Some(question) => {
                    context.reply.status = Some("question".to_owned());
                    let text = context.plan.questions.get(question);
                    let number = open.first().map_or(1, |node| node.number);
                    ask_question(text.map_or("", |it| it.text.as_str()), &run, number)
                }
                None => footer(context, &open, &run),
            };
            if !footer.is_empty() {
                if !context.reply.said.is_empty() {
                    context.reply.said.push_str("\n\n");
                }
                context.reply.said.push_str(&footer);
            }
            context.reply.steps = open.iter().map(|node| node.number).collect();
            context.reply.total_steps = Some(context.plan.len());
            context.reply.gates = gates(&open);
            context.reply.chain_id = Some(run);
            add_notes(context);
            Ok(Flow::Next)
        })
    }
}

/// What the caller should know stands at the end of the text, too: not every client shows more.
pub(super) fn add_notes(context: &mut Context<'_>) {
    let notes = context.reply.notes.iter();
    let told: Vec<String> = notes.map(|note| format!("\n\n(Note: {note})")).collect();
    context.reply.said.push_str(&told.concat());
}

fn text(shown: &Shown, several: bool) -> String {
    let title = if several {
        format!("## Step {}: {}", shown.number, shown.name)
    } else {
        String::new()
    };
    let parts = if shown.review {
        [
            &title,
            &shown.hand_off,
            &shown.guidance,
            &shown.system,
            &shown.user,
        ]
    } else {
        [
            &title,
            &shown.hand_off,
            &shown.system,
            &shown.user,
            &shown.guidance,
        ]
    };
    let said: Vec<&str> = parts
        .iter()
        .map(|part| part.as_str())
        .filter(|part| !part.trim().is_empty())
        .collect();
    // A prompt alone is given byte for byte.
    match said.as_slice() {
        [only] => (*only).to_owned(),
        several => several
            .iter()
            .map(|it| it.trim_end())
            .collect::<Vec<_>>()
            .join("\n\n"),
    }
}

fn ask_question(question: &str, run: &str, step: u32) -> String {
    format!(
        "Decide, from the work so far: {question}\n\nNext: send chain_id=\"{run}\", step={step}, \
         gate_verdict=\"PASS - why\" for yes or \"FAIL - why\" for no."
    )
}

/// How to go on.
fn footer(context: &mut Context<'_>, open: &[Node], run: &str) -> String {
    let held = context.shown.iter().any(|it| it.review);
    context.reply.status = Some(if held { "review" } else { "step" }.to_owned());
    context.reply.review = open
        .iter()
        .filter_map(|node| context.state.step(node.number))
        .filter(|step| step.is_held())
        .filter_map(|step| step.review.as_ref())
        .flat_map(|held| held.results.clone())
        .collect();
    let fresh: Vec<&Shown> = context.shown.iter().filter(|it| !it.review).collect();
    let total = context.plan.len();
    match fresh.as_slice() {
        [] => String::new(),
        [only] => {
            let wants = open
                .iter()
                .any(|node| node.number == only.number && judges(context, node));
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
            let wants = open.iter().any(|node| judges(context, node));
            let verdict = if wants {
                " Add gate_verdict \"PASS - why\" where criteria are to be judged."
            } else {
                ""
            };
            format!(
                "---\nSteps {list} of {total} can be done side by side, in any order. When one is \
                 done, call prompt_engine with its number: {call}; or send all at once, \
                 user_response being a JSON object with an answer for each step number.{verdict}"
            )
        }
    }
}

/// Whether somebody must judge the answer to a step.
fn judges(context: &Context<'_>, node: &Node) -> bool {
    use crate::model::{CriterionKind, EvaluationMode};
    if context.engine.options.judge == crate::Judge::Model {
        return false;
    }
    node.gates.iter().any(|chosen| {
        let own = chosen.gate.evaluation.as_ref();
        let by_judge = own.is_some_and(|it| it.mode == EvaluationMode::Judge);
        !by_judge
            && chosen
                .gate
                .criteria
                .iter()
                .any(|it| matches!(it.kind, CriterionKind::LlmSelfCheck { .. }))
    })
}

fn gates(open: &[Node]) -> Vec<GateTold> {
    let mut told: Vec<GateTold> = Vec::new();
    for chosen in open.iter().flat_map(|node| &node.gates) {
        let gate = GateTold {
            id: chosen.gate.id.clone(),
            from: chosen.source,
        };
        if !told.contains(&gate) {
            told.push(gate);
        }
    }
    told
}
