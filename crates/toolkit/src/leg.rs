//! The legs of a call: a tool whose work goes on is run again, with what it said comes next, after
//! what it changed so far is kept.
//!
//! So a long work is durable step by step: whenever the process dies, what was kept is there, and
//! whoever calls again goes on from it. Most calls have one leg. A leg whose changes came too late,
//! because others changed the same meanwhile, is run again if nobody was asked for it.

use std::time::Duration;

use deliberate_core::{Change, Suspension, SuspensionId, Timestamp};
use deliberate_store::StoreError;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    Answer, Call, Caller, Event, Outcome, RESUME, Registry, ToolError,
    call::{Journal, Scene},
    gate::{Ending, Limit, Run},
    held::{self, Hold, Kept, Stage, Work, believed_until},
    record::Begun,
    signs::{give_signs_of_life, signs_of_life},
    tool::Ran,
};

/// How often a leg is run again because others were faster. Each time someone else came further,
/// so this is not reached unless very many want the same.
const MOST_RUNS: u32 = 50;

/// How a leg ended.
enum Leg {
    /// It is kept, and the call goes on with these arguments; what is told if the rest fails.
    GoesOn(Value, Option<String>),
    /// It was the last.
    Over(Result<Outcome<Value>, ToolError>),
    /// It was cut off, because the server stops.
    Stopped,
    /// Others were faster: nothing was kept.
    Overtaken,
    /// Someone else goes on with the call of that id: nothing was kept.
    Anothers(SuspensionId),
}

/// What is known of the leg that runs.
struct Now {
    limit: Limit,
    /// How often someone was asked before it began.
    asked: i64,
    /// Whether it was resumed with replies.
    resumed: bool,
    /// How often it was run again.
    overtaken: u32,
    /// What the legs before did, in words.
    so_far: Option<String>,
}

impl Now {
    fn may_run_again(&self, ending: &Ending, call: &Call) -> bool {
        ending.may_run_again && call.asks() == self.asked && self.overtaken < MOST_RUNS
    }
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
        let journal = run.journal.take();
        let mut now = Now {
            limit: self.limit(run.entry, &run.arguments, begun.instant),
            asked: 0,
            resumed: journal.is_some(),
            overtaken: 0,
            so_far: None,
        };
        note_work(&run, &begun, journal.as_ref(), hold).await;
        let mut call = Call::new(
            self.scene(&begun, caller, hold),
            now.limit.deadline,
            journal,
        );
        let mut signs = signs_of_life();
        loop {
            let leg = tokio::select! {
                leg = self.run_leg(&run, &begun, &call, now.limit, hold) => leg,
                () = give_signs_of_life(&call, &mut signs) => return Err(ToolError::Internal),
                // It is another's by now, and so is the answer.
                id = self.keep_running(hold) => return self.ended_answer(&id).await,
            };
            let ending = match leg {
                Leg::GoesOn(arguments, so_far) => {
                    now = self.next_leg(&mut run, &call, arguments, so_far);
                    call = call.next_leg(now.limit.deadline);
                    continue;
                }
                Leg::Anothers(id) => {
                    let answer = self.anothers_answer(&id, hold);
                    return tokio::select! {
                        error = self.unwanted(call.cancelled()) => Err(error),
                        answer = self.guarded(run.entry, now.limit, answer) => answer,
                    };
                }
                Leg::Stopped => {
                    let kept = (hold, now.so_far);
                    return Err(self.stopped_short(&run, begun, &call, kept).await);
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
            if run.entry.may_run_again() && now.may_run_again(&ending, &call) {
                now.overtaken += 1;
                give_way(now.overtaken, begun.number).await;
                // What it found is what the others changed; no model has seen it.
                if !now.resumed {
                    call = call.next_leg(now.limit.deadline);
                    note_work(&run, &begun, None, hold).await;
                }
                continue;
            }
            let ending = Ending {
                error: with_so_far(ending.error, now.so_far),
                ..ending
            };
            return Err(self.failed(begun, ending, &call, hold).await);
        }
    }

    /// The run is to go on with these arguments.
    fn next_leg(
        &self,
        run: &mut Run<'_>,
        call: &Call,
        arguments: Value,
        so_far: Option<String>,
    ) -> Now {
        let before = std::mem::replace(&mut run.arguments, arguments);
        run.called_with.get_or_insert(before);
        forget_replies(run);
        Now {
            limit: self.limit(run.entry, &run.arguments, Instant::now()),
            asked: call.asks(),
            resumed: false,
            overtaken: 0,
            so_far,
        }
    }

    /// Ends a call that came to no answer, where it is kept too.
    async fn failed(&self, begun: Begun, ending: Ending, call: &Call, hold: &Hold) -> ToolError {
        let kept = hold.ending().await.map(|kept| kept.id);
        let handed_over = ending.handed_over.or(kept);
        let over = handed_over.map(|id| Change::EndSuspension {
            id,
            outcome: held::failure(&ending.error),
            failed: true,
        });
        self.record_failure(begun, &ending.error, call.bill(), over)
            .await;
        ending.error
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
            stage: hold.stage.clone(),
            records: self.records.clone(),
            reads_spans: self.reads_spans,
        }
    }

    async fn run_leg(
        &self,
        run: &Run<'_>,
        begun: &Begun,
        call: &Call,
        limit: Limit,
        hold: &Hold,
    ) -> Leg {
        let ran = tokio::select! {
            biased;
            () = call.cancelled().cancelled() => Err(ToolError::Cancelled),
            () = self.stopping.cancelled() => return Leg::Stopped,
            ran = self.guarded(run.entry, limit, self.in_its_place(run, call)) => ran,
        };
        match ran {
            Ok(Ran {
                outcome,
                next: Some(next),
                so_far,
            }) => {
                let next = (next, so_far);
                self.keep_leg(run, begun, outcome, next, hold).await
            }
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
        (next, so_far): (Value, Option<String>),
        hold: &Hold,
    ) -> Leg {
        let next = match run.entry.check_next(next) {
            Ok(next) => next,
            Err(error) => return Leg::Over(Err(error)),
        };
        let touched = self.touched(&outcome.changes, outcome.session.as_ref());
        let mut changes = outcome.changes;
        // Held until it is committed: whoever says that the call runs writes the same row.
        let mut stage = hold.stage.lock().await;
        let kept = stage.kept().or_else(|| {
            let suspended = run.suspended.as_deref()?;
            Some((Kept::of(suspended), suspended.running_until))
        });
        let until = believed_until(self.parts.clock.now());
        let journal = Journal::of_leg(run.called_with.as_ref().or(Some(&run.arguments)));
        if let Some((kept, seen)) = &kept {
            // First, and refused if someone else goes on with it: a leg takes effect once.
            changes.insert(
                0,
                Change::RunOn {
                    id: kept.id.clone(),
                    seen: *seen,
                    until,
                },
            );
            changes.push(Change::Suspend(Suspension {
                id: kept.id.clone(),
                tool_name: run.entry.about.name.to_owned(),
                arguments: next.clone(),
                journal: json!(journal),
                asks: json!([]),
                created_at: kept.begun,
                expires_at: self.suspended_until(self.parts.clock.now()),
                owner: begun.principal.owner(),
                running_until: Some(until),
                outcome: None,
                failed: false,
            }));
        }
        match (self.parts.store.commit(changes).await, kept) {
            (Ok(()), kept) => {
                if let Some((kept, _)) = kept {
                    self.runs_on(&mut stage, kept, until, begun.principal.owner(), hold);
                } else if let Stage::Runs(work) = &mut *stage {
                    // Before anyone can hand it over: what is kept then must not be done again.
                    work.arguments.clone_from(&next);
                    work.journal = json!(journal);
                }
                if !touched.is_empty() {
                    self.listeners.tell(Event::Touched(&touched));
                }
                Leg::GoesOn(next, so_far)
            }
            (Err(StoreError::AlreadyEnded), Some((kept, _))) => Leg::Anothers(kept.id),
            (Err(StoreError::Conflict { .. }), _) => Leg::Overtaken,
            (Err(error), _) => Leg::Over(Err(error.into())),
        }
    }

    /// It was said that the call of that id runs until then.
    fn runs_on(
        &self,
        stage: &mut Stage,
        mut kept: Kept,
        now_until: Timestamp,
        owner: Option<String>,
        hold: &Hold,
    ) {
        if let Stage::RunsOn { until, .. } = stage {
            *until = now_until;
            return;
        }
        kept.waited_for = None;
        let here = self.present(&kept.id, owner, hold);
        *stage = Stage::RunsOn {
            kept,
            until: now_until,
            here,
        };
    }

    /// The answer of a call that someone else goes on with.
    async fn anothers_answer(&self, id: &SuspensionId, hold: &Hold) -> Result<Answer, ToolError> {
        hold.waits_for(id).await;
        loop {
            let suspension = self.parts.store.suspension(id).await?;
            match suspension {
                Some(it) if it.outcome.is_none() && (self.runs(&it) || self.held.has(id)) => {
                    self.held.wait_for(id).await;
                }
                Some(it) if it.outcome.is_none() => {
                    return Err(ToolError::Told {
                        code: "Conflict".to_owned(),
                        message: "this call was resumed by another and waits again".to_owned(),
                        hint: Some(format!("Call {RESUME} with its id alone to have its asks.")),
                    });
                }
                _ => return self.ended_answer(id).await,
            }
        }
    }
}

/// Why a call broke off, with what was done before, which is kept. Who took it back asks no more.
pub(crate) fn with_so_far(error: ToolError, so_far: Option<String>) -> ToolError {
    let Some(so_far) = so_far.filter(|_| !matches!(error, ToolError::Cancelled)) else {
        return error;
    };
    let hint = error.hint().map(|it| format!("{it} ")).unwrap_or_default();
    ToolError::Told {
        code: error.code().to_owned(),
        message: error.to_string(),
        hint: Some(format!("{hint}What was done before is kept. {so_far}")),
    }
}

/// Lets whoever hands the call over know what is to be kept of it.
async fn note_work(run: &Run<'_>, begun: &Begun, journal: Option<&Journal>, hold: &Hold) {
    if !hold.may_be_handed_over {
        return;
    }
    let of_leg = || Journal::of_leg(run.called_with.as_ref());
    let journal = journal.cloned().unwrap_or_else(of_leg);
    hold.runs(Work {
        suspended: run.suspended.as_ref().map(|it| it.id.clone()),
        tool: run.entry.about.name,
        arguments: run.arguments.clone(),
        journal: json!(journal),
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
