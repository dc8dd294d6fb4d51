//! The transport between the lines and the SDK: queued messages, running requests and the shutdown.

use std::{
    collections::{HashMap, VecDeque},
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use deliberate_json_schema::unmark_large_integers;
use rmcp::{
    RoleServer,
    model::{ClientNotification, JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{LineSplitter, StdioLine, StdioOptions, open_batches::OpenBatches};
use crate::message::{
    IncomingMessage, RpcRejection,
    batch::{opens_with_batches, read_batch_line},
    read_line, starts_session,
};

/// The number of bytes per read.
const READ_CHUNK: usize = 64 * 1024;

/// The largest number of unwritten rejections. A client that sends invalid messages and does not
/// read the rejections is not read further.
const MAX_PENDING_REJECTIONS: usize = 64;

/// The largest number of unwritten responses. A client that does not read its responses is not read
/// further until it does.
const MAX_UNREAD_RESPONSES: usize = 256;

/// The total message length of the running requests. The registry limits the number of calls; this
/// keeps many large ones from exhausting the memory.
const MAX_RUNNING_BYTES: usize = 64 * 1024 * 1024;

pub(super) struct StdioTransport<R, W> {
    input: R,
    output: Arc<StdioOutput<W>>,
    options: StdioOptions,
    lines: LineSplitter,
    chunk: Box<[u8]>,
    /// Parsed messages that were not passed on yet.
    queue: VecDeque<IncomingMessage>,
    stage: StdioStage,
    /// Whether the client may send batches; `None` until it has named its revision.
    accepts_batches: Option<bool>,
    /// Cancelled when the input has ended, to end requests that only listen.
    ending: CancellationToken,
    /// Whether any message was received.
    received_any: Arc<AtomicBool>,
}

/// The stage of the conversation.
#[derive(Debug, Clone, Copy, PartialEq)]
enum StdioStage {
    /// No conversation of either era has begun. The SDK accepts only requests and ends the
    /// connection on anything else, so anything else is dropped.
    Uninitialized,
    /// The conversation is open.
    Open,
    /// The input has ended; running requests may finish until then.
    Ending { until: Instant },
}

struct StdioOutput<W> {
    writer: tokio::sync::Mutex<Option<W>>,
    rejections: Arc<Semaphore>,
    batches: OpenBatches,
    /// The running requests with the length of each message.
    running: Mutex<HashMap<RequestId, usize>>,
    /// The number of responses that are being written.
    sends_in_flight: AtomicUsize,
    /// Notified when a request was answered or the output is broken.
    changed: Notify,
}

impl<R, W> StdioTransport<R, W> {
    pub(super) fn new(
        input: R,
        output: W,
        options: StdioOptions,
        ending: CancellationToken,
        received_any: Arc<AtomicBool>,
    ) -> Self {
        Self {
            input,
            output: Arc::new(StdioOutput {
                writer: tokio::sync::Mutex::new(Some(output)),
                rejections: Arc::new(Semaphore::new(MAX_PENDING_REJECTIONS)),
                batches: OpenBatches::default(),
                running: Mutex::default(),
                sends_in_flight: AtomicUsize::new(0),
                changed: Notify::new(),
            }),
            lines: LineSplitter::new(options.line_bytes),
            options,
            chunk: vec![0; READ_CHUNK].into_boxed_slice(),
            queue: VecDeque::new(),
            stage: StdioStage::Uninitialized,
            accepts_batches: None,
            ending,
            received_any,
        }
    }

    /// Parses lines into the queue.
    fn enqueue_lines(&mut self, count: usize) {
        let mut complete = Vec::new();
        let bytes = self.chunk.get(..count).unwrap_or_default();
        self.lines.push(bytes, |line| complete.push(line));
        for line in complete {
            self.enqueue_line(line);
        }
    }

    fn enqueue_line(&mut self, line: StdioLine) {
        let line = match line {
            StdioLine::Complete(line) => line,
            StdioLine::TooLong { id } => {
                let rejection = RpcRejection::too_long(id, self.options.line_bytes);
                self.queue.push_back(IncomingMessage::Rejected(rejection));
                return;
            }
        };
        if self.accepts_batches == Some(true)
            && let Some(messages) = read_batch_line(&line)
        {
            self.output.batches.add(&messages);
            self.queue.extend(messages);
            return;
        }
        for incoming in read_line(&line) {
            if let IncomingMessage::Message { message, .. } = &incoming {
                let opens = || opens_with_batches(message);
                self.accepts_batches = self.accepts_batches.or_else(opens);
            }
            self.queue.push_back(incoming);
        }
    }

    fn start_ending(&mut self) {
        if let Some(line) = self.lines.finish() {
            self.enqueue_line(line);
        }
        self.ending.cancel();
        if self.received_any.load(Ordering::Relaxed) {
            self.options.client_disconnected.cancel();
        }
        self.stage = StdioStage::Ending {
            until: Instant::now() + self.options.grace,
        };
    }
}

impl<R, W> StdioTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Takes the next message for the SDK from the queue, and answers rejected ones.
    async fn next_queued(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // The permit is awaited before the message leaves the queue, because this future may be
            // dropped.
            if let Some(IncomingMessage::Rejected(_)) = self.queue.front() {
                let permit = self.rejection_permit().await?;
                if let Some(IncomingMessage::Rejected(rejection)) = self.queue.pop_front() {
                    let output = self.output.clone();
                    // A separate task, because a line must never be written partially.
                    tokio::spawn(async move {
                        let id = rejection.request_id();
                        if let Some(line) = output.batches.collect(id.as_ref(), rejection.to_line())
                        {
                            drop(output.write(line).await);
                        }
                        drop(permit);
                        output.changed.notify_waiters();
                    });
                }
                continue;
            }
            if !self.queue.is_empty() && !self.wait_for_reader().await {
                return None;
            }
            let Some(IncomingMessage::Message { message, bytes }) = self.queue.pop_front() else {
                return None;
            };
            match self.admit(*message, bytes) {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(rejection) => self.queue.push_front(IncomingMessage::Rejected(rejection)),
            }
        }
    }

    /// Waits while too many responses are unread; returns false if it is time to stop. Running
    /// requests continue, so a client that reads again is served again.
    async fn wait_for_reader(&mut self) -> bool {
        loop {
            let changed = self.output.changed.notified();
            if self.output.sends_in_flight.load(Ordering::Acquire) < MAX_UNREAD_RESPONSES {
                return true;
            }
            match self.stage {
                StdioStage::Uninitialized | StdioStage::Open => tokio::select! {
                    biased;
                    () = changed => {}
                    () = self.options.shutdown.cancelled() => return false,
                },
                StdioStage::Ending { until } => {
                    if tokio::time::timeout_at(until, changed).await.is_err() {
                        return false;
                    }
                }
            }
        }
    }

    /// `None` if the client does not read and it is time to stop.
    async fn rejection_permit(&mut self) -> Option<OwnedSemaphorePermit> {
        let room = self.output.rejections.clone().acquire_owned();
        let room = match self.stage {
            StdioStage::Uninitialized | StdioStage::Open => tokio::select! {
                biased;
                room = room => room,
                () = self.options.shutdown.cancelled() => return None,
            },
            StdioStage::Ending { until } => tokio::time::timeout_at(until, room).await.ok()?,
        };
        room.ok()
    }

    /// Writes the responses of a batch that waits for nothing but this request.
    fn cancel_in_batch(&self, id: &RequestId) {
        if let Some(line) = self.output.batches.cancel(id) {
            let output = self.output.clone();
            tokio::spawn(async move {
                drop(output.write(line).await);
            });
        }
    }

    /// Tracks requests and drops messages that the SDK cannot handle.
    fn admit(
        &mut self,
        message: RxJsonRpcMessage<RoleServer>,
        bytes: usize,
    ) -> Result<Option<RxJsonRpcMessage<RoleServer>>, RpcRejection> {
        match &message {
            JsonRpcMessage::Request(request) => {
                let id = || request.id.clone().into_json_value().to_string();
                let mut running = self.output.lock_running();
                if running.contains_key(&request.id) {
                    return Err(RpcRejection::duplicate_id(id()));
                }
                if !running.is_empty()
                    && running.values().sum::<usize>() + bytes > MAX_RUNNING_BYTES
                {
                    return Err(RpcRejection::too_much_data(id()));
                }
                running.insert(request.id.clone(), bytes);
                drop(running);
                if self.stage == StdioStage::Uninitialized && starts_session(&request.request) {
                    self.stage = StdioStage::Open;
                }
            }
            _ if self.stage == StdioStage::Uninitialized => return Ok(None),
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    // The SDK does not answer a cancelled request.
                    self.output.remove_request(id);
                    self.cancel_in_batch(id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Ok(Some(message))
    }
}

impl<R, W> Transport<RoleServer> for StdioTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = self.output.clone();
        async move {
            let id = match &message {
                JsonRpcMessage::Response(response) => Some(response.id.clone()),
                JsonRpcMessage::Error(error) => error.id.clone(),
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
            };
            let _sending = StdioSendGuard::begin(&output, id.as_ref());
            let line = serde_json::to_string(&message).map_err(io::Error::other)?;
            let mut line = unmark_large_integers(line).into_bytes();
            line.push(b'\n');
            match output.batches.collect(id.as_ref(), line) {
                Some(line) => output.write(line).await,
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(message) = self.next_queued().await {
                return Some(message);
            }
            if let StdioStage::Ending { until } = self.stage {
                self.output.wait_until_idle(until).await;
                return None;
            }
            let shutdown = self.options.shutdown.clone();
            tokio::select! {
                biased;
                () = shutdown.cancelled() => self.start_ending(),
                () = self.output.wait_until_broken() => self.start_ending(),
                read = self.input.read(&mut self.chunk) => match read {
                    Ok(0) => self.start_ending(),
                    Ok(count) => {
                        self.received_any.store(true, Ordering::Relaxed);
                        self.enqueue_lines(count);
                    }
                    Err(error) => {
                        tracing::error!(%error, "standard input cannot be read");
                        self.start_ending();
                    }
                },
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // All pending writes were awaited, so a task that still holds the lock is blocked by a
        // client that does not read, and would block the shutdown forever.
        if let Ok(mut writer) = self.output.writer.try_lock() {
            writer.take();
        }
        Ok(())
    }
}

/// A response that is being written. Its id is already free, because a client that reads the
/// response may reuse the id at once.
struct StdioSendGuard<'a, W>(&'a StdioOutput<W>);

impl<'a, W> StdioSendGuard<'a, W> {
    fn begin(output: &'a StdioOutput<W>, id: Option<&RequestId>) -> Self {
        output.sends_in_flight.fetch_add(1, Ordering::AcqRel);
        if let Some(id) = id {
            output.remove_request(id);
        }
        Self(output)
    }
}

impl<W> Drop for StdioSendGuard<'_, W> {
    fn drop(&mut self) {
        self.0.sends_in_flight.fetch_sub(1, Ordering::AcqRel);
        self.0.changed.notify_waiters();
    }
}

impl<W> StdioOutput<W> {
    fn lock_running(&self) -> std::sync::MutexGuard<'_, HashMap<RequestId, usize>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remove_request(&self, id: &RequestId) {
        self.lock_running().remove(id);
        self.changed.notify_waiters();
    }

    async fn wait_until_idle(&self, until: Instant) {
        loop {
            let changed = self.changed.notified();
            // Responses and rejections that are being written count as work.
            let idle = self.lock_running().is_empty()
                && self.sends_in_flight.load(Ordering::Acquire) == 0
                && self.rejections.available_permits() == MAX_PENDING_REJECTIONS;
            if idle {
                return;
            }
            if tokio::time::timeout_at(until, changed).await.is_err() {
                let left = self.lock_running().len();
                tracing::warn!(left, "stopped before all calls had ended");
                return;
            }
        }
    }

    /// Waits until the output is broken.
    async fn wait_until_broken(&self) {
        loop {
            let changed = self.changed.notified();
            if let Ok(writer) = self.writer.try_lock()
                && writer.is_none()
            {
                return;
            }
            changed.await;
        }
    }
}

impl<W: AsyncWrite + Unpin> StdioOutput<W> {
    async fn write(&self, line: Vec<u8>) -> io::Result<()> {
        let mut slot = self.writer.lock().await;
        let Some(writer) = slot.as_mut() else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let written = async {
            writer.write_all(&line).await?;
            writer.flush().await
        }
        .await;
        if let Err(error) = &written {
            tracing::warn!(%error, "standard output cannot be written; the client is gone");
            *slot = None;
        }
        drop(slot);
        if written.is_err() {
            self.changed.notify_waiters();
        }
        written
    }
}
