//! Progress heartbeats: a call without news reports that it still runs, so that its client does not
//! give up.

use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::{CallProgress, CallerContext, ToolContext};

/// The time between heartbeats of a call without progress. Clients give up after 60 s of silence,
/// some sooner.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(5);

/// The time before the first heartbeat, which is short for people who watch.
const FIRST_HEARTBEAT: Duration = Duration::from_secs(1);

/// Sends heartbeats forever. A call that waits for another has no progress yet; the numbers stay
/// below those that a run starts with.
pub(crate) async fn send_waiting_heartbeats(caller: &CallerContext) {
    const STEP: f64 = 1e-6;
    let mut done = 0.0;
    tokio::time::sleep(FIRST_HEARTBEAT).await;
    loop {
        done += STEP;
        if let Some(hears) = &caller.progress {
            hears(CallProgress {
                done,
                total: None,
                message: "waiting".to_owned(),
            });
        }
        tokio::time::sleep(HEARTBEAT_INTERVAL).await;
    }
}

/// Creates the timer of a call's heartbeats. All steps share it, because several short steps in a
/// row are silent too.
pub(crate) fn heartbeat_interval() -> Interval {
    let mut signs = tokio::time::interval_at(Instant::now() + FIRST_HEARTBEAT, HEARTBEAT_INTERVAL);
    signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
    signs
}

/// Sends heartbeats forever.
pub(crate) async fn send_heartbeats(call: &ToolContext, signs: &mut Interval) {
    loop {
        signs.tick().await;
        call.send_heartbeat();
    }
}
