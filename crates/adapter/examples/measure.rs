//! Measures calls through the adapter: `measure CALLS COMMAND ARGS…` makes that many calls of the
//! server's `echo` one after another, then as many with 64 at once, and prints one line of JSON:
//! each duration of the first in microseconds, and the calls per second of the second.
#![allow(clippy::print_stdout, reason = "the figures are the program's output")]

use std::time::Instant;

use deliberate_adapter::{Adapter, AdapterConfig, ServerConfig};
use futures::{StreamExt as _, stream};
use serde_json::json;

const CONCURRENCY: usize = 64;
const WARM_UP: usize = 50;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let calls: usize = words
        .next()
        .ok_or("missing argument: the number of calls")?
        .parse()?;
    let command = words
        .next()
        .ok_or("missing argument: the command of the server")?;
    let server = ServerConfig::stdio("up", command, words);
    let adapter = Adapter::new(AdapterConfig::from_servers([server]))?;
    let functions = adapter.to_functions().await?;
    let echo = functions
        .get("up__echo")
        .ok_or("the server has no tool `echo`")?;
    for _ in 0..WARM_UP {
        echo.call(json!({ "text": "hello" })).await?;
    }
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let begun = Instant::now();
        echo.call(json!({ "text": "hello" })).await?;
        times.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    let begun = Instant::now();
    let mut running = stream::iter(0..calls)
        .map(|_| echo.spawn(json!({ "text": "hello" })))
        .buffer_unordered(CONCURRENCY);
    while let Some(done) = running.next().await {
        done??;
    }
    let rate = calls as f64 / begun.elapsed().as_secs_f64();
    println!("{}", json!({ "times_us": times, "rate": rate }));
    adapter.close().await;
    Ok(())
}
