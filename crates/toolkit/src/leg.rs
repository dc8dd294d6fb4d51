//! The legs of a call: a tool whose work goes on is run again, with what it said comes next, after
//! what it changed so far is kept.
//!
//! So a long work is durable step by step: whenever the process dies, what was kept is there, and
//! whoever calls again goes on from it. Most calls have one leg. A leg whose changes came too late,
//! because others changed the same meanwhile, is run again if nobody was asked for it.

use std::time::Duration;

use deliberate_core::{Change, Suspension};
use deliberate_store::StoreError;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    Answer, Call, Caller, Event, Outcome, Registry, ToolError,
    call::{Journal, Scene},
    gate::{Ending, Run, give_signs_of_life},
    held::{Hold, Kept, Work},
    record::Begun,
    tool::Ran,
};

/// How often a leg is run again because others were faster. Each time someone else came further,
/// so this is not reached unless very many want the same.
const MOST_RUNS: u32 = 50;

/// How a leg ended.
enum Leg {
    /// It is kept, and the call goes on with these arguments.
    GoesOn(Value),
    /// It was the last.
    Over(Result<Outcome<Value>, ToolError>),
    /// Others were faster: nothing was kept.
    Overtaken,
}

impl Registry {
    /// Runs a call, leg by leg.
    pub(crate) async fn run(
        &self,
        mut run: Run<'_>,
        begun: Begun,
        caller: Caller,
        hold: &Hold,
    ) -> Result<Answer, ToolError> {
        let mut deadline = begun.instant + self.time_limit(run.entry);
        let journal = run.journal.take();
        note_work(&run, &begun, journal.as_ref(), hold).await;
        let mut call = Call::new(self.scene(&begun, caller, hold), deadline, journal);
        let mut overtaken = 0;
        loop {
            let leg = tokio::select! {
                leg = self.run_leg(&run, &begun, &call, deadline, hold) => leg,
                () = give_signs_of_life(&call) => return Err(ToolError::Internal),
                // It is another's by now, and so is the answer.
                id = self.keep_running(hold) => return self.ended_answer(&id).await,
            };
            let ending = match leg {
                Leg::GoesOn(arguments) => {
                    run.arguments = arguments;
                    forget_replies(&mut run);
                    deadline = Instant::now() + self.time_limit(run.entry);
                    call = call.next_leg(deadline);
                    note_work(&run, &begun, None, hold).await;
                    overtaken = 0;
                    continue;
                }
                Leg::Overtaken => Ending::overtaken(),
                Leg::Over(outcome) => {
                    let kept = hold.ending().await;
                    match self.finish(&run, &begun, &call, kept, outcome).await {
                        Ok(answer) => return Ok(answer),
                        Err(ending) => ending,
                    }
                }
            };
            if ending.may_run_again && call.asked_nobody() && overtaken < MOST_RUNS {
                overtaken += 1;
                give_way(overtaken, begun.number).await;
                note_work(&run, &begun, None, hold).await;
                continue;
            }
            self.record_failure(begun, &ending.error, call.bill(), ending.handed_over)
                .await;
            return Err(ending.error);
        }
    }

    fn scene(&self, begun: &Begun, caller: Caller, hold: &Hold) -> Scene {
        Scene {
            parts: self.parts.clone(),
            tools: self.entries.clone(),
            listeners: self.listeners.clone(),
            number: begun.number,
            tool: begun.tool,
            caller,
            doing: hold.doing.clone(),
        }
    }

    async fn run_leg(
        &self,
        run: &Run<'_>,
        begun: &Begun,
        call: &Call,
        deadline: Instant,
        hold: &Hold,
    ) -> Leg {
        let ran = tokio::select! {
            biased;
            () = call.cancelled() => Err(ToolError::Cancelled),
            ran = self.guarded(run.entry, deadline, self.in_its_place(run, call)) => ran,
        };
        match ran {
            Ok(Ran {
                outcome,
                next: Some(next),
            }) => self.keep_leg(run, begun, outcome, next, hold).await,
            Ok(ran) => Leg::Over(Ok(ran.outcome)),
            Err(error) => Leg::Over(Err(error)),
        }
    }

    /// Keeps what a leg changed. From here on whoever picks the call up goes on with the next one.
    async fn keep_leg(
        &self,
        run: &Run<'_>,
        begun: &Begun,
        outcome: Outcome<Value>,
        next: Value,
        hold: &Hold,
    ) -> Leg {
        let next = match run.entry.check(next) {
            Ok(next) => next,
            Err(error) => return Leg::Over(Err(error)),
        };
        let touched = self.touched(&outcome.changes, outcome.session.as_ref());
        let mut changes = outcome.changes;
        // Held until it is committed: whoever says that the call runs writes the same row.
        let stage = hold.stage.lock().await;
        let kept = stage.kept().or_else(|| {
            let suspended = run.suspended.as_deref()?;
            Some((Kept::of(suspended), None))
        });
        if let Some((kept, running_until)) = kept {
            changes.push(Change::Suspend(Suspension {
                id: kept.id,
                tool_name: run.entry.about.name.to_owned(),
                arguments: next.clone(),
                journal: json!(Journal::default()),
                asks: json!([]),
                created_at: kept.begun,
                expires_at: self.suspended_until(self.parts.clock.now()),
                owner: begun.principal.owner(),
                running_until,
                outcome: None,
                failed: false,
            }));
        }
        let committed = self.parts.store.commit(changes).await;
        drop(stage);
        match committed {
            Ok(()) => {
                if !touched.is_empty() {
                    self.listeners.tell(Event::Touched(&touched));
                }
                Leg::GoesOn(next)
            }
            Err(StoreError::Conflict { .. }) => Leg::Overtaken,
            Err(error) => Leg::Over(Err(error.into())),
        }
    }
}

/// Lets whoever hands the call over know what is to be kept of it.
async fn note_work(run: &Run<'_>, begun: &Begun, journal: Option<&Journal>, hold: &Hold) {
    if !hold.may_be_handed_over {
        return;
    }
    hold.runs(Work {
        suspended: run.suspended.as_ref().map(|it| it.id.clone()),
        tool: run.entry.about.name,
        arguments: run.arguments.clone(),
        journal: json!(journal.cloned().unwrap_or_default()),
        begun: run.suspended.as_ref().map_or(begun.at, |it| it.created_at),
        owner: begun.principal.owner(),
    })
    .await;
}

/// The replies that a suspended call was resumed with were for the leg before.
fn forget_replies(run: &mut Run<'_>) {
    if let Some(suspended) = run.suspended.as_deref_mut() {
        suspended.arguments.clone_from(&run.arguments);
        suspended.journal = json!(Journal::default());
        suspended.asks = json!([]);
    }
}

/// Waits a little, each a different while, so that those who want the same do not meet again.
async fn give_way(times: u32, number: u64) {
    let longest = u64::from(times.min(10)) * 4;
    let own = number.wrapping_mul(7).wrapping_add(u64::from(times) * 3) % longest.max(1);
    tokio::time::sleep(Duration::from_millis(own)).await;
}
