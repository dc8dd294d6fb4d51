//! The one gate: [`Registry::call`].

use std::{panic::AssertUnwindSafe, time::Duration};

use deliberate_core::{Change, SessionId, Spent, Suspension, SuspensionId};
use deliberate_store::StoreError;
use deliberate_thinker::ThinkError;
use futures::FutureExt;
use serde_json::{Value, json};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::Instant,
};
use tracing::{Instrument as _, Span, field::Empty};

use crate::{
    Answer, CALL_SPAN, Call, Caller, Event, Outcome, Principal, Registry, ToolError, Touched,
    TraceContext,
    bill::Bill,
    call::Journal,
    guests::Called,
    held::{self, Hold, Kept},
    record::Begun,
    registry::{Action, Entry},
    signs::give_signs_of_waiting,
    suspend::Resumption,
    tool::{AnyTool, Ran},
};

/// What is to be run: a tool, its arguments, and the replies it was given if it was suspended.
pub(crate) struct Run<'a> {
    pub(crate) entry: &'a Entry,
    pub(crate) tool: &'a dyn AnyTool,
    pub(crate) arguments: Value,
    pub(crate) journal: Option<Journal>,
    pub(crate) suspended: Option<Box<Suspension>>,
    /// What its client called it with, if it has come to another leg since.
    pub(crate) called_with: Option<Value>,
}

impl Registry {
    /// Calls a tool. The only way in, for every side.
    ///
    /// Arguments are checked against the tool's schema; the call runs within the limits; it
    /// stops when `caller` cancels it; a panic becomes an error. What it changes is committed
    /// together with its record before the answer is given; a call that fails leaves its record
    /// and nothing else.
    pub async fn call(
        &self,
        name: &str,
        arguments: Value,
        caller: Caller,
    ) -> Result<Answer, ToolError> {
        let hold = Hold::new(caller.cancelled.clone());
        self.call_held(name, arguments, caller, &hold).await
    }

    /// The same, with `hold` between the call and its caller.
    pub(crate) async fn call_held(
        &self,
        name: &str,
        arguments: Value,
        caller: Caller,
        hold: &Hold,
    ) -> Result<Answer, ToolError> {
        let called = self
            .entries
            .called(name, arguments, caller.again.as_ref())
            .inspect_err(|_| self.listeners.tell(Event::UnknownTool))?;
        let span = span(called.entry.about.name, &caller);
        self.call_entry(called, caller, hold).instrument(span).await
    }

    async fn call_entry(
        &self,
        called: Called<'_>,
        caller: Caller,
        hold: &Hold,
    ) -> Result<Answer, ToolError> {
        let entry = called.entry;
        let begun = self.begin(entry.about.name, &called.arguments, &caller.principal);
        let limit = self.limit(entry, &called.arguments, begun.instant);
        let prepared = self.guarded(entry, limit, async {
            called.allowed(&begun.principal)?;
            self.prepare(entry, called.arguments, &begun.principal, hold)
                .await
        });
        let prepared = tokio::select! {
            biased;
            error = self.unwanted(&caller.cancelled) => Err(error),
            prepared = prepared => prepared,
            () = give_signs_of_waiting(&caller) => Err(ToolError::Internal),
        };
        match prepared {
            Ok(Prepared::Run(run)) => self.run(*run, begun, caller, hold).await,
            Ok(Prepared::Ended(answer)) => {
                begun.end(None, &Spent::default());
                Ok(answer)
            }
            Err(error) => {
                self.record_failure(begun, &error, Bill::default(), None)
                    .await;
                Err(error)
            }
        }
    }

    /// Finds out what the call is to run.
    async fn prepare<'a>(
        &'a self,
        entry: &'a Entry,
        arguments: Value,
        principal: &Principal,
        hold: &Hold,
    ) -> Result<Prepared<'a>, ToolError> {
        let arguments = entry.check(arguments)?;
        match &entry.action {
            Action::Run(tool) => Ok(Prepared::Run(Box::new(Run {
                entry,
                tool: tool.as_ref(),
                arguments,
                journal: None,
                suspended: None,
                called_with: None,
            }))),
            Action::Resume => match self.resumption(arguments, principal, hold).await? {
                Resumption::Ended(output) => Ok(Prepared::Ended(Answer::Done(output))),
                Resumption::Goes { suspended, journal } => {
                    // That they may make such a call was looked at when it was found.
                    let entry = self.entry(&suspended.tool_name)?;
                    let Action::Run(tool) = &entry.action else {
                        return Err(ToolError::Internal);
                    };
                    let called_with = suspended.journal.get("called_with").cloned();
                    Ok(Prepared::Run(Box::new(Run {
                        entry,
                        tool: tool.as_ref(),
                        arguments: suspended.arguments.clone(),
                        journal,
                        suspended: Some(suspended),
                        called_with,
                    })))
                }
            },
        }
    }

    /// How long a call that began then may take.
    pub(crate) fn limit(&self, entry: &Entry, arguments: &Value, begun: Instant) -> Limit {
        let time = entry.time_limit(arguments, self.parts.bounds.call_time);
        Limit {
            time,
            deadline: begun + time,
        }
    }

    /// Does `work` within its limit; a panic in it is an error of this call alone.
    pub(crate) async fn guarded<T>(
        &self,
        entry: &Entry,
        limit: Limit,
        work: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<T, ToolError> {
        let caught = AssertUnwindSafe(work).catch_unwind();
        match tokio::time::timeout_at(limit.deadline, caught).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => {
                let tool = entry.about.name;
                tracing::error!(tool, "a tool panicked");
                self.listeners.tell(Event::Panicked { tool });
                Err(ToolError::Internal)
            }
            Err(_) => {
                let limit_ms = u64::try_from(limit.time.as_millis()).unwrap_or(u64::MAX);
                Err(if entry.may_run_again() {
                    ToolError::Timeout { limit_ms }
                } else {
                    ToolError::CutShort { limit_ms }
                })
            }
        }
    }

    /// Waits for a place among the running calls, then runs the tool.
    pub(crate) async fn in_its_place(&self, run: &Run<'_>, call: &Call) -> Result<Ran, ToolError> {
        let _own = match &run.entry.running {
            Some(running) => Some(self.place(running).await?),
            None => None,
        };
        let _place = self.place(&self.running).await?;
        run.tool.run(run.arguments.clone(), call).await
    }

    /// A place among `running`, waited for if not too many wait already.
    async fn place<'a>(&'a self, running: &'a Semaphore) -> Result<SemaphorePermit<'a>, ToolError> {
        if let Ok(place) = running.try_acquire() {
            return Ok(place);
        }
        let _waits = self
            .waiting
            .try_acquire()
            .map_err(|_| ToolError::Overloaded {
                running: self.parts.bounds.running_calls,
            })?;
        running.acquire().await.map_err(|_| ToolError::Internal)
    }

    /// Commits what the run came to, and gives the answer. `kept` is where a call is kept that was
    /// handed over.
    pub(crate) async fn finish(
        &self,
        run: &Run<'_>,
        begun: &Begun,
        call: &Call,
        kept: Option<Kept>,
        outcome: Result<Outcome<Value>, ToolError>,
    ) -> Result<Answer, Ending> {
        let bill = call.bill();
        let handed_over = kept.as_ref().map(|kept| kept.id.clone());
        let failed = |error| Ending {
            error,
            handed_over: handed_over.clone(),
            may_run_again: false,
        };
        let earlier = kept.or_else(|| run.suspended.as_deref().map(Kept::of));
        let (answer, session, mut changes) = match outcome {
            Ok(outcome) => {
                let mut changes = outcome.changes;
                changes.extend(earlier.as_ref().map(|kept| Change::EndSuspension {
                    id: kept.id.clone(),
                    outcome: outcome.output.clone(),
                    failed: false,
                }));
                (Answer::Done(outcome.output), outcome.session, changes)
            }
            Err(ToolError::Think(ThinkError::Pending)) => {
                let owner = begun.principal.owner();
                let (needs, suspension) = self
                    .suspend(run, earlier.clone(), owner, call)
                    .map_err(failed)?;
                let changes = suspension.map(Change::Suspend);
                (
                    Answer::NeedsReply(needs),
                    None,
                    changes.into_iter().collect(),
                )
            }
            Err(error) => return Err(failed(error)),
        };
        let output = match &answer {
            Answer::Done(output) => output.clone(),
            Answer::NeedsReply(needs) => json!({ "needs_reply": { "id": needs.id } }),
        };
        let touched = self.touched(&changes, session.as_ref());
        let record = self.record(begun, bill.clone(), session, Ok(output));
        if changes.is_empty() {
            self.records.later(&self.parts.store, record);
            begun.end(None, &bill.spent);
            return Ok(answer);
        }
        changes.push(Change::AddInvocation(record));
        match (self.parts.store.commit(changes).await, earlier) {
            (Ok(()), _) => {
                if !touched.is_empty() {
                    self.listeners.tell(Event::Touched(&touched));
                }
                begun.end(None, &bill.spent);
                Ok(answer)
            }
            // Someone else resumed the same call and was first: theirs is the answer.
            (Err(StoreError::AlreadyEnded), Some(earlier)) => {
                begun.end(None, &bill.spent);
                self.ended_answer(&earlier.id).await.map_err(failed)
            }
            (Err(StoreError::Conflict { reason }), None) => Err(Ending {
                error: StoreError::Conflict { reason }.into(),
                handed_over,
                may_run_again: true,
            }),
            (Err(error), _) => Err(failed(error.into())),
        }
    }

    pub(crate) async fn ended_answer(&self, id: &SuspensionId) -> Result<Answer, ToolError> {
        let suspension = self.parts.store.suspension(id).await?;
        match suspension.map(|it| (it.outcome, it.failed)) {
            Some((Some(outcome), false)) => Ok(Answer::Done(outcome)),
            Some((Some(outcome), true)) => Err(held::told(&outcome)),
            _ => Err(ToolError::Cancelled),
        }
    }

    /// What changes that are about to be kept mean for addresses, each once.
    pub(crate) fn touched(&self, changes: &[Change], session: Option<&SessionId>) -> Vec<Touched> {
        let mut touched = Vec::new();
        for family in self.resources() {
            for change in changes {
                for one in family.touched(change, session) {
                    if !touched.contains(&one) {
                        touched.push(one);
                    }
                }
            }
        }
        touched
    }
}

/// How long a call may take, and until when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) time: Duration,
    pub(crate) deadline: Instant,
}

/// Why a run came to no answer.
pub(crate) struct Ending {
    pub(crate) error: ToolError,
    /// Where it is kept, if it was handed over.
    pub(crate) handed_over: Option<SuspensionId>,
    /// Whether others changed what it read, and nothing of it is kept anywhere.
    pub(crate) may_run_again: bool,
}

impl Ending {
    /// Others were faster.
    pub(crate) fn overtaken() -> Self {
        let reason = "others changed the same meanwhile".to_owned();
        Self {
            error: StoreError::Conflict { reason }.into(),
            handed_over: None,
            may_run_again: true,
        }
    }
}

enum Prepared<'a> {
    Run(Box<Run<'a>>),
    /// A suspended call that had ended already; its answer is given again.
    Ended(Answer),
}

/// The span of a call. Costs nothing unless someone collects traces; holds no content.
fn span(tool: &'static str, caller: &Caller) -> Span {
    let trace = caller.trace.as_ref();
    tracing::info_span!(
        target: CALL_SPAN,
        "tools/call",
        otel.kind = "server",
        mcp.method.name = "tools/call",
        mcp.protocol.version = caller.protocol,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = tool,
        gen_ai.tool.type = "function",
        error.type = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        deliberate.model_calls = Empty,
        traceparent = trace.map(TraceContext::parent),
        tracestate = trace.and_then(TraceContext::state),
    )
}
