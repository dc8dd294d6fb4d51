//! Lines on their way into a program. A line is written by who sends it, at once, when nothing
//! waits; else it queues, and one task writes what is queued together as soon as the pipe takes
//! it. So lines never mix, a quiet connection costs no change of task, and a program that does not
//! read holds up its callers only as long as they are patient.

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

use crate::transport::{Sent, TransportError};

/// Lines that are written together.
const BATCH: usize = 64;

/// The way into a program.
#[derive(Debug)]
pub(super) struct Writer<P> {
    state: Mutex<State<P>>,
    queued: Notify,
    patience: Duration,
}

#[derive(Debug)]
struct State<P> {
    /// None when there is no way in any more, for the reason beside it.
    pipe: Option<P>,
    reason: String,
    waiting: VecDeque<Waiting>,
    next_ticket: u64,
}

#[derive(Debug)]
struct Waiting {
    ticket: u64,
    body: Bytes,
    /// How much of it, and of the line's end, is written.
    written: usize,
    done: Option<oneshot::Sender<Result<(), TransportError>>>,
}

impl<P: AsyncWrite + Unpin> Writer<P> {
    /// Writes into that pipe; a line waits at most that long.
    pub(super) fn new(pipe: P, patience: Duration) -> Self {
        Self {
            state: Mutex::new(State {
                pipe: Some(pipe),
                reason: String::new(),
                waiting: VecDeque::new(),
                next_ticket: 0,
            }),
            queued: Notify::new(),
            patience,
        }
    }

    /// Writes a line; done when all of it is in the pipe.
    pub(super) async fn send(&self, body: Bytes) -> Result<(), TransportError> {
        let Some((ticket, done)) = self.begin(body)? else {
            return Ok(());
        };
        self.queued.notify_one();
        // Who stops waiting takes the line back, if nothing of it is written.
        let mut place = Place {
            writer: self,
            ticket: Some(ticket),
        };
        match timeout(self.patience, done).await {
            Ok(outcome) => {
                place.ticket = None;
                outcome.unwrap_or_else(|_| Err(closed("the writer ended", Sent::Maybe)))
            }
            Err(_) => match place.leave() {
                Some(sent) => {
                    let waited = self.patience.as_millis();
                    let reason = format!("the program read nothing for {waited} ms");
                    Err(closed(reason, sent))
                }
                None => Ok(()),
            },
        }
    }

    /// Writes it at once, or queues it and gives its place.
    #[expect(
        clippy::type_complexity,
        reason = "it is taken apart at the only place it is used"
    )]
    fn begin(
        &self,
        body: Bytes,
    ) -> Result<Option<(u64, oneshot::Receiver<Result<(), TransportError>>)>, TransportError> {
        let mut state = self.state();
        if state.pipe.is_none() {
            return Err(closed(state.reason.clone(), Sent::No));
        }
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        let alone = state.waiting.is_empty();
        let (done, receiver) = oneshot::channel();
        state.waiting.push_back(Waiting {
            ticket,
            body,
            written: 0,
            done: Some(done),
        });
        // When nothing waits, the task that writes sleeps, and nobody else polls the pipe.
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
            Err(_) => Err(closed("the writer ended", Sent::Maybe)),
        }
    }

    /// Writes what is queued, until there is no way in any more.
    pub(super) async fn pump(&self) {
        loop {
            self.queued.notified().await;
            std::future::poll_fn(|context| self.state().poll_write_all(context)).await;
            if self.state().pipe.is_none() {
                return;
            }
        }
    }

    /// Closes the way in. Who waits is told, and so is who comes later.
    pub(super) fn close(&self, reason: &str) {
        let mut state = self.state();
        state.end(reason);
        // Who closes knows better than a pipe that was found broken.
        reason.clone_into(&mut state.reason);
        drop(state);
        self.queued.notify_one();
    }
}

impl<P> Writer<P> {
    /// Whether there is a way in.
    pub(super) fn is_open(&self) -> bool {
        self.state().pipe.is_some()
    }

    fn state(&self) -> MutexGuard<'_, State<P>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P: AsyncWrite + Unpin> State<P> {
    /// Ready when nothing waits any more.
    fn poll_write_all(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while !self.waiting.is_empty() {
            let written = match ready!(self.poll_write_some(context)) {
                Ok(0) => Err(io::ErrorKind::WriteZero.into()),
                other => other,
            };
            match written {
                Ok(written) => self.account(written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.end(&format!("the program takes no input ({error})")),
            }
        }
        Poll::Ready(())
    }

    fn poll_write_some(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Some(pipe) = &mut self.pipe else {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        };
        if let [only] = self.waiting.make_contiguous() {
            return Pin::new(pipe).poll_write_vectored(context, &only.left());
        }
        let slices: Vec<IoSlice<'_>> = self
            .waiting
            .iter()
            .take(BATCH)
            .flat_map(Waiting::left)
            .collect();
        Pin::new(pipe).poll_write_vectored(context, &slices)
    }

    fn account(&mut self, mut written: usize) {
        while let Some(first) = self.waiting.front_mut() {
            let left = first.body.len() + 1 - first.written;
            if written < left {
                first.written += written;
                return;
            }
            written -= left;
            if let Some(done) = self.waiting.pop_front().and_then(|line| line.done) {
                let _ = done.send(Ok(()));
            }
        }
    }

    fn end(&mut self, reason: &str) {
        if self.pipe.take().is_some() {
            reason.clone_into(&mut self.reason);
        }
        for line in self.waiting.drain(..) {
            if let Some(done) = line.done {
                let sent = if line.written == 0 {
                    Sent::No
                } else {
                    Sent::Maybe
                };
                let _ = done.send(Err(closed(self.reason.clone(), sent)));
            }
        }
    }
}

impl Waiting {
    fn left(&self) -> [IoSlice<'_>; 2] {
        [
            IoSlice::new(self.body.get(self.written..).unwrap_or_default()),
            IoSlice::new(b"\n"),
        ]
    }
}

/// A place in the queue, which is left when nobody waits for it any more.
struct Place<'a, P> {
    writer: &'a Writer<P>,
    ticket: Option<u64>,
}

impl<P> Place<'_, P> {
    /// Leaves the queue. Tells whether the line may arrive; none if it is written already.
    fn leave(&mut self) -> Option<Sent> {
        let ticket = self.ticket.take()?;
        let mut state = self.writer.state();
        let at = state
            .waiting
            .iter()
            .position(|line| line.ticket == ticket)?;
        let line = state.waiting.get_mut(at)?;
        if line.written > 0 {
            // The rest must follow, or the next line would not begin where one begins.
            line.done = None;
            return Some(Sent::Maybe);
        }
        state.waiting.remove(at);
        Some(Sent::No)
    }
}

impl<P> Drop for Place<'_, P> {
    fn drop(&mut self) {
        self.leave();
    }
}

fn closed(reason: impl Into<String>, sent: Sent) -> TransportError {
    TransportError::Closed {
        reason: reason.into(),
        sent,
    }
}

#[cfg(test)]
mod tests;
