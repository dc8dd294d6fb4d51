//! Ends a run with a summary of each step's result.

use deliberate_core::truncate_chars;
use deliberate_toolkit::ToolError;
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::{
    chain::{PlannedStep, select_output},
    engine::{EngineContext, StageOutcome, stages::EngineStage},
    gate::GateResult,
};

/// The most characters of a result in the summary.
const SUMMARY_CHARS: usize = 300;

/// The most characters of a result in the structured reply.
const RESULT_CHARS: usize = 4_000;

pub(crate) struct SummarizeRun;

impl EngineStage for SummarizeRun {
    fn name(&self) -> &'static str {
        "finish"
    }

    fn run<'a>(
        &'a self,
        context: &'a mut EngineContext<'_>,
    ) -> BoxFuture<'a, Result<StageOutcome, ToolError>> {
        Box::pin(async move {
            let Some(run) = &context.run else {
                return Ok(StageOutcome::Next);
            };
            if !context.state.is_finished() {
                return Ok(StageOutcome::Next);
            }
            let id = run.id.to_string();
            let aborted = context.state.aborted;
            context.reply.status = Some(if aborted { "aborted" } else { "done" }.to_owned());
            context.reply.total_steps = Some(context.plan.len());
            let own = context.uses_server_model() && !aborted;
            context.reply.answer = own.then(|| last_result(context)).flatten();
            context.reply.said = render_summary(context, &id, aborted);
            context.reply.results = results_by_name(context);
            context.reply.review = last_review(context);
            context.reply.chain_id = Some(id);
            crate::engine::stages::reply::add_notes(context);
            Ok(StageOutcome::Done)
        })
    }
}

fn render_summary(context: &EngineContext<'_>, id: &str, aborted: bool) -> String {
    let how = if aborted { "was aborted" } else { "is done" };
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
            .map(|review| summarize_gates(&review.results));
        let gates = gates.map(|it| format!(" ({it})")).unwrap_or_default();
        let status = match step.status() {
            "open" => "not done",
            status => status,
        };
        let (number, name) = (node.number, &node.name);
        lines.push(format!("{number}. {name}: {status}{gates}"));
        if let Some(result) = step.text() {
            let first = truncate_chars(result.trim(), SUMMARY_CHARS).replace('\n', "\n   ");
            lines.push(format!("   {first}"));
        }
    }
    // A caller that let the server answer has not seen the last answer.
    if let Some(last) = &context.reply.answer {
        lines.push(format!("\n---\n{last}"));
    }
    lines.join("\n")
}

fn summarize_gates(results: &[GateResult]) -> String {
    let told: Vec<String> = results
        .iter()
        .map(|gate| {
            format!(
                "{} {} from {}",
                gate.outcome.symbol(),
                gate.gate,
                gate.source.label()
            )
        })
        .collect();
    told.join(", ")
}

fn last_result(context: &EngineContext<'_>) -> Option<String> {
    let numbers = context
        .plan
        .nodes
        .iter()
        .rev()
        .map(|node: &PlannedStep| node.number);
    numbers
        .filter_map(|number| context.state.step(number))
        .find_map(crate::chain::StepProgress::text)
}

fn last_review(context: &EngineContext<'_>) -> Vec<GateResult> {
    let review = context
        .state
        .steps
        .iter()
        .rev()
        .find_map(|step| step.review.as_ref());
    review
        .map(|review| review.results.clone())
        .unwrap_or_default()
}

/// Returns the results by their output names, else by step name. A repeated name gets the step
/// number.
fn results_by_name(context: &EngineContext<'_>) -> Map<String, Value> {
    let mut results = Map::new();
    for node in &context.plan.nodes {
        let step = context.state.step(node.number);
        let Some(text) = step.and_then(crate::chain::StepProgress::text) else {
            continue;
        };
        let whole = step
            .and_then(crate::chain::StepProgress::value)
            .unwrap_or_default();
        let mut named: Vec<(&String, Value)> = node
            .output
            .iter()
            .map(|(name, path)| (name, select_output(path, &text, &whole)))
            .collect();
        if named.is_empty() {
            named.push((&node.name, Value::String(text)));
        }
        for (name, value) in named {
            let text = match value {
                Value::String(text) => text,
                other => other.to_string(),
            };
            let text = Value::String(truncate_chars(&text, RESULT_CHARS));
            if results.contains_key(name) {
                results.insert(format!("{name} #{}", node.number), text);
            } else {
                results.insert(name.clone(), text);
            }
        }
    }
    results
}
