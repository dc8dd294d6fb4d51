//! Writes lines to a program's standard input. A sender writes its line directly when nothing is
//! queued; otherwise the line is queued, and one task writes the queue in batches as soon as the
//! pipe accepts it. Lines never mix, an idle connection costs no task switch, and a program that
//! does not read delays its callers only until their timeout.

use std::{
    collections::VecDeque,
    io::{self, IoSlice},
    pin::Pin,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    io::AsyncWrite,
    sync::{Notify, oneshot},
    time::timeout,
};

use crate::transport::{DeliveryStatus, TransportError};

/// The maximum number of lines that are written together.
const MAX_BATCH_LINES: usize = 64;

/// Writes lines to a program.
#[derive(Debug)]
pub(super) struct StdinWriter<P> {
    state: Mutex<StdinWriterState<P>>,
    queued: Notify,
    write_timeout: Duration,
}

#[derive(Debug)]
struct StdinWriterState<P> {
    /// The pipe; none once it is closed, for the reason in `reason`.
    pipe: Option<P>,
    reason: String,
    queue: VecDeque<QueuedLine>,
    next_ticket: u64,
}

#[derive(Debug)]
struct QueuedLine {
    ticket: u64,
    body: Bytes,
    /// The number of bytes of the line and its terminator that are written.
    written: usize,
    done: Option<oneshot::Sender<Result<(), TransportError>>>,
}

impl<P: AsyncWrite + Unpin> StdinWriter<P> {
    /// Creates a writer; a line waits at most `write_timeout`.
    pub(super) fn new(pipe: P, write_timeout: Duration) -> Self {
        Self {
            state: Mutex::new(StdinWriterState {
                pipe: Some(pipe),
                reason: String::new(),
                queue: VecDeque::new(),
                next_ticket: 0,
            }),
            queued: Notify::new(),
            write_timeout,
        }
    }

    /// Writes a line and returns when all of it is in the pipe.
    pub(super) async fn send(&self, body: Bytes) -> Result<(), TransportError> {
        let Some((ticket, done)) = self.enqueue(body)? else {
            return Ok(());
        };
        self.queued.notify_one();
        // A caller that stops waiting withdraws its line, if none of it is written.
        let mut queue_ticket = QueueTicket {
            writer: self,
            ticket: Some(ticket),
        };
        match timeout(self.write_timeout, done).await {
            Ok(outcome) => {
                queue_ticket.ticket = None;
                outcome.unwrap_or_else(|_| {
                    Err(closed_error("the writer ended", DeliveryStatus::Maybe))
                })
            }
            Err(_) => match queue_ticket.withdraw() {
                Some(sent) => {
                    let waited = self.write_timeout.as_millis();
                    let reason = format!("the program has read nothing for {waited} ms");
                    Err(closed_error(reason, sent))
                }
                None => Ok(()),
            },
        }
    }

    /// Writes the line directly, or queues it and returns its ticket.
    #[expect(
        clippy::type_complexity,
        reason = "it is destructured at the only place it is used"
    )]
    fn enqueue(
        &self,
        body: Bytes,
    ) -> Result<Option<(u64, oneshot::Receiver<Result<(), TransportError>>)>, TransportError> {
        let mut state = self.state();
        if state.pipe.is_none() {
            return Err(closed_error(state.reason.clone(), DeliveryStatus::No));
        }
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        let alone = state.queue.is_empty();
        let (done, receiver) = oneshot::channel();
        state.queue.push_back(QueuedLine {
            ticket,
            body,
            written: 0,
            done: Some(done),
        });
        // When nothing is queued, the writer task sleeps, and nobody else polls the pipe.
        let finished = alone
            && state
                .poll_write_all(&mut Context::from_waker(Waker::noop()))
                .is_ready();
        drop(state);
        if !finished {
            return Ok(Some((ticket, receiver)));
        }
        let mut receiver = receiver;
        match receiver.try_recv() {
            Ok(outcome) => outcome.map(|()| None),
            Err(_) => Err(closed_error("the writer ended", DeliveryStatus::Maybe)),
        }
    }

    /// Writes the queue until the pipe is closed.
    pub(super) async fn write_queue(&self) {
        loop {
            self.queued.notified().await;
            std::future::poll_fn(|context| self.state().poll_write_all(context)).await;
            if self.state().pipe.is_none() {
                return;
            }
        }
    }

    /// Closes the pipe. Waiting and later senders receive the reason.
    pub(super) fn close(&self, reason: &str) {
        let mut state = self.state();
        state.close_pipe(reason);
        // An explicit close has a better reason than a broken pipe.
        reason.clone_into(&mut state.reason);
        drop(state);
        self.queued.notify_one();
    }
}

impl<P> StdinWriter<P> {
    pub(super) fn is_open(&self) -> bool {
        self.state().pipe.is_some()
    }

    fn state(&self) -> MutexGuard<'_, StdinWriterState<P>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P: AsyncWrite + Unpin> StdinWriterState<P> {
    /// Writes the queue; ready when it is empty.
    fn poll_write_all(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while !self.queue.is_empty() {
            let written = match ready!(self.poll_write_some(context)) {
                Ok(0) => Err(io::ErrorKind::WriteZero.into()),
                other => other,
            };
            match written {
                Ok(written) => self.advance(written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.close_pipe(&format!("the program accepts no input ({error})")),
            }
        }
        Poll::Ready(())
    }

    fn poll_write_some(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Some(pipe) = &mut self.pipe else {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        };
        if let [only] = self.queue.make_contiguous() {
            return Pin::new(pipe).poll_write_vectored(context, &only.remaining());
        }
        let slices: Vec<IoSlice<'_>> = self
            .queue
            .iter()
            .take(MAX_BATCH_LINES)
            .flat_map(QueuedLine::remaining)
            .collect();
        Pin::new(pipe).poll_write_vectored(context, &slices)
    }

    fn advance(&mut self, mut written: usize) {
        while let Some(first) = self.queue.front_mut() {
            let left = first.body.len() + 1 - first.written;
            if written < left {
                first.written += written;
                return;
            }
            written -= left;
            if let Some(done) = self.queue.pop_front().and_then(|line| line.done) {
                let _ = done.send(Ok(()));
            }
        }
    }

    fn close_pipe(&mut self, reason: &str) {
        if self.pipe.take().is_some() {
            reason.clone_into(&mut self.reason);
        }
        for line in self.queue.drain(..) {
            if let Some(done) = line.done {
                let sent = if line.written == 0 {
                    DeliveryStatus::No
                } else {
                    DeliveryStatus::Maybe
                };
                let _ = done.send(Err(closed_error(self.reason.clone(), sent)));
            }
        }
    }
}

impl QueuedLine {
    fn remaining(&self) -> [IoSlice<'_>; 2] {
        [
            IoSlice::new(self.body.get(self.written..).unwrap_or_default()),
            IoSlice::new(b"\n"),
        ]
    }
}

/// A place in the queue that is released when nobody waits for it any more.
struct QueueTicket<'a, P> {
    writer: &'a StdinWriter<P>,
    ticket: Option<u64>,
}

impl<P> QueueTicket<'_, P> {
    /// Leaves the queue. Returns whether the line may arrive; none if it is written already.
    fn withdraw(&mut self) -> Option<DeliveryStatus> {
        let ticket = self.ticket.take()?;
        let mut state = self.writer.state();
        let at = state.queue.iter().position(|line| line.ticket == ticket)?;
        let line = state.queue.get_mut(at)?;
        if line.written > 0 {
            // The rest of the line must follow, or the next line would not start at a line
            // beginning.
            line.done = None;
            return Some(DeliveryStatus::Maybe);
        }
        state.queue.remove(at);
        Some(DeliveryStatus::No)
    }
}

impl<P> Drop for QueueTicket<'_, P> {
    fn drop(&mut self) {
        self.withdraw();
    }
}

fn closed_error(reason: impl Into<String>, sent: DeliveryStatus) -> TransportError {
    TransportError::Closed {
        reason: reason.into(),
        sent,
    }
}

#[cfg(test)]
mod tests;
