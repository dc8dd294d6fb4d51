//! The `session inspect` operation: one run, step by step and event by event.

use deliberate_core::{ChainEvent, truncate_chars};
use deliberate_toolkit::ToolError;
use serde_json::{Value, json};

use super::LoadedRun;
use crate::{
    chain::PlannedStep,
    tools::system_control::{ControlContext, OperationResult, operation_result::TextLines},
};

/// The most characters of a result.
const RESULT_CHARS: usize = 200;

pub(crate) async fn inspect_run(desk: &ControlContext<'_>) -> Result<OperationResult, ToolError> {
    let read = super::load_requested_run(desk).await?;
    let limit = desk.limit(100, 1_000);
    let run = &read.run;
    let mut lines = TextLines::default();
    lines.add(format!(
        "{} {}, step {} of {}, started {}, last changed {}",
        run.id,
        run.state.as_str(),
        run.at_step,
        run.steps,
        run.created_at,
        run.updated_at
    ));
    lines.add(format!("command: {}", truncate_chars(&run.command, 500)));
    let steps: Vec<Value> = read
        .plan
        .nodes
        .iter()
        .map(|node| render_step(&read, node, &mut lines))
        .collect();
    if !read.events.is_empty() {
        lines.add("events:");
    }
    let left_out = read.events.len().saturating_sub(limit);
    let events: Vec<Value> = read
        .events
        .iter()
        .skip(left_out)
        .map(|it| render_event(it, &mut lines))
        .collect();
    let fields = json!({
        "chain_id": run.id,
        "state": run.state,
        "step": run.at_step,
        "total_steps": run.steps,
        "command": run.command,
        "arguments": read.plan.arguments,
        "created_at": run.created_at,
        "updated_at": run.updated_at,
        "steps": steps,
        "events": events,
        "events_left_out": left_out,
    });
    Ok(OperationResult::new(lines.into_text(), fields))
}

fn render_step(read: &LoadedRun, node: &PlannedStep, lines: &mut TextLines) -> Value {
    let state = read.state.step(node.number).cloned().unwrap_or_default();
    let attempts = match state.attempts {
        0 | 1 => String::new(),
        several => format!(", {several} attempts"),
    };
    lines.add(format!(
        "{}. {}: {}{attempts}",
        node.number,
        node.name,
        state.status()
    ));
    let held = state.is_held();
    let review = state
        .review
        .as_ref()
        .map(|answer_review| json!(answer_review.results));
    let result = state.text().map(|text| truncate_chars(&text, RESULT_CHARS));
    if let Some(result) = &result {
        lines.add(format!("   {}", result.replace('\n', "\n   ")));
    }
    let gates: Vec<&str> = node.gates.iter().map(|it| it.gate.id.as_str()).collect();
    json!({
        "step": node.number,
        "name": node.name,
        "prompt": node.prompt(),
        "status": state.status(),
        "attempts": state.attempts,
        "gates": gates,
        "in_review": held,
        "review": review,
        "result": result,
    })
}

fn render_event(event: &ChainEvent, lines: &mut TextLines) -> Value {
    let step = event.step.map(|it| format!(" step {it}"));
    let step = step.unwrap_or_default();
    lines.add(format!(
        "- {} {}. {}{step}",
        event.created_at, event.seq, event.kind
    ));
    json!({
        "seq": event.seq,
        "kind": event.kind,
        "step": event.step,
        "at": event.created_at,
        "accepted": event.data.get("accepted"),
        "action": event.data.get("action"),
    })
}
