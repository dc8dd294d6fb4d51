//! Calls one after another, with a thousand prompts loaded. What counts is processor time: what a
//! caller waits for is told beside it, and depends on the neighbours.

use std::time::{Duration, Instant};

use deliberate_testkit::Client;
use serde_json::{Value, json};

use super::{
    command,
    cpu::Cost,
    workspace::{TINY, Workspace},
};
use crate::{
    report::{Report, Row},
    samples::Time,
    setup::{Bench, CONTENT, Place},
};

const MILLISECOND: Duration = Duration::from_millis(1);
const ROUNDS: usize = 10;
const WARM_UP: usize = 20;

/// A kind of call.
struct Kind {
    what: &'static str,
    tool: &'static str,
    arguments: Value,
    most: Option<Duration>,
    cost: Cost,
}

pub(super) async fn measure(
    bench: &Bench,
    full: &Workspace,
    report: &mut Report,
) -> anyhow::Result<()> {
    nothing_added(bench, full, report).await?;
    for place in bench.places() {
        let mut echo = Cost::default();
        let mut floor = bench.floor().await?;
        let mut server = bench.server_in(place, full.path()).await?;
        let mut kinds = kinds();
        for kind in &kinds {
            for _ in 0..WARM_UP {
                kind.call(&mut server).await?;
            }
        }
        // In turns, so that a neighbour's load falls on all alike.
        for _ in 0..ROUNDS {
            echo.begin(&floor)?;
            for _ in 0..bench.times(100) {
                let begun = Instant::now();
                floor.call("echo", json!({ "text": CONTENT })).await?;
                echo.waited(begun);
            }
            echo.end(&floor)?;
            for kind in &mut kinds {
                kind.cost.begin(&server)?;
                for _ in 0..bench.times(100) {
                    let begun = Instant::now();
                    kind.call(&mut server).await?;
                    kind.cost.waited(begun);
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

fn kinds() -> Vec<Kind> {
    let engine = |what, command: &str, most| Kind {
        what,
        tool: "prompt_engine",
        arguments: json!({ "command": command }),
        most,
        cost: Cost::default(),
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
            "beginning a chain of 3",
            r#">>short topic:"the two caches""#,
            None,
        ),
        engine("a name that is not known", ">>tsak_0500 tea", None),
        Kind {
            what: "`resource_manager` `list`",
            tool: "resource_manager",
            arguments: json!({ "action": "list", "resource_type": "prompt" }),
            most: None,
            cost: Cost::default(),
        },
        Kind {
            what: "`system_control` `status`",
            tool: "system_control",
            arguments: json!({ "action": "status" }),
            most: None,
            cost: Cost::default(),
        },
    ]
}

impl Kind {
    /// Whether the answer is the wanted one is a matter of tests; here it must only be one.
    async fn call(&self, server: &mut Client) -> anyhow::Result<()> {
        let answer = server.call(self.tool, self.arguments.clone()).await?;
        let failed = answer["result"]["isError"] == true;
        let expected = self.what == "a name that is not known";
        anyhow::ensure!(
            answer["result"].is_object() && failed == expected,
            "{}: {answer}",
            self.what
        );
        Ok(())
    }

    fn row(self, place: Place, echo: &Cost) -> Row {
        let each = self.cost.each();
        let (what, calls) = (self.what, self.cost.calls());
        Row {
            what: format!("{what}, {place:?}, CPU; wait p50 / p99 of {calls}"),
            floor: format!("{echo} (echo)"),
            server: self.cost.to_string(),
            judged: format!("{} of CPU", Time(each)),
            bar: self.most.map(|most| ("< 1 ms".to_owned(), each < most)),
        }
    }
}

/// A plain prompt's answer is the prompt.
async fn nothing_added(bench: &Bench, full: &Workspace, report: &mut Report) -> anyhow::Result<()> {
    let mut server = bench.server_in(bench.fastest(), full.path()).await?;
    let answer = command(&mut server, ">>tiny").await?;
    let said = answer["said"].as_str().unwrap_or_default();
    let added = said.chars().count().saturating_sub(TINY.chars().count());
    report.add(Row {
        what: format!("characters in the answer of a prompt of {}", TINY.len()),
        floor: TINY.len().to_string(),
        server: said.chars().count().to_string(),
        judged: format!("{added} added"),
        bar: Some(("none added".to_owned(), said == TINY)),
    });
    Ok(())
}
