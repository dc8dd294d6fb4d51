//! Checks answers to generated tasks: reads lines `{"id", "text"}` from stdin and prints lines
//! `{"id", "ok", "extracted"}`.

use std::{
    collections::HashMap,
    io::{BufRead as _, Write as _},
};

use anyhow::Context as _;
use deliberate_bench::TaskLevel;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct AnswerLine {
    id: String,
    text: String,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let (seed, level, per_family) = arguments()?;
    let tasks = deliberate_bench::generate(seed, level, per_family);
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

fn arguments() -> anyhow::Result<(u64, TaskLevel, usize)> {
    let (mut seed, mut level, mut per_family) = (1, TaskLevel::default(), 10);
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        match (name.as_str(), arguments.next()) {
            ("--seed", Some(value)) => seed = value.parse()?,
            ("--level", Some(value)) => level = value.parse()?,
            ("--per-family", Some(value)) => per_family = value.parse()?,
            _ => anyhow::bail!("usage: verify [--seed N] [--level easy|hard] [--per-family N]"),
        }
    }
    Ok((seed, level, per_family))
}
