//! Prints generated tasks, one JSON object a line: id, family, prompt, answer.

use std::io::Write as _;

use serde_json::json;

fn main() -> anyhow::Result<()> {
    let (seed, per_family) = arguments()?;
    let mut out = std::io::stdout().lock();
    for task in deliberate_bench::generate(seed, per_family) {
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

fn arguments() -> anyhow::Result<(u64, usize)> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Ok((1, 10)),
        ["--seed", seed, "--per-family", number] => Ok((seed.parse()?, number.parse()?)),
        _ => anyhow::bail!("usage: tasks [--seed N --per-family N]"),
    }
}
