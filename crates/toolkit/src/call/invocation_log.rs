//! The invocation log: one record per call, with its arguments, outcome and cost.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use deliberate_core::{
    Change, Invocation, InvocationId, ModelUsage, SessionId, Timestamp, truncate_chars,
    truncate_json,
};
use deliberate_store::{Store, StoreError};
use serde_json::{Map, Value, json};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};
use tokio_util::task::TaskTracker;
use tracing::Span;

use super::context::{nested_call::render_external_text, usage::UsageTally};
use crate::{
    CallEvent, CallInfo, Principal, RAW_RESULT, Registry, ToolError, event::CallListeners,
    external_tools::upstream_failure,
};

/// How long the answer of a failed call waits for its record.
const RECORD_TIMEOUT: Duration = Duration::from_secs(1);

/// The longest error message in a record.
const MAX_ERROR_CHARS: usize = 1_000;

/// The most records that may wait to be written.
const MAX_QUEUED_RECORDS: usize = 8_192;

/// The most records that are written together.
const MAX_BATCH: usize = 256;

/// How long records are collected before a write, because each write wakes the disk.
const BATCH_WINDOW: Duration = Duration::from_millis(200);

/// The facts about a call that are known at its start.
pub(crate) struct CallStart {
    listeners: CallListeners,
    /// Counts the call as open.
    _open: OpenCallGuard,
    /// Whether the listeners have been told of the end.
    end_reported: AtomicBool,
    pub(crate) number: u64,
    pub(crate) principal: Principal,
    pub(crate) tool: &'static str,
    /// The upstream server's tool that the call stands for.
    external_tool: Option<Arc<str>>,
    /// The arguments, truncated for the record.
    pub(crate) input: Value,
    pub(crate) started_at: Timestamp,
    pub(crate) instant: Instant,
}

/// Counts an open call until it is dropped.
struct OpenCallGuard(Arc<AtomicUsize>);

impl Drop for OpenCallGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for CallStart {
    /// Reports the end of a call whose future was dropped, too.
    fn drop(&mut self) {
        self.end(Some(ToolError::Cancelled.code()), &ModelUsage::default());
    }
}

impl CallStart {
    /// Reports the end of the call to the listeners, once.
    pub(crate) fn end(&self, error: Option<&str>, spent: &ModelUsage) {
        if self.end_reported.swap(true, Ordering::Relaxed) {
            return;
        }
        record_end_on_span(&Span::current(), error, spent);
        if error.is_none() {
            tracing::debug!(
                tool = self.tool,
                principal = self.principal.name.as_deref(),
                took_ms = elapsed_ms(self.instant),
                "a call ended"
            );
        }
        self.listeners.emit(CallEvent::Ended {
            call: &self.call_info(),
            elapsed: self.instant.elapsed(),
            error,
            usage: spent,
        });
    }

    /// Replaces the short references in the recorded arguments, so that the deletion of what they
    /// mean finds the record. The other arguments stay as they were sent.
    pub(crate) fn set_references(&mut self, references: Map<String, Value>) {
        let Some(fields) = self.input.as_object_mut() else {
            return;
        };
        for (name, value) in references {
            if let Some(field) = fields.get_mut(&name) {
                *field = value;
            }
        }
    }

    /// Returns the tool's name for logs: for a call of an external tool, the name of that.
    fn logged_tool(&self) -> &str {
        self.external_tool.as_deref().unwrap_or(self.tool)
    }

    pub(crate) fn call_info(&self) -> CallInfo<'_> {
        CallInfo {
            id: self.number,
            tool: self.tool,
            principal: &self.principal,
        }
    }
}

/// Writes the records of calls that changed nothing. Their answers do not wait for the disk: a
/// crash of the process loses records that no one has seen, and nothing else.
#[derive(Default)]
pub(crate) struct InvocationWriter {
    queue: OnceLock<mpsc::Sender<WriterCommand>>,
    /// The records of failed calls that are being written.
    failures: TaskTracker,
}

enum WriterCommand {
    Record(Box<Invocation>),
    Flush(oneshot::Sender<()>),
}

impl InvocationWriter {
    /// Queues the record. If the database is stuck and the queue is full, the record is dropped,
    /// because a record must not delay the call that it describes.
    pub(crate) fn enqueue(&self, store: &Arc<dyn Store>, record: Invocation) {
        let queue = self.queue.get_or_init(|| {
            let (sender, receiver) = mpsc::channel(MAX_QUEUED_RECORDS);
            tokio::spawn(run_writer(receiver, store.clone()));
            sender
        });
        if queue
            .try_send(WriterCommand::Record(Box::new(record)))
            .is_err()
        {
            tracing::warn!("a call was not logged because too many log records are queued");
        }
    }

    /// Runs the write at once. The caller waits for a moment only: a database that is stuck or still
    /// being opened writes later.
    async fn write_now(
        &self,
        write: impl Future<Output = Result<(), StoreError>> + Send + 'static,
    ) {
        let written = self.failures.spawn(async move {
            if let Err(error) = write.await {
                tracing::warn!(%error, "a failed call could not be logged");
            }
        });
        if tokio::time::timeout(RECORD_TIMEOUT, written).await.is_err() {
            tracing::warn!("the log record of a failed call is delayed");
        }
    }

    /// Waits until all records so far are written.
    pub(crate) async fn flush(&self) {
        // A closed tracker still accepts tasks, and only a closed one can be waited for.
        self.failures.close();
        self.failures.wait().await;
        let Some(queue) = self.queue.get() else {
            return;
        };
        let (tell, told) = oneshot::channel();
        if queue.send(WriterCommand::Flush(tell)).await.is_ok() {
            drop(told.await);
        }
    }

    /// Does the same, but does not wait long for a database that is stuck.
    pub(crate) async fn flush_bounded(&self) {
        if tokio::time::timeout(RECORD_TIMEOUT, self.flush())
            .await
            .is_err()
        {
            tracing::warn!("log records of calls are delayed");
        }
    }
}

async fn run_writer(mut queue: mpsc::Receiver<WriterCommand>, store: Arc<dyn Store>) {
    let mut waiting = Vec::with_capacity(MAX_BATCH);
    while queue.recv_many(&mut waiting, MAX_BATCH).await > 0 {
        collect_batch(&mut queue, &mut waiting).await;
        let mut changes = Vec::with_capacity(waiting.len());
        let mut listeners = Vec::new();
        for item in waiting.drain(..) {
            match item {
                WriterCommand::Record(record) => changes.push(Change::AddInvocation(*record)),
                WriterCommand::Flush(tell) => listeners.push(tell),
            }
        }
        if !changes.is_empty()
            && let Err(error) = store.commit(changes).await
        {
            tracing::warn!(%error, "calls could not be logged");
        }
        for tell in listeners {
            // The receiver may be gone.
            let _ = tell.send(());
        }
    }
}

/// Collects more records for a moment, unless someone waits for these.
async fn collect_batch(
    queue: &mut mpsc::Receiver<WriterCommand>,
    waiting: &mut Vec<WriterCommand>,
) {
    let until = Instant::now() + BATCH_WINDOW;
    loop {
        let wanted = |item: &WriterCommand| matches!(item, WriterCommand::Flush(_));
        if waiting.len() >= MAX_BATCH || waiting.iter().any(wanted) {
            return;
        }
        match tokio::time::timeout_at(until, queue.recv()).await {
            Ok(Some(item)) => waiting.push(item),
            Ok(None) | Err(_) => return,
        }
    }
}

impl Registry {
    /// Waits until the record of every answered call is stored.
    pub async fn flush_log(&self) {
        self.log.flush().await;
    }

    /// Closes the store after the record of every answered call is stored.
    pub async fn close(&self) {
        self.flush_log().await;
        self.deps.store.close().await;
    }

    /// Starts a call: numbers it, truncates its arguments, and tells the listeners.
    pub(crate) fn start_call(
        &self,
        tool: &'static str,
        arguments: &Value,
        principal: &Principal,
    ) -> CallStart {
        self.open_calls.fetch_add(1, Ordering::AcqRel);
        let begun = CallStart {
            listeners: self.listeners.clone(),
            _open: OpenCallGuard(self.open_calls.clone()),
            end_reported: AtomicBool::new(false),
            number: self.call_number(),
            principal: principal.clone(),
            tool,
            external_tool: self.tools.logged_external_name(tool, arguments),
            input: self.recorded_input(arguments),
            started_at: self.deps.clock.now(),
            instant: Instant::now(),
        };
        self.listeners.emit(CallEvent::Started(&begun.call_info()));
        begun
    }

    /// Returns the number of calls that wait, run or are being committed.
    pub fn open_calls(&self) -> usize {
        self.open_calls.load(Ordering::Acquire)
    }

    /// Records a failed call and, if it is stored, its end. If that fails too, the caller still
    /// gets the first error.
    pub(crate) async fn record_failure(
        &self,
        start: &CallStart,
        error: &ToolError,
        tally: UsageTally,
        change: Option<Change>,
    ) {
        tracing::info!(
            tool = start.logged_tool(),
            principal = start.principal.name.as_deref(),
            code = error.code(),
            took_ms = elapsed_ms(start.instant),
            "a call failed"
        );
        start.end(Some(error.code()), &tally.usage);
        let tool = start.tool;
        let mut record = self.record(start, tally, None, Err(error));
        let (tools, store) = (self.tools.clone(), self.deps.store.clone());
        let write = async move {
            // The arguments of a rejected call still have short references. Those that mean nothing
            // stay as they are.
            let input = record.input.clone();
            if let Ok(resolved) = tools.resolve_references(tool, input, store.as_ref()).await {
                record.session_id = named_session(&resolved);
                record.input = resolved;
            }
            let record = Change::AddInvocation(record);
            let changes = std::iter::once(record.clone()).chain(change);
            match store.commit(changes.collect()).await {
                // Another worker has the call, and its outcome counts.
                Err(StoreError::AlreadyEnded) => store.commit(vec![record]).await,
                outcome => outcome,
            }
        };
        self.log.write_now(write).await;
    }

    /// Returns the arguments of a call as its record has them.
    fn recorded_input(&self, arguments: &Value) -> Value {
        let arguments = self.tools.with_digits(arguments.clone());
        truncate_json(arguments, self.deps.limits.record_bytes)
    }

    pub(crate) fn record(
        &self,
        start: &CallStart,
        tally: UsageTally,
        session: Option<SessionId>,
        outcome: Result<Value, &ToolError>,
    ) -> Invocation {
        let (output, error) = match outcome {
            Ok(output) => (Some(self.tools.with_digits(output)), None),
            Err(error) => {
                let said = error.unusable_answer();
                (
                    said.map(|said| json!({ "unusable_answer": said })),
                    Some(error),
                )
            }
        };
        // A tool of an upstream server that reports a failure has answered, but not succeeded.
        let failure = output.as_ref().and_then(|output| {
            let code = upstream_failure(output)?;
            let text = render_external_text(output.get(RAW_RESULT)?);
            Some((code.as_str().to_owned(), text))
        });
        let failure =
            failure.or_else(|| error.map(|error| (error.code().to_owned(), error.to_string())));
        let (error_code, error) = failure.unzip();
        Invocation {
            id: InvocationId::from(self.deps.ids.new_id()),
            session_id: session.or_else(|| named_session(&start.input)),
            tool_name: start.logged_tool().to_owned(),
            principal: start.principal.owner(),
            input: start.input.clone(),
            output: output.map(|output| truncate_json(output, self.deps.limits.record_bytes)),
            pipe_name: tally.pipe,
            latency_ms: i64::try_from(start.instant.elapsed().as_millis()).ok(),
            success: error.is_none(),
            error: error.map(|error| truncate_chars(&error, MAX_ERROR_CHARS)),
            error_code,
            spent: tally.usage,
            created_at: start.started_at,
        }
    }
}

/// Returns the session that arguments name.
fn named_session(arguments: &Value) -> Option<SessionId> {
    let id = arguments.get("session_id").and_then(Value::as_str);
    id.map(SessionId::from)
}

fn elapsed_ms(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// Records the end of a call in its trace span.
fn record_end_on_span(span: &Span, error: Option<&str>, spent: &ModelUsage) {
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
