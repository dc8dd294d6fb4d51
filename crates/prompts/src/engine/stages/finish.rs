//! The end of a run: what came of each step.

use deliberate_core::cut_to_chars;
use deliberate_toolkit::ToolError;
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use super::Stage;
use crate::{
    chain::{Node, output_part},
    engine::{Context, Flow},
    gate::GateResult,
};

/// How much of a result the summary shows.
const SHOWN_CHARS: usize = 300;

/// How much of a result is told to programs.
const RESULT_CHARS: usize = 4_000;

pub(super) struct Finish;

impl Stage for Finish {
    fn name(&self) -> &'static str {
        "finish"
    }

    fn run<'a>(&'a self, context: &'a mut Context<'_>) -> BoxFuture<'a, Result<Flow, ToolError>> {
        Box::pin(async move {
            let Some(run) = &context.run else {
                return Ok(Flow::Next);
            };
            if !context.state.is_over() {
                return Ok(Flow::Next);
            }
            let id = run.id.to_string();
            let aborted = context.state.aborted;
            context.reply.status = Some(if aborted { "aborted" } else { "done" }.to_owned());
            context.reply.total_steps = Some(context.plan.len());
            let own = context.runs_itself() && !aborted;
            context.reply.answer = own.then(|| last_result(context)).flatten();
            context.reply.said = summary(context, &id, aborted);
            context.reply.results = results(context);
            context.reply.review = last_review(context);
            context.reply.chain_id = Some(id);
            super::tell::add_notes(context);
            Ok(Flow::Answered)
        })
    }
}

fn summary(context: &Context<'_>, id: &str, aborted: bool) -> String {
    let how = if aborted { "was given up" } else { "is done" };
    let mut lines = vec![
        format!("{id} ({}) {how}.", context.plan.title),
        String::new(),
    ];
    for node in &context.plan.nodes {
        let Some(step) = context.state.step(node.number) else {
            continue;
        };
        let gates = step
            .review
            .as_ref()
            .map(|held| gates_in_short(&held.results));
        let gates = gates.map(|it| format!(" ({it})")).unwrap_or_default();
        let status = match step.status() {
            "open" => "not done",
            status => status,
        };
        let (number, name) = (node.number, &node.name);
        lines.push(format!("{number}. {name}: {status}{gates}"));
        if let Some(result) = step.text() {
            let first = cut_to_chars(result.trim(), SHOWN_CHARS).replace('\n', "\n   ");
            lines.push(format!("   {first}"));
        }
    }
    // Whoever let the server do it all has not seen the last answer.
    if let Some(last) = &context.reply.answer {
        lines.push(format!("\n---\n{last}"));
    }
    lines.join("\n")
}

fn gates_in_short(results: &[GateResult]) -> String {
    let told: Vec<String> = results
        .iter()
        .map(|gate| {
            format!(
                "{} {} from {}",
                gate.outcome.sign(),
                gate.gate,
                gate.source.label()
            )
        })
        .collect();
    told.join(", ")
}

fn last_result(context: &Context<'_>) -> Option<String> {
    let numbers = context
        .plan
        .nodes
        .iter()
        .rev()
        .map(|node: &Node| node.number);
    numbers
        .filter_map(|number| context.state.step(number))
        .find_map(crate::chain::StepState::text)
}

fn last_review(context: &Context<'_>) -> Vec<GateResult> {
    let held = context
        .state
        .steps
        .iter()
        .rev()
        .find_map(|step| step.review.as_ref());
    held.map(|held| held.results.clone()).unwrap_or_default()
}

/// The results by the names that the chain gave them, else by the names of their steps; of several
/// of one name, each after the first with its number.
fn results(context: &Context<'_>) -> Map<String, Value> {
    let mut results = Map::new();
    for node in &context.plan.nodes {
        let step = context.state.step(node.number);
        let Some(text) = step.and_then(crate::chain::StepState::text) else {
            continue;
        };
        let whole = step
            .and_then(crate::chain::StepState::value)
            .unwrap_or_default();
        let mut named: Vec<(&String, Value)> = node
            .output
            .iter()
            .map(|(name, path)| (name, output_part(path, &text, &whole)))
            .collect();
        if named.is_empty() {
            named.push((&node.name, Value::String(text)));
        }
        for (name, value) in named {
            let text = match value {
                Value::String(text) => text,
                other => other.to_string(),
            };
            let text = Value::String(cut_to_chars(&text, RESULT_CHARS));
            if results.contains_key(name) {
                results.insert(format!("{name} #{}", node.number), text);
            } else {
                results.insert(name.clone(), text);
            }
        }
    }
    results
}
