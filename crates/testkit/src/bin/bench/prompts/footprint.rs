//! The footprint of the engine: its memory, and its share of the tool list that every client reads.

use anyhow::Context as _;
use deliberate_testkit::StdioClient;
use serde_json::{Value, json};

use super::{
    run_command,
    workspace::{BenchWorkspace, PROMPTS},
};
use crate::{
    report::{BenchReport, ReportRow},
    samples::display_mib,
    setup::BenchSetup,
};

const MAX_KIB: u64 = 40 * 1024;
const CALLS: usize = 1_000;

const TOOLS: [&str; 3] = ["prompt_engine", "resource_manager", "system_control"];
const MAX_TOKENS: usize = 1_200;

/// Tokens differ between models; about this many characters make one.
const TOKEN_CHARS: usize = 4;

pub(super) async fn measure(
    setup: &BenchSetup,
    full: &BenchWorkspace,
    report: &mut BenchReport,
) -> anyhow::Result<()> {
    let mut server = setup.server_in(setup.fastest(), full.path()).await?;
    memory(setup, &mut server, report).await?;
    tools(&mut server, report).await
}

async fn memory(
    setup: &BenchSetup,
    server: &mut StdioClient,
    report: &mut BenchReport,
) -> anyhow::Result<()> {
    let empty = BenchWorkspace::empty(setup)?;
    let mut other = setup.server_in(setup.fastest(), empty.path()).await?;
    all_prompts(&mut other).await?;
    let floor = other.resident_kib()?;
    let listed = all_prompts(server).await?;
    let start = server.resident_kib()?;
    let calls = setup.scaled(CALLS);
    for call in 0..calls {
        let id = BenchWorkspace::id(call % PROMPTS);
        run_command(server, &format!("%clean >>{id} topic:tea")).await?;
    }
    let end = server.resident_kib()?;
    report.add(ReportRow {
        label: format!("memory with {listed} prompts, after the list / after {calls} calls"),
        baseline: format!("{} (none on disk)", display_mib(floor)),
        server: format!("{} / {}", display_mib(start), display_mib(end)),
        result: format!(
            "{}, {} of it the program's file",
            display_mib(end),
            display_mib(file_backed_kib(server)?)
        ),
        bar: Some(("< 40 MB".to_owned(), end < MAX_KIB)),
    });
    Ok(())
}

/// Returns how much of a process's memory is file pages, nearly all of them the program itself.
fn file_backed_kib(client: &StdioClient) -> anyhow::Result<u64> {
    let pid = client.pid().context("the process has ended")?;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssFile:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.context("no RssFile")?.parse()?)
}

/// Reads all pages and counts the listed prompts.
async fn all_prompts(client: &mut StdioClient) -> anyhow::Result<usize> {
    let mut listed = 0;
    let mut params = json!({});
    loop {
        let answer = client.request("prompts/list", params).await?;
        let result = &answer["result"];
        anyhow::ensure!(result["prompts"].is_array(), "{answer}");
        listed += result["prompts"].as_array().map_or(0, Vec::len);
        let cursor = &result["nextCursor"];
        if cursor.is_null() {
            return Ok(listed);
        }
        params = json!({ "cursor": cursor });
    }
}

async fn tools(server: &mut StdioClient, report: &mut BenchReport) -> anyhow::Result<()> {
    let answer = server.request("tools/list", json!({})).await?;
    let tools = answer["result"]["tools"].as_array();
    let tools: &[Value] = tools.map_or(&[], Vec::as_slice);
    let tokens = |tool: &Value| tool.to_string().chars().count().div_ceil(TOKEN_CHARS);
    let named = |name: &str| tools.iter().find(|tool| tool["name"] == name);
    let shares: Vec<usize> = TOOLS
        .iter()
        .filter_map(|name| named(name).map(tokens))
        .collect();
    anyhow::ensure!(shares.len() == TOOLS.len(), "a tool is missing: {answer}");
    let whole: usize = tools.iter().map(tokens).sum();
    let share: usize = shares.iter().sum();
    let each: Vec<String> = shares.iter().map(usize::to_string).collect();
    report.add(ReportRow {
        label: format!(
            "tokens of {} in `tools/list`, at {TOKEN_CHARS} characters",
            TOOLS.join(", ")
        ),
        baseline: format!("{whole} (all tools)"),
        server: each.join(" / "),
        result: share.to_string(),
        bar: Some(("≤ 1,200".to_owned(), share <= MAX_TOKENS)),
    });
    Ok(())
}
