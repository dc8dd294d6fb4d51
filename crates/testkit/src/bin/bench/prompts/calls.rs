//! Measures sequential calls with a thousand prompts loaded. CPU time is judged; the waiting time
//! is shown too, but depends on other load.

use std::time::{Duration, Instant};

use deliberate_testkit::StdioClient;
use serde_json::{Value, json};

use super::{
    cpu::CpuCost,
    run_command,
    workspace::{BenchWorkspace, TINY},
};
use crate::{
    report::{BenchReport, ReportRow},
    samples::DisplayTime,
    setup::{BenchSetup, CONTENT, DatabaseLocation},
};

const MILLISECOND: Duration = Duration::from_millis(1);
const ROUNDS: usize = 10;
const WARM_UP: usize = 20;

/// A kind of call.
struct CallKind {
    label: &'static str,
    tool: &'static str,
    arguments: Value,
    max: Option<Duration>,
    cost: CpuCost,
}

pub(super) async fn measure(
    setup: &BenchSetup,
    full: &BenchWorkspace,
    report: &mut BenchReport,
) -> anyhow::Result<()> {
    check_plain_output(setup, full, report).await?;
    for place in setup.locations() {
        let mut echo = CpuCost::default();
        let mut floor = setup.baseline().await?;
        let mut server = setup.server_in(place, full.path()).await?;
        let mut kinds = kinds();
        for kind in &kinds {
            for _ in 0..WARM_UP {
                kind.call(&mut server).await?;
            }
        }
        // The subjects take turns, so that other load on the machine affects all alike.
        for _ in 0..ROUNDS {
            echo.begin(&floor)?;
            for _ in 0..setup.scaled(100) {
                let begun = Instant::now();
                floor.call("echo", json!({ "text": CONTENT })).await?;
                echo.add_call(begun);
            }
            echo.end(&floor)?;
            for kind in &mut kinds {
                kind.cost.begin(&server)?;
                for _ in 0..setup.scaled(100) {
                    let begun = Instant::now();
                    kind.call(&mut server).await?;
                    kind.cost.add_call(begun);
                }
                kind.cost.end(&server)?;
            }
        }
        for kind in kinds {
            report.add(kind.row(place, &echo));
        }
    }
    Ok(())
}

fn kinds() -> Vec<CallKind> {
    let engine = |what, command: &str, most| CallKind {
        label: what,
        tool: "prompt_engine",
        arguments: json!({ "command": command }),
        max: most,
        cost: CpuCost::default(),
    };
    vec![
        engine(
            "a `%clean` call",
            r#"%clean >>task_0500 topic:"the two caches""#,
            Some(MILLISECOND),
        ),
        engine(
            "a plain call",
            r#">>task_0501 topic:"the two caches""#,
            None,
        ),
        engine(
            "a call with `@ReACT #analytical … :: \"x\"`",
            r#"@ReACT #analytical >>task_0502 topic:"the two caches" :: "names a cost""#,
            None,
        ),
        engine(
            "starting a chain of 3",
            r#">>short topic:"the two caches""#,
            None,
        ),
        engine("an unknown name", ">>tsak_0500 tea", None),
        CallKind {
            label: "`resource_manager` `list`",
            tool: "resource_manager",
            arguments: json!({ "action": "list", "resource_type": "prompt" }),
            max: None,
            cost: CpuCost::default(),
        },
        CallKind {
            label: "`system_control` `status`",
            tool: "system_control",
            arguments: json!({ "action": "status" }),
            max: None,
            cost: CpuCost::default(),
        },
    ]
}

impl CallKind {
    /// Makes the call and checks only that there is an answer; tests check its content.
    async fn call(&self, server: &mut StdioClient) -> anyhow::Result<()> {
        let answer = server.call(self.tool, self.arguments.clone()).await?;
        let failed = answer["result"]["isError"] == true;
        let expected = self.label == "an unknown name";
        anyhow::ensure!(
            answer["result"].is_object() && failed == expected,
            "{}: {answer}",
            self.label
        );
        Ok(())
    }

    fn row(self, location: DatabaseLocation, echo: &CpuCost) -> ReportRow {
        let each = self.cost.per_call();
        let (what, calls) = (self.label, self.cost.calls());
        ReportRow {
            label: format!("{what}, {location:?}, CPU; wait p50 / p99 of {calls}"),
            baseline: format!("{echo} (echo)"),
            server: self.cost.to_string(),
            result: format!("{} of CPU", DisplayTime(each)),
            bar: self.max.map(|most| ("< 1 ms".to_owned(), each < most)),
        }
    }
}

/// Checks that the answer of a plain prompt is the prompt.
async fn check_plain_output(
    setup: &BenchSetup,
    full: &BenchWorkspace,
    report: &mut BenchReport,
) -> anyhow::Result<()> {
    let mut server = setup.server_in(setup.fastest(), full.path()).await?;
    let answer = run_command(&mut server, ">>tiny").await?;
    let said = answer["said"].as_str().unwrap_or_default();
    let added = said.chars().count().saturating_sub(TINY.chars().count());
    report.add(ReportRow {
        label: format!("characters in the answer of a prompt of {}", TINY.len()),
        baseline: TINY.len().to_string(),
        server: said.chars().count().to_string(),
        result: format!("{added} added"),
        bar: Some(("none added".to_owned(), said == TINY)),
    });
    Ok(())
}
