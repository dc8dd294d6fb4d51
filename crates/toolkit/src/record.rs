//! The records of calls: what was asked, how it ended, what it cost.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use deliberate_core::{
    Change, Invocation, InvocationId, SessionId, Spent, Timestamp, cap_json, cut_to_chars,
};
use deliberate_store::Store;
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use tokio_util::task::TaskTracker;
use tracing::Span;

use crate::{Event, Principal, Registry, Running, ToolError, bill::Bill, event::Listeners};

/// How long the answer to a failed call waits for its record.
const RECORD_TIME: Duration = Duration::from_secs(1);

/// What a record keeps of an error's text.
const ERROR_CHARS: usize = 1_000;

/// Records that may wait to be written.
const WAITING_RECORDS: usize = 8_192;

/// Records that are written together.
const RECORDS_AT_ONCE: usize = 256;

/// How long records are gathered: each write wakes the disk.
const GATHERED: Duration = Duration::from_millis(200);

/// What is known of a call when it begins.
pub(crate) struct Begun {
    listeners: Listeners,
    /// Counts it among the calls that are not over.
    _open: Open,
    /// Whether it was told that it is over.
    told: AtomicBool,
    pub(crate) number: u64,
    pub(crate) principal: Principal,
    pub(crate) tool: &'static str,
    /// The arguments, shortened for the record.
    pub(crate) input: Value,
    pub(crate) at: Timestamp,
    pub(crate) instant: Instant,
}

/// A call that is not over.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for Begun {
    /// A call that nobody waits for any more is over, too.
    fn drop(&mut self) {
        if !self.told.load(Ordering::Relaxed) {
            self.end(Some(ToolError::Cancelled.code()), &Spent::default());
        }
    }
}

impl Begun {
    /// Tells that it is over.
    pub(crate) fn end(&self, error: Option<&str>, spent: &Spent) {
        self.told.store(true, Ordering::Relaxed);
        note_end(&Span::current(), error, spent);
        self.listeners.tell(Event::Ended {
            call: &self.running(),
            took: self.instant.elapsed(),
            error,
            spent,
        });
    }

    pub(crate) fn running(&self) -> Running<'_> {
        Running {
            id: self.number,
            tool: self.tool,
            principal: &self.principal,
        }
    }
}

/// Records of calls that changed nothing. Their answers wait for no disk: if the process dies, a
/// record that nobody saw is lost, and nothing else.
#[derive(Default)]
pub(crate) struct Records {
    queue: OnceLock<mpsc::Sender<Waiting>>,
    /// Records of calls that failed, which are being written.
    failures: TaskTracker,
}

enum Waiting {
    Record(Box<Invocation>),
    Flush(oneshot::Sender<()>),
}

impl Records {
    /// Writes the record soon. If the database is stuck and too many wait, it is left out: a
    /// record must not hold up what it tells of.
    pub(crate) fn later(&self, store: &Arc<dyn Store>, record: Invocation) {
        let queue = self.queue.get_or_init(|| {
            let (sender, receiver) = mpsc::channel(WAITING_RECORDS);
            tokio::spawn(write(receiver, store.clone()));
            sender
        });
        if queue.try_send(Waiting::Record(Box::new(record))).is_err() {
            tracing::warn!("a call was not recorded, because too many records wait");
        }
    }

    /// Writes these at once. Whoever asked waits a moment for that, and no longer: a database that
    /// is stuck or still being opened writes them when it can.
    async fn at_once(&self, store: &Arc<dyn Store>, changes: Vec<Change>) {
        let store = store.clone();
        let written = self.failures.spawn(async move {
            if let Err(error) = store.commit(changes).await {
                tracing::warn!(%error, "a failed call could not be recorded");
            }
        });
        if tokio::time::timeout(RECORD_TIME, written).await.is_err() {
            tracing::warn!("a failed call waits to be recorded");
        }
    }

    /// Waits until all records so far are written.
    pub(crate) async fn flushed(&self) {
        // Closed or not, it takes more; only one that is closed is waited for.
        self.failures.close();
        self.failures.wait().await;
        let Some(queue) = self.queue.get() else {
            return;
        };
        let (tell, told) = oneshot::channel();
        if queue.send(Waiting::Flush(tell)).await.is_ok() {
            drop(told.await);
        }
    }

    /// Likewise; whoever only counts them does not wait for a database that is stuck.
    pub(crate) async fn flushed_soon(&self) {
        if tokio::time::timeout(RECORD_TIME, self.flushed())
            .await
            .is_err()
        {
            tracing::warn!("records of calls are late");
        }
    }
}

async fn write(mut queue: mpsc::Receiver<Waiting>, store: Arc<dyn Store>) {
    let mut waiting = Vec::with_capacity(RECORDS_AT_ONCE);
    while queue.recv_many(&mut waiting, RECORDS_AT_ONCE).await > 0 {
        gather(&mut queue, &mut waiting).await;
        let mut changes = Vec::with_capacity(waiting.len());
        let mut listeners = Vec::new();
        for item in waiting.drain(..) {
            match item {
                Waiting::Record(record) => changes.push(Change::AddInvocation(*record)),
                Waiting::Flush(tell) => listeners.push(tell),
            }
        }
        if !changes.is_empty()
            && let Err(error) = store.commit(changes).await
        {
            tracing::warn!(%error, "calls could not be recorded");
        }
        for tell in listeners {
            // Who asked may have gone.
            let _ = tell.send(());
        }
    }
}

/// Waits a moment for more, unless someone waits for these.
async fn gather(queue: &mut mpsc::Receiver<Waiting>, waiting: &mut Vec<Waiting>) {
    let until = Instant::now() + GATHERED;
    loop {
        let wanted = |item: &Waiting| matches!(item, Waiting::Flush(_));
        if waiting.len() >= RECORDS_AT_ONCE || waiting.iter().any(wanted) {
            return;
        }
        match tokio::time::timeout_at(until, queue.recv()).await {
            Ok(Some(item)) => waiting.push(item),
            Ok(None) | Err(_) => return,
        }
    }
}

impl Registry {
    /// Waits until the record of every call that was answered is kept.
    pub async fn recorded(&self) {
        self.records.flushed().await;
    }

    /// Lets go of what is remembered, when every call that was answered is recorded.
    pub async fn close(&self) {
        self.recorded().await;
        self.parts.store.close().await;
    }

    /// A call begins.
    pub(crate) fn begin(
        &self,
        tool: &'static str,
        arguments: &Value,
        principal: &Principal,
    ) -> Begun {
        self.open_calls.fetch_add(1, Ordering::AcqRel);
        let begun = Begun {
            listeners: self.listeners.clone(),
            _open: Open(self.open_calls.clone()),
            told: AtomicBool::new(false),
            number: self.call_number(),
            principal: principal.clone(),
            tool,
            input: cap_json(arguments.clone(), self.parts.bounds.record_bytes),
            at: self.parts.clock.now(),
            instant: Instant::now(),
        };
        self.listeners.tell(Event::Began(&begun.running()));
        begun
    }

    /// How many calls are not over: they wait, run, or are being kept.
    pub fn open_calls(&self) -> usize {
        self.open_calls.load(Ordering::Acquire)
    }

    /// Records a call that failed, and with it what that means for where it is kept. If that fails
    /// too, the caller still hears of the first failure.
    pub(crate) async fn record_failure(
        &self,
        begun: Begun,
        error: &ToolError,
        bill: Bill,
        kept: Option<Change>,
    ) {
        tracing::info!(
            tool = begun.tool,
            code = error.code(),
            took_ms = u64::try_from(begun.instant.elapsed().as_millis()).unwrap_or(u64::MAX),
            "a call failed"
        );
        begun.end(Some(error.code()), &bill.spent);
        let record = self.record(&begun, bill, None, Err(error));
        let mut changes = vec![Change::AddInvocation(record)];
        changes.extend(kept);
        self.records.at_once(&self.parts.store, changes).await;
    }

    pub(crate) fn record(
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

/// Writes down in the span of a call how it ended.
fn note_end(span: &Span, error: Option<&str>, spent: &Spent) {
    if span.is_disabled() {
        return;
    }
    if let Some(code) = error {
        span.record("error.type", code);
    }
    if spent.model_calls > 0 {
        span.record("deliberate.model_calls", spent.model_calls);
        span.record("gen_ai.usage.input_tokens", spent.prompt_tokens);
        span.record("gen_ai.usage.output_tokens", spent.completion_tokens);
    }
}
