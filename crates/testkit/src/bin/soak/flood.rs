//! Handshakes as quickly as they are taken: none may leave anything behind.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::ensure;
use deliberate_testkit::load::{Caller, Era, Server};
use serde_json::json;
use tokio::{
    task::JoinSet,
    time::{Duration, sleep},
};

use crate::{memory::Memory, tally::Tally};

const CONNECTIONS: usize = 64;
/// Beyond what it held before: how much that is depends on what it did until then.
const MOST_KIB: u64 = 8 * 1024;
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(crate) async fn run(
    server: &Server,
    requests: usize,
    tally: &Arc<Tally>,
    memory: &mut Memory,
) -> anyhow::Result<()> {
    let before = server.own_kib()?;
    let taken = Arc::new(AtomicUsize::new(0));
    let mut flood = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (taken, tally) = (Arc::clone(&taken), Arc::clone(tally));
        let mut caller = Caller::new(server.address(), Era::Legacy, 1);
        flood.spawn(async move {
            while taken.fetch_add(1, Ordering::Relaxed) < requests {
                match handshake(&mut caller).await {
                    Ok(()) => tally.well("flood: initialize"),
                    Err(error) => tally.failed("flood: initialize", &error),
                }
            }
        });
    }
    while !flood.is_empty() {
        sleep(LOOK_EVERY).await;
        let more = server.own_kib()?.saturating_sub(before);
        memory.flood = memory.flood.max(more);
        while let Some(ended) = flood.try_join_next() {
            ended?;
        }
    }
    if memory.flood >= MOST_KIB {
        tally.violated(format!("the flood took {} KiB of memory", memory.flood));
    }
    Ok(())
}

async fn handshake(caller: &mut Caller) -> anyhow::Result<()> {
    let params = json!({
        "protocolVersion": Era::Legacy.version(),
        "capabilities": {},
        "clientInfo": { "name": "flood", "version": "0" },
    });
    let result = caller.request("initialize", params).await?;
    ensure!(result["serverInfo"].is_object(), "no handshake: {result}");
    Ok(())
}
