//! Signs of life: a call that has nothing to tell yet says that it is there, so that its client
//! does not give up.

use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior};

use crate::{CallProgress, CallerContext, ToolContext};

/// How often a call that says nothing gives a sign of life. Clients give up after 60 s of
/// silence; some sooner.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(5);

/// When it gives the first: a person who watches wants to know that something happens.
const FIRST_HEARTBEAT: Duration = Duration::from_secs(1);

/// Never ends. A call that waits for another has no progress of its own yet; its numbers stay
/// below those that a run begins with.
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

/// When a call gives signs of life. Kept over its legs: several short ones are silent, too.
pub(crate) fn heartbeat_interval() -> Interval {
    let mut signs = tokio::time::interval_at(Instant::now() + FIRST_HEARTBEAT, HEARTBEAT_INTERVAL);
    signs.set_missed_tick_behavior(MissedTickBehavior::Delay);
    signs
}

/// Never ends.
pub(crate) async fn send_heartbeats(call: &ToolContext, signs: &mut Interval) {
    loop {
        signs.tick().await;
        call.send_heartbeat();
    }
}
