//! From the start of the process to its first answer, and the list of tools.

use std::time::{Duration, Instant};

use deliberate_testkit::Client;
use serde_json::json;

use crate::{
    report::{Report, Row},
    samples::{Samples, Time, ratio},
    setup::{Bench, Place},
};

pub(crate) async fn measure(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let (mut floor, mut server) = (Samples::default(), Samples::default());
    let starts = bench.times(20);
    for _ in 0..starts {
        floor.push(first_answer(|| bench.spawn_floor()).await?);
        server.push(first_answer(|| bench.spawn_server(Place::Disk)).await?);
    }
    let times = ratio(server.median(), floor.median());
    report.add(Row {
        what: format!("cold start to the first answer, min / median of {starts}"),
        floor: format!("{} / {}", Time(floor.min()), Time(floor.median())),
        server: format!("{} / {}", Time(server.min()), Time(server.median())),
        judged: format!("{times:.1}×"),
        bar: Some(("≤ 3×".to_owned(), times <= 3.0)),
    });
    list(bench, report).await
}

/// Spawn to the reply to `initialize`.
pub(crate) async fn first_answer(
    spawn: impl Fn() -> anyhow::Result<Client>,
) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let mut client = spawn()?;
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "bench", "version": "0" },
    });
    client.request("initialize", params).await?;
    let time = begun.elapsed();
    client.kill().await?;
    Ok(time)
}

async fn list(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let mut floor = bench.floor().await?;
    let mut server = bench.server(Place::Disk).await?;
    let (mut floor_times, mut server_times) = (Samples::default(), Samples::default());
    let mut bytes = 0;
    for _ in 0..bench.times(200) {
        for (client, times) in [
            (&mut floor, &mut floor_times),
            (&mut server, &mut server_times),
        ] {
            let begun = Instant::now();
            let answer = client.request("tools/list", json!({})).await?;
            times.push(begun.elapsed());
            bytes = answer.to_string().len();
        }
    }
    report.add(Row {
        what: "`tools/list`, p50 / p99".to_owned(),
        floor: format!(
            "{} / {}",
            Time(floor_times.median()),
            Time(floor_times.p99())
        ),
        server: format!(
            "{} / {}",
            Time(server_times.median()),
            Time(server_times.p99())
        ),
        judged: format!("{bytes} bytes"),
        bar: None,
    });
    Ok(())
}
