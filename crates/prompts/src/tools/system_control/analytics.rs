//! `analytics`: how much is used, counted from the records of calls, so that it is true after a
//! restart and for every process.

use std::collections::BTreeMap;

use deliberate_core::{Change, Invocation, cut_to_chars};
use deliberate_language::{Limits, StageKind, parse};
use deliberate_store::Page;
use deliberate_toolkit::ToolError;
use serde_json::{Value, json};

use super::{
    Desk, Done, Operation,
    done::{Lines, count},
    session,
};
use crate::{
    chain::Happened,
    engine::KEYS,
    gate::{GateResult, Outcome},
};

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "view",
        takes: &["include_history", "limit"],
        run: |desk| Box::pin(view(desk)),
    },
    Operation {
        name: "history",
        takes: &["limit"],
        run: |desk| Box::pin(history(desk)),
    },
    Operation {
        name: "reset",
        takes: &["confirm", "include_history"],
        run: |desk| Box::pin(async { reset(desk) }),
    },
    Operation {
        name: "trace",
        takes: &["limit"],
        run: |desk| Box::pin(async { Ok(trace(desk)) }),
    },
];

/// The tool whose calls are looked into.
const TOOL: &str = "prompt_engine";

/// Calls that are looked into.
const CALLS: u32 = 1_000;

/// Runs that are looked into.
const RUNS: u32 = 20;

/// How a prompt or a gate fared.
#[derive(Default)]
struct Tally {
    well: usize,
    badly: usize,
    open: usize,
}

async fn view(desk: &Desk<'_>) -> Result<Done, ToolError> {
    desk.call.recorded().await;
    let (store, since) = (desk.call.store(), desk.settings.counted_since);
    let usage = store.usage(since).await?;
    let calls = store
        .invocations_of(TOOL, since, Page::first(CALLS))
        .await?;
    let prompts = by_prompt(desk, &calls);
    let gates = by_gate(desk).await?;
    let mut lines = Lines::default();
    if let Some(since) = since {
        lines.add(format!("Counted since {since}."));
    }
    if usage.is_empty() {
        lines.add("No calls yet.");
    }
    let tools: Vec<Value> = usage
        .iter()
        .map(|it| {
            let mean = it.total_ms.checked_div(it.calls).unwrap_or(0);
            lines.add(format!(
                "{}: {} calls, {} failed, {mean} ms on average, {} ms at most",
                it.tool, it.calls, it.failed, it.most_ms
            ));
            json!({
                "tool": it.tool, "calls": it.calls, "failed": it.failed,
                "mean_ms": mean, "most_ms": it.most_ms,
            })
        })
        .collect();
    let shown = desk.limit(20, 1_000);
    let total: usize = prompts.iter().map(|(_, it)| it.well + it.badly).sum();
    lines.add(format!("prompts used: {total} times"));
    for (id, it) in prompts.iter().take(shown) {
        let failed = if it.badly > 0 {
            format!(", {} failed", it.badly)
        } else {
            String::new()
        };
        lines.add(format!("- {id}: {}{failed}", it.well + it.badly));
    }
    if !gates.is_empty() {
        lines.add(format!(
            "gates in the last {}:",
            count(RUNS as usize, "run")
        ));
    }
    for (id, it) in gates.iter().take(shown) {
        lines.add(format!(
            "- {id}: {} passed, {} failed, {} open",
            it.well, it.badly, it.open
        ));
    }
    let mut last: Vec<Value> = Vec::new();
    if desk.input.include_history == Some(true) {
        let calls = calls.iter().take(shown);
        last.extend(calls.map(|it| told(it, &mut lines)));
    }
    let fields = json!({
        "since": since,
        "tools": tools,
        "executions": total,
        "prompts": prompts.iter().map(|(id, it)| json!({
            "prompt": id, "executions": it.well + it.badly, "failed": it.badly,
        })).collect::<Vec<_>>(),
        "history": last,
        "gates": gates.iter().map(|(id, it)| json!({
            "gate": id, "passed": it.well, "failed": it.badly, "open": it.open,
        })).collect::<Vec<_>>(),
    });
    Ok(Done::new(lines.end(), fields))
}

/// How often each prompt was used, the most used first.
fn by_prompt(desk: &Desk<'_>, calls: &[Invocation]) -> Vec<(String, Tally)> {
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for call in calls {
        let Some(command) = call.input.get("command").and_then(Value::as_str) else {
            continue;
        };
        for name in names_in(command) {
            // A name that there is not was a slip, or its prompt is gone.
            let id = match desk.library.prompt(&name) {
                Some(prompt) => prompt.id.clone(),
                None if call.success => name,
                None => continue,
            };
            let tally = tallies.entry(id).or_default();
            if call.success {
                tally.well += 1;
            } else {
                tally.badly += 1;
            }
        }
    }
    most_first(tallies)
}

/// The prompts that a command names. Words such as `list` name none.
fn names_in(command: &str) -> Vec<String> {
    if !command.contains(">>") && !command.trim_start().starts_with('/') {
        return Vec::new();
    }
    let parsed = parse(command, &Limits::default());
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

/// What gates found in the last runs.
async fn by_gate(desk: &Desk<'_>) -> Result<Vec<(String, Tally)>, ToolError> {
    let store = desk.call.store();
    let filter = session::theirs(desk, None);
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    for run in store.runs(&filter, Page::first(RUNS)).await? {
        if desk
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
            .filter_map(Happened::of_event)
            .flat_map(reviewed)
        {
            let tally = tallies.entry(result.gate).or_default();
            match result.outcome {
                Outcome::Pass => tally.well += 1,
                Outcome::Fail => tally.badly += 1,
                Outcome::CannotTell => tally.open += 1,
            }
        }
    }
    Ok(most_first(tallies))
}

fn reviewed(event: Happened) -> Vec<GateResult> {
    match event {
        Happened::Answered {
            review: Some(held), ..
        }
        | Happened::Judged { review: held, .. } => held.results,
        _ => Vec::new(),
    }
}

fn most_first(tallies: BTreeMap<String, Tally>) -> Vec<(String, Tally)> {
    let mut sorted: Vec<(String, Tally)> = tallies.into_iter().collect();
    sorted.sort_by_key(|(_, it)| std::cmp::Reverse(it.well + it.badly + it.open));
    sorted
}

async fn history(desk: &Desk<'_>) -> Result<Done, ToolError> {
    let limit = u32::try_from(desk.limit(20, 200)).unwrap_or(200);
    desk.call.recorded().await;
    let since = desk.settings.counted_since;
    let calls = desk
        .call
        .store()
        .invocations_of(TOOL, since, Page::first(limit))
        .await?;
    let mut lines = Lines::default();
    if calls.is_empty() {
        lines.add("No calls yet.");
    }
    let entries: Vec<Value> = calls.iter().map(|it| told(it, &mut lines)).collect();
    Ok(Done::new(lines.end(), json!({ "history": entries })))
}

/// A call, in a line and as fields.
fn told(call: &Invocation, lines: &mut Lines) -> Value {
    let given = |name: &str| call.input.get(name).and_then(Value::as_str);
    let asked = given("command")
        .or_else(|| given("chain_id"))
        .unwrap_or_default();
    let asked = cut_to_chars(asked, 120).replace(['\n', '\r'], " ");
    let ended = call.error_code.as_deref().unwrap_or("ok");
    let took = call.latency_ms.unwrap_or(0);
    lines.add(format!("{} {ended} {took} ms: {asked}", call.created_at));
    json!({
        "at": call.created_at, "asked": asked, "success": call.success,
        "error": call.error_code, "ms": took,
    })
}

fn reset(desk: &Desk<'_>) -> Result<Done, ToolError> {
    desk.confirmed("counting would begin anew, and earlier calls would no longer be shown")?;
    let now = desk.call.now();
    let change = Change::SetState {
        key: KEYS.counted_since.to_owned(),
        value: serde_json::to_value(now).ok(),
        at: now,
    };
    let said = format!("Counted from {now} on. The records of earlier calls stay in the store.");
    Ok(Done::new(said, json!({ "since": now })).keeping(change))
}

fn trace(desk: &Desk<'_>) -> Done {
    let traces = desk.engine.traces.last(desk.limit(5, 50));
    let mut lines = Lines::default();
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
    Done::new(lines.end(), json!({ "traces": traces }))
}
