//! Makes handshakes as fast as possible: none may leave anything behind.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use anyhow::ensure;
use deliberate_testkit::load::{ClientProtocol, LoadClient, ServerProcess};
use serde_json::json;
use tokio::{
    task::JoinSet,
    time::{Duration, sleep},
};

use super::counters::SoakCounters;
use crate::memory::MemorySamples;

const CONNECTIONS: usize = 64;
/// The most memory that the flood may add, in KiB. The memory before it depends on the earlier
/// work.
const MAX_KIB: u64 = 8 * 1024;
const POLL_INTERVAL: Duration = Duration::from_millis(100);

pub(crate) async fn run(
    server: &ServerProcess,
    requests: usize,
    tally: &Arc<SoakCounters>,
    memory: &mut MemorySamples,
) -> anyhow::Result<()> {
    let before = server.private_kib()?;
    let taken = Arc::new(AtomicUsize::new(0));
    let mut flood = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (taken, tally) = (Arc::clone(&taken), Arc::clone(tally));
        let mut caller = LoadClient::new(server.address(), ClientProtocol::Legacy, 1);
        flood.spawn(async move {
            while taken.fetch_add(1, Ordering::Relaxed) < requests {
                match handshake(&mut caller).await {
                    Ok(()) => tally.record_success("flood: initialize"),
                    Err(error) => tally.record_failure("flood: initialize", &error),
                }
            }
        });
    }
    while !flood.is_empty() {
        sleep(POLL_INTERVAL).await;
        let more = server.private_kib()?.saturating_sub(before);
        memory.flood = memory.flood.max(more);
        while let Some(ended) = flood.try_join_next() {
            ended?;
        }
    }
    if memory.flood >= MAX_KIB {
        tally.record_violation(format!("the flood took {} KiB of memory", memory.flood));
    }
    Ok(())
}

async fn handshake(caller: &mut LoadClient) -> anyhow::Result<()> {
    let params = json!({
        "protocolVersion": ClientProtocol::Legacy.version(),
        "capabilities": {},
        "clientInfo": { "name": "flood", "version": "0" },
    });
    let result = caller.request("initialize", params).await?;
    ensure!(result["serverInfo"].is_object(), "no handshake: {result}");
    Ok(())
}
