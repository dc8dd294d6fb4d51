//! The queue of log lines that wait to be written to standard error.
//!
//! A client that starts the server and never reads its standard error fills the pipe, and a write
//! to a full pipe waits forever. Only the thread of the queue may wait: lines that find no room are
//! dropped and counted.

use std::{
    io::{self, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
    time::Duration,
};

/// The most bytes that wait to be written; as many may be in the process of being written.
const MAX_QUEUED_BYTES: usize = 1024 * 1024;

/// How long the end of the program waits until its log is written.
const LAST_LOG_GRACE: Duration = Duration::from_millis(500);

/// The queue of this process, if it writes its log through one.
static INSTALLED: OnceLock<LogQueue> = OnceLock::new();

/// A handle to a queue, which is also a writer: each write is one or more whole lines, and none of
/// them waits.
#[derive(Clone, Default)]
pub(crate) struct LogQueue(Arc<QueueShared>);

#[derive(Default)]
struct QueueShared {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    waiting: Vec<u8>,
    /// The number of writes that were dropped since the waiting lines were last taken.
    dropped: u64,
    /// Whether lines were taken and are not written yet.
    is_writing: bool,
}

impl LogQueue {
    /// Starts the queue of this process. `report_dropped` gets the number of dropped lines when
    /// there is room again, and may log.
    pub(crate) fn install(
        writer: impl Write + Send + 'static,
        report_dropped: impl Fn(u64) + Send + 'static,
    ) -> io::Result<Self> {
        let queue = Self::start(writer, report_dropped)?;
        // One that is already installed stays.
        let _ = INSTALLED.set(queue.clone());
        Ok(queue)
    }

    fn start(
        writer: impl Write + Send + 'static,
        report_dropped: impl Fn(u64) + Send + 'static,
    ) -> io::Result<Self> {
        let queue = Self::default();
        let taken = queue.clone();
        thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || taken.write_lines(writer, report_dropped))?;
        Ok(queue)
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        let state = self.0.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, lines: &[u8]) {
        let mut state = self.state();
        let is_full = !state.waiting.is_empty()
            && state.waiting.len().saturating_add(lines.len()) > MAX_QUEUED_BYTES;
        // Lines after a dropped one are dropped too, so that its report is in the right place.
        if is_full || state.dropped > 0 {
            state.dropped = state.dropped.saturating_add(1);
            return;
        }
        state.waiting.extend_from_slice(lines);
        drop(state);
        self.0.changed.notify_all();
    }

    /// Writes lines as they come, for as long as the process runs.
    fn write_lines(self, mut writer: impl Write, report_dropped: impl Fn(u64)) {
        loop {
            let (lines, dropped) = self.take();
            // The report waits behind the lines that were taken.
            if dropped > 0 {
                report_dropped(dropped);
            }
            // There is nobody left to report a failure to.
            let _ = writer.write_all(&lines).and_then(|()| writer.flush());
            self.state().is_writing = false;
            self.0.changed.notify_all();
        }
    }

    /// Waits for lines and takes them with the number of those that were dropped after them.
    fn take(&self) -> (Vec<u8>, u64) {
        let is_empty = |state: &mut QueueState| state.waiting.is_empty();
        let state = self.0.changed.wait_while(self.state(), is_empty);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        state.is_writing = true;
        (
            std::mem::take(&mut state.waiting),
            std::mem::take(&mut state.dropped),
        )
    }

    /// Waits until all lines are written, or the time is over.
    fn flush_within(&self, limit: Duration) {
        let is_unfinished = |state: &mut QueueState| state.is_writing || !state.waiting.is_empty();
        let changed = &self.0.changed;
        drop(changed.wait_timeout_while(self.state(), limit, is_unfinished));
    }
}

impl Write for LogQueue {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a text to standard error, through the queue if there is one: its thread may hold standard
/// error for as long as nobody reads.
pub(crate) fn write_stderr(text: &str) {
    match INSTALLED.get() {
        Some(queue) => queue.push(text.as_bytes()),
        // There is nobody left to report a failure to.
        None => drop(io::stderr().lock().write_all(text.as_bytes())),
    }
}

/// Waits for a moment until the last log lines are written.
pub(crate) fn flush() {
    if let Some(queue) = INSTALLED.get() {
        queue.flush_within(LAST_LOG_GRACE);
    }
}

/// Waits for the last log lines when it is dropped, also after a panic.
pub(crate) struct FlushGuard;

impl Drop for FlushGuard {
    fn drop(&mut self) {
        flush();
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::mpsc::{Receiver, SyncSender, sync_channel},
        time::Instant,
    };

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    /// A log whose writes wait until they are read.
    struct Pipe(SyncSender<String>);

    impl Write for Pipe {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            let sent = self.0.send(text);
            sent.map_err(|_| io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Starts a queue that reports dropped lines in a line of its own.
    fn start_queue() -> (LogQueue, Receiver<String>) {
        let (sender, reader) = sync_channel(0);
        let own: Arc<OnceLock<LogQueue>> = Arc::default();
        let reported = own.clone();
        let report = move |count: u64| {
            let queue = reported.get().unwrap();
            queue.push(format!("{count} dropped\n").as_bytes());
        };
        let queue = LogQueue::start(Pipe(sender), report).unwrap();
        assert!(own.set(queue.clone()).is_ok());
        (queue, reader)
    }

    fn read_until(reader: &Receiver<String>, end: &str) -> String {
        let mut text = String::new();
        while !text.ends_with(end) {
            text.push_str(&reader.recv_timeout(PATIENCE).unwrap());
        }
        text
    }

    #[test]
    fn lines_that_find_no_room_are_counted_and_reported_after_the_others() {
        let (queue, reader) = start_queue();
        let line = format!("{}\n", "a".repeat(1023));
        let count = 3 * MAX_QUEUED_BYTES / line.len();
        for _ in 0..count {
            queue.push(line.as_bytes());
        }
        let log = read_until(&reader, "dropped\n");
        queue.push(b"later\n");
        let written = log.lines().filter(|it| it.len() == 1023).count();
        let report = log.lines().last().unwrap();
        assert_eq!(report, format!("{} dropped", count - written));
        assert!(written * line.len() <= 2 * MAX_QUEUED_BYTES, "{written}");
        assert_eq!(read_until(&reader, "later\n"), "later\n");
    }

    #[test]
    fn a_line_longer_than_the_queue_is_written() {
        let (queue, reader) = start_queue();
        let long = format!("{}\n", "a".repeat(2 * MAX_QUEUED_BYTES));
        queue.push(long.as_bytes());
        assert_eq!(read_until(&reader, "\n"), long);
    }

    #[test]
    fn a_flush_waits_for_the_last_line_and_not_for_a_reader_that_never_comes() {
        let (queue, reader) = start_queue();
        queue.flush_within(PATIENCE);
        queue.push(b"last\n");
        let started = Instant::now();
        queue.flush_within(Duration::from_millis(50));
        assert!(started.elapsed() >= Duration::from_millis(50));
        let reading = thread::spawn(move || read_until(&reader, "last\n"));
        queue.flush_within(PATIENCE);
        assert!(started.elapsed() < PATIENCE, "the flush gave up");
        assert_eq!(reading.join().unwrap(), "last\n");
    }
}
