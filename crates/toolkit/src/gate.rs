//! The one gate: [`Registry::call`].

use std::{panic::AssertUnwindSafe, time::Duration};

use deliberate_core::{
    Change, Invocation, InvocationId, SessionId, Spent, Suspension, SuspensionId, Timestamp,
    cap_json, cut_to_chars,
};
use deliberate_store::StoreError;
use deliberate_thinker::{Ask, Message, ThinkError};
use futures::FutureExt;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::Instant,
};

use crate::{
    Call, Caller, Event, Outcome, Principal, Registry, Running, ToolError, Touched,
    call::{Bill, Journal},
    registry::{Action, Entry},
    suspend::Resumption,
    tool::AnyTool,
};

/// How often a call that says nothing gives a sign of life. Clients give up after 60 s of
/// silence; some sooner.
const SIGN_OF_LIFE_EVERY: Duration = Duration::from_secs(5);

/// How long the answer to a failed call waits for its record.
const RECORD_TIME: Duration = Duration::from_secs(1);

/// What a record keeps of an error's text.
const ERROR_CHARS: usize = 1_000;

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// With its output.
    Done(Value),
    /// It waits for the client's model to think.
    NeedsReply(NeedsReply),
}

/// What the client's model has to think about before a call can go on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NeedsReply {
    /// Names the suspended call.
    pub id: String,
    /// What to think about, each with a reply of its own.
    pub asks: Vec<AskForClient>,
    /// What to do, in a sentence.
    pub next: String,
}

/// One ask, as a client's model reads it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AskForClient {
    /// Names it.
    pub key: String,
    /// The instructions.
    pub system: String,
    /// What it is about.
    pub messages: Vec<Message>,
    /// What the reply must look like.
    pub schema: Value,
}

impl From<Ask> for AskForClient {
    fn from(ask: Ask) -> Self {
        Self {
            key: ask.key,
            system: ask.system,
            messages: ask.messages,
            schema: ask.schema,
        }
    }
}

/// What is to be run: a tool, its arguments, and the replies it was given if it was suspended.
struct Run<'a> {
    entry: &'a Entry,
    tool: &'a dyn AnyTool,
    arguments: Value,
    journal: Option<Journal>,
    suspended: Option<Box<Suspension>>,
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
        let entry = self.entry(name)?;
        let begun = Begun {
            number: self.call_number(),
            principal: caller.principal.clone(),
            tool: entry.about.name,
            input: cap_json(arguments.clone(), self.parts.bounds.record_bytes),
            at: self.parts.clock.now(),
            instant: Instant::now(),
        };
        self.listeners.tell(Event::Began(&begun.running()));
        let deadline = begun.instant + self.time_limit(entry);
        let prepared = self.guarded(entry, deadline, async {
            allowed(entry, &begun.principal)?;
            self.prepare(entry, arguments).await
        });
        match prepared.await {
            Ok(Prepared::Run(run)) => self.run(*run, begun, caller).await,
            Ok(Prepared::Ended(answer)) => {
                self.ended(&begun, None, &Spent::default());
                Ok(answer)
            }
            Err(error) => {
                self.record_failure(begun, &error, Bill::default()).await;
                Err(error)
            }
        }
    }

    /// Finds out what the call is to run.
    async fn prepare<'a>(
        &'a self,
        entry: &'a Entry,
        arguments: Value,
    ) -> Result<Prepared<'a>, ToolError> {
        let arguments = entry.check(arguments)?;
        match &entry.action {
            Action::Run(tool) => Ok(Prepared::Run(Box::new(Run {
                entry,
                tool: tool.as_ref(),
                arguments,
                journal: None,
                suspended: None,
            }))),
            Action::Resume => match self.resumption(arguments).await? {
                Resumption::Ended(output) => Ok(Prepared::Ended(Answer::Done(output))),
                Resumption::Goes { suspended, journal } => {
                    let entry = self.entry(&suspended.tool_name)?;
                    let Action::Run(tool) = &entry.action else {
                        return Err(ToolError::Internal);
                    };
                    Ok(Prepared::Run(Box::new(Run {
                        entry,
                        tool: tool.as_ref(),
                        arguments: suspended.arguments.clone(),
                        journal: Some(journal),
                        suspended: Some(suspended),
                    })))
                }
            },
        }
    }

    async fn run(
        &self,
        mut run: Run<'_>,
        begun: Begun,
        caller: Caller,
    ) -> Result<Answer, ToolError> {
        let deadline = begun.instant + self.time_limit(run.entry);
        let cancelled = caller.cancelled.clone();
        let call = Call::new(
            self.parts.clone(),
            self.listeners.clone(),
            (begun.number, begun.tool),
            caller,
            deadline,
            run.journal.take(),
        );
        let work = async {
            let outcome = tokio::select! {
                biased;
                () = cancelled.cancelled() => Err(ToolError::Cancelled),
                outcome = self.guarded(run.entry, deadline, self.in_its_place(&run, &call)) => outcome,
            };
            // From here on it is not cancelled: what is committed is answered.
            self.finish(run, begun, &call, outcome).await
        };
        tokio::select! {
            answer = work => answer,
            () = give_signs_of_life(&call) => Err(ToolError::Internal),
        }
    }

    fn time_limit(&self, entry: &Entry) -> Duration {
        let most = self.parts.bounds.call_time;
        entry.about.limits.time.map_or(most, |own| own.min(most))
    }

    /// Does `work` until the deadline; a panic in it is an error of this call alone.
    async fn guarded<T>(
        &self,
        entry: &Entry,
        deadline: Instant,
        work: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<T, ToolError> {
        let caught = AssertUnwindSafe(work).catch_unwind();
        match tokio::time::timeout_at(deadline, caught).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => {
                let tool = entry.about.name;
                tracing::error!(tool, "a tool panicked");
                self.listeners.tell(Event::Panicked { tool });
                Err(ToolError::Internal)
            }
            Err(_) => Err(ToolError::Timeout {
                limit_ms: u64::try_from(self.time_limit(entry).as_millis()).unwrap_or(u64::MAX),
            }),
        }
    }

    /// Waits for a place among the running calls, then runs the tool.
    async fn in_its_place(&self, run: &Run<'_>, call: &Call) -> Result<Outcome<Value>, ToolError> {
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

    /// Commits what the run came to, and gives the answer.
    async fn finish(
        &self,
        run: Run<'_>,
        begun: Begun,
        call: &Call,
        outcome: Result<Outcome<Value>, ToolError>,
    ) -> Result<Answer, ToolError> {
        let bill = call.bill();
        let suspended = run.suspended.as_ref().map(|it| it.id.clone());
        let (answer, session, mut changes) = match outcome {
            Ok(outcome) => {
                let mut changes = outcome.changes;
                if let Some(suspended) = &run.suspended {
                    changes.push(Change::EndSuspension {
                        id: suspended.id.clone(),
                        outcome: outcome.output.clone(),
                    });
                }
                (Answer::Done(outcome.output), outcome.session, changes)
            }
            Err(ToolError::Think(ThinkError::Pending)) => {
                let (needs, suspension) =
                    self.suspend(run.entry, run.arguments, run.suspended, call)?;
                (
                    Answer::NeedsReply(needs),
                    None,
                    vec![Change::Suspend(suspension)],
                )
            }
            Err(error) => {
                self.record_failure(begun, &error, bill).await;
                return Err(error);
            }
        };
        let output = match &answer {
            Answer::Done(output) => output.clone(),
            Answer::NeedsReply(needs) => json!({ "needs_reply": { "id": needs.id } }),
        };
        let touched = self.touched(&changes);
        let record = self.record(&begun, bill.clone(), session, Ok(output));
        changes.push(Change::AddInvocation(record));
        match (self.parts.store.commit(changes).await, suspended) {
            (Ok(()), _) => {
                if !touched.is_empty() {
                    self.listeners.tell(Event::Touched(&touched));
                }
                self.ended(&begun, None, &bill.spent);
                Ok(answer)
            }
            // Someone else resumed the same call and was first: theirs is the answer.
            (Err(StoreError::AlreadyEnded), Some(id)) => self.ended_answer(&id).await,
            (Err(error), _) => {
                let error = ToolError::from(error);
                self.record_failure(begun, &error, bill).await;
                Err(error)
            }
        }
    }

    async fn ended_answer(&self, id: &SuspensionId) -> Result<Answer, ToolError> {
        let suspension = self.parts.store.suspension(id).await?;
        let outcome = suspension.and_then(|it| it.outcome);
        outcome.map(Answer::Done).ok_or(ToolError::Internal)
    }

    /// What changes that are about to be kept mean for addresses, each once.
    fn touched(&self, changes: &[Change]) -> Vec<Touched> {
        let mut touched = Vec::new();
        for family in self.resources() {
            for change in changes {
                for one in family.touched(change) {
                    if !touched.contains(&one) {
                        touched.push(one);
                    }
                }
            }
        }
        touched
    }

    fn ended(&self, begun: &Begun, error: Option<&str>, spent: &Spent) {
        self.listeners.tell(Event::Ended {
            call: &begun.running(),
            took: begun.instant.elapsed(),
            error,
            spent,
        });
    }

    /// Records a call that failed. If that fails too, the caller still hears of the first
    /// failure.
    async fn record_failure(&self, begun: Begun, error: &ToolError, bill: Bill) {
        tracing::info!(
            tool = begun.tool,
            code = error.code(),
            took_ms = u64::try_from(begun.instant.elapsed().as_millis()).unwrap_or(u64::MAX),
            "a call failed"
        );
        self.ended(&begun, Some(error.code()), &bill.spent);
        let record = self.record(&begun, bill, None, Err(error));
        let commit = self.parts.store.commit(vec![Change::AddInvocation(record)]);
        match tokio::time::timeout(RECORD_TIME, commit).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "a failed call could not be recorded"),
            // It is queued, and recorded when the database is free again.
            Err(_) => tracing::warn!("a failed call waits to be recorded"),
        }
    }

    fn record(
        &self,
        begun: &Begun,
        bill: Bill,
        session: Option<SessionId>,
        outcome: Result<Value, &ToolError>,
    ) -> Invocation {
        let named = || {
            begun
                .input
                .get("session_id")
                .and_then(Value::as_str)
                .map(SessionId::from)
        };
        let (output, error) = match outcome {
            Ok(output) => (Some(output), None),
            Err(error) => {
                let said = error.unusable_answer();
                (
                    said.map(|said| json!({ "unusable_answer": said })),
                    Some(error),
                )
            }
        };
        Invocation {
            id: InvocationId::from(self.parts.ids.fresh()),
            session_id: session.or_else(named),
            tool_name: begun.tool.to_owned(),
            input: begun.input.clone(),
            output: output.map(|output| cap_json(output, self.parts.bounds.record_bytes)),
            pipe_name: bill.pipe,
            latency_ms: i64::try_from(begun.instant.elapsed().as_millis()).ok(),
            success: error.is_none(),
            error: error.map(|error| cut_to_chars(&error.to_string(), ERROR_CHARS)),
            error_code: error.map(|error| error.code().to_owned()),
            spent: bill.spent,
            created_at: begun.at,
        }
    }
}

enum Prepared<'a> {
    Run(Box<Run<'a>>),
    /// A suspended call that had ended already; its answer is given again.
    Ended(Answer),
}

/// What is known of a call when it begins.
struct Begun {
    number: u64,
    principal: Principal,
    tool: &'static str,
    /// The arguments, shortened for the record.
    input: Value,
    at: Timestamp,
    instant: Instant,
}

impl Begun {
    fn running(&self) -> Running<'_> {
        Running {
            id: self.number,
            tool: self.tool,
            principal: &self.principal,
        }
    }
}

fn allowed(entry: &Entry, principal: &Principal) -> Result<(), ToolError> {
    if principal.scope.allows(entry.about.name) {
        return Ok(());
    }
    Err(ToolError::Forbidden {
        what: entry.about.name.to_owned(),
    })
}

/// Never ends.
async fn give_signs_of_life(call: &Call) {
    loop {
        tokio::time::sleep(SIGN_OF_LIFE_EVERY).await;
        call.sign_of_life();
    }
}
