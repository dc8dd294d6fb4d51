//! Checks answers to generated tasks: reads lines `{"id", "text"}` from stdin and prints lines
//! `{"id", "ok", "extracted"}`.

use std::{
    collections::HashMap,
    io::{BufRead as _, Write as _},
};

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct AnswerLine {
    id: String,
    text: String,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let (seed, per_family) = arguments()?;
    let tasks = deliberate_bench::generate(seed, per_family);
    let tasks: HashMap<&str, _> = tasks.iter().map(|task| (task.id.as_str(), task)).collect();
    for line in std::io::stdin().lock().lines() {
        let AnswerLine { id, text } = serde_json::from_str(&line?)?;
        let task = tasks
            .get(id.as_str())
            .with_context(|| format!("no task {id}"))?;
        let verdict = deliberate_bench::verify(task, &text).await?;
        let line = json!({ "id": id, "ok": verdict.right, "extracted": verdict.extracted });
        writeln!(std::io::stdout(), "{line}")?;
    }
    Ok(())
}

fn arguments() -> anyhow::Result<(u64, usize)> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok((1, 10)),
        ["--seed", seed, "--per-family", number] => Ok((seed.parse()?, number.parse()?)),
        _ => anyhow::bail!("usage: verify [--seed N --per-family N]"),
    }
}
