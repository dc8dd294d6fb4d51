//! Prints generated tasks, one JSON object a line: id, family, prompt, answer.

use std::io::Write as _;

use deliberate_bench::TaskLevel;
use serde_json::json;

fn main() -> anyhow::Result<()> {
    let (seed, level, per_family) = arguments()?;
    let mut out = std::io::stdout().lock();
    for task in deliberate_bench::generate(seed, level, per_family) {
        let line = json!({
            "id": task.id,
            "family": task.family,
            "prompt": task.prompt,
            "answer": task.expected.canonical(),
        });
        writeln!(out, "{line}")?;
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
            _ => anyhow::bail!("usage: tasks [--seed N] [--level easy|hard] [--per-family N]"),
        }
    }
    Ok((seed, level, per_family))
}
