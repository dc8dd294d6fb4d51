//! The `analytics` action: usage, counted from the invocation log, so that it is correct after a
//! restart and for every process.

use std::collections::BTreeMap;

use deliberate_command_language::{CommandLimits, StageKind, parse};
use deliberate_core::{Change, Invocation, truncate_chars};
use deliberate_store::{Pagination, UsageGroup, UsageQuery};
use deliberate_toolkit::ToolError;
use serde_json::{Value, json};

use super::{
    ControlContext, ControlOperation, OperationResult,
    operation_result::{TextLines, pluralize},
    session,
};
use crate::{
    chain::ChainRunEvent,
    engine::SETTING_KEYS,
    gate::{CheckOutcome, GateResult},
};

pub(super) const OPERATIONS: &[ControlOperation] = &[
    ControlOperation {
        name: "view",
        accepted_fields: &["include_history", "limit"],
        run: |desk| Box::pin(view(desk)),
    },
    ControlOperation {
        name: "history",
        accepted_fields: &["limit"],
        run: |desk| Box::pin(history(desk)),
    },
    ControlOperation {
        name: "reset",
        accepted_fields: &["confirm", "include_history"],
        run: |desk| Box::pin(async { reset(desk) }),
    },
    ControlOperation {
        name: "trace",
        accepted_fields: &["limit"],
        run: |desk| Box::pin(async { Ok(trace(desk)) }),
    },
];

/// The tool whose calls are analyzed.
const ENGINE_TOOL: &str = "prompt_engine";

/// The most calls that are analyzed.
const MAX_CALLS: u32 = 1_000;

/// The most runs that are analyzed.
const MAX_RUNS: u32 = 20;

/// The outcomes of a prompt or a gate.
#[derive(Default)]
struct OutcomeTally {
    passed: usize,
    failed: usize,
    open: usize,
}

async fn view(context: &ControlContext<'_>) -> Result<OperationResult, ToolError> {
    context.call.flush_log().await;
    let (store, since) = (context.call.store(), context.settings.counted_since);
    let query = UsageQuery {
        since,
        ..UsageQuery::new(UsageGroup::Tool)
    };
    let usage = store.usage(&query).await?.rows;
    let calls = store
        .tool_invocations(ENGINE_TOOL, since, Pagination::limit(MAX_CALLS))
        .await?;
    let prompts = tally_by_prompt(context, &calls);
    let gates = tally_by_gate(context).await?;
    let mut lines = TextLines::default();
    if let Some(since) = since {
        lines.add(format!("Counted since {since}."));
    }
    if usage.is_empty() {
        lines.add("No calls yet.");
    }
    let tools: Vec<Value> = usage
        .iter()
        .map(|row| {
            let (tool, it) = (row.key.as_deref().unwrap_or_default(), &row.figures);
            let mean = it.total_ms.checked_div(it.calls).unwrap_or(0);
            lines.add(format!(
                "{tool}: {} calls, {} failed, {mean} ms on average, {} ms at most",
                it.calls, it.failed, it.max_ms
            ));
            json!({
                "tool": tool, "calls": it.calls, "failed": it.failed,
                "mean_ms": mean, "most_ms": it.max_ms,
            })
        })
        .collect();
    let shown = context.limit(20, 1_000);
    let total: usize = prompts.iter().map(|(_, it)| it.passed + it.failed).sum();
    lines.add(format!("prompts used: {total} times"));
    for (id, it) in prompts.iter().take(shown) {
        let failed = if it.failed > 0 {
            format!(", {} failed", it.failed)
        } else {
            String::new()
        };
        lines.add(format!("- {id}: {}{failed}", it.passed + it.failed));
    }
    if !gates.is_empty() {
        lines.add(format!(
            "gates in the last {}:",
            pluralize(MAX_RUNS as usize, "run")
        ));
    }
    for (id, it) in gates.iter().take(shown) {
        lines.add(format!(
            "- {id}: {} passed, {} failed, {} open",
            it.passed, it.failed, it.open
        ));
    }
    let mut last: Vec<Value> = Vec::new();
    if context.input.include_history == Some(true) {
        let calls = calls.iter().take(shown);
        last.extend(calls.map(|it| render_call(it, &mut lines)));
    }
    let fields = json!({
        "since": since,
        "tools": tools,
        "executions": total,
        "prompts": prompts.iter().map(|(id, it)| json!({
            "prompt": id, "executions": it.passed + it.failed, "failed": it.failed,
        })).collect::<Vec<_>>(),
        "history": last,
        "gates": gates.iter().map(|(id, it)| json!({
            "gate": id, "passed": it.passed, "failed": it.failed, "open": it.open,
        })).collect::<Vec<_>>(),
    });
    Ok(OperationResult::new(lines.into_text(), fields))
}

/// Counts the uses of each prompt, the most used first.
fn tally_by_prompt(
    context: &ControlContext<'_>,
    calls: &[Invocation],
) -> Vec<(String, OutcomeTally)> {
    let mut tallies: BTreeMap<String, OutcomeTally> = BTreeMap::new();
    for call in calls {
        let Some(command) = call.input.get("command").and_then(Value::as_str) else {
            continue;
        };
        for name in prompt_ids_in(command) {
            // An unknown name is a typing error, or its prompt was deleted.
            let id = match context.library.prompt(&name) {
                Some(prompt) => prompt.id.clone(),
                None if call.success => name,
                None => continue,
            };
            let tally = tallies.entry(id).or_default();
            if call.success {
                tally.passed += 1;
            } else {
                tally.failed += 1;
            }
        }
    }
    sort_by_count(tallies)
}

/// Returns the prompts that a command names. Built-in commands such as `list` name none.
fn prompt_ids_in(command: &str) -> Vec<String> {
    if !command.contains(">>") && !command.trim_start().starts_with('/') {
        return Vec::new();
    }
    let parsed = parse(command, &CommandLimits::default());
    let steps = parsed
        .command
        .stages
        .into_iter()
        .flat_map(|stage| match stage.kind {
            StageKind::Group(steps) => steps,
            StageKind::Conditional {
                mut then,
                otherwise,
                ..
            } => {
                then.extend(otherwise);
                then
            }
        });
    steps.map(|step| step.id.value).collect()
}

/// Counts the gate results of the last runs.
async fn tally_by_gate(
    context: &ControlContext<'_>,
) -> Result<Vec<(String, OutcomeTally)>, ToolError> {
    let store = context.call.store();
    let filter = session::visible_runs(context, None);
    let mut tallies: BTreeMap<String, OutcomeTally> = BTreeMap::new();
    for run in store.runs(&filter, Pagination::limit(MAX_RUNS)).await? {
        if context
            .settings
            .counted_since
            .is_some_and(|since| run.updated_at < since)
        {
            continue;
        }
        let Some((_, events)) = store.run_with_events(&run.id).await? else {
            continue;
        };
        for result in events
            .into_iter()
            .filter_map(ChainRunEvent::from_row)
            .flat_map(gate_results)
        {
            let tally = tallies.entry(result.gate).or_default();
            match result.outcome {
                CheckOutcome::Pass => tally.passed += 1,
                CheckOutcome::Fail => tally.failed += 1,
                CheckOutcome::CannotTell => tally.open += 1,
            }
        }
    }
    Ok(sort_by_count(tallies))
}

fn gate_results(event: ChainRunEvent) -> Vec<GateResult> {
    match event {
        ChainRunEvent::Answered {
            review: Some(answer_review),
            ..
        }
        | ChainRunEvent::Judged {
            review: answer_review,
            ..
        } => answer_review.results,
        _ => Vec::new(),
    }
}

fn sort_by_count(tallies: BTreeMap<String, OutcomeTally>) -> Vec<(String, OutcomeTally)> {
    let mut sorted: Vec<(String, OutcomeTally)> = tallies.into_iter().collect();
    sorted.sort_by_key(|(_, it)| std::cmp::Reverse(it.passed + it.failed + it.open));
    sorted
}

async fn history(context: &ControlContext<'_>) -> Result<OperationResult, ToolError> {
    let limit = u32::try_from(context.limit(20, 200)).unwrap_or(200);
    context.call.flush_log().await;
    let since = context.settings.counted_since;
    let calls = context
        .call
        .store()
        .tool_invocations(ENGINE_TOOL, since, Pagination::limit(limit))
        .await?;
    let mut lines = TextLines::default();
    if calls.is_empty() {
        lines.add("No calls yet.");
    }
    let entries: Vec<Value> = calls.iter().map(|it| render_call(it, &mut lines)).collect();
    Ok(OperationResult::new(
        lines.into_text(),
        json!({ "history": entries }),
    ))
}

/// Renders a call as a line and as fields.
fn render_call(call: &Invocation, lines: &mut TextLines) -> Value {
    let given = |name: &str| call.input.get(name).and_then(Value::as_str);
    let asked = given("command")
        .or_else(|| given("chain_id"))
        .unwrap_or_default();
    let asked = truncate_chars(asked, 120).replace(['\n', '\r'], " ");
    let ended = call.error_code.as_deref().unwrap_or("ok");
    let took = call.latency_ms.unwrap_or(0);
    lines.add(format!("{} {ended} {took} ms: {asked}", call.created_at));
    json!({
        "at": call.created_at, "asked": asked, "success": call.success,
        "error": call.error_code, "ms": took,
    })
}

fn reset(context: &ControlContext<'_>) -> Result<OperationResult, ToolError> {
    context.require_confirmation(
        "the counts would be reset, and earlier calls would no longer be shown",
    )?;
    let now = context.call.now();
    let change = Change::SetState {
        key: SETTING_KEYS.counted_since.to_owned(),
        value: serde_json::to_value(now).ok(),
        at: now,
    };
    let text = format!("Counting starts at {now}. The log of earlier calls stays in the store.");
    Ok(OperationResult::new(text, json!({ "since": now })).with_change(change))
}

fn trace(context: &ControlContext<'_>) -> OperationResult {
    let traces = context.engine.traces.last(context.limit(5, 50));
    let mut lines = TextLines::default();
    if traces.is_empty() {
        lines.add("This process has had no calls yet.");
    }
    for trace in &traces {
        let total: u64 = trace.stages.iter().map(|it| it.micros).sum();
        let ended = trace.error.as_deref().unwrap_or("ok");
        let asked = trace.asked.replace(['\n', '\r'], " ");
        lines.add(format!("{} {ended} {total} µs: {asked}", trace.at));
        for stage in &trace.stages {
            lines.add(format!("  {} {} µs", stage.stage, stage.micros));
        }
    }
    OperationResult::new(lines.into_text(), json!({ "traces": traces }))
}
