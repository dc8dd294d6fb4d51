//! The progress hub: the watchers of running calls and their message queues. It knows nothing of
//! sockets.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::extract::ws::Utf8Bytes;
use deliberate_toolkit::{CallEvent, CallInfo, CallListener, Principal};
use serde::Serialize;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// The longest progress message, in characters.
const MESSAGE_CHARS: usize = 1_000;

/// Limits of watchers.
#[derive(Debug, Clone)]
pub struct ProgressOptions {
    /// The largest number of watchers.
    pub watchers: usize,
    /// The queue length of a watcher. A full queue drops the oldest messages, and the watcher is
    /// told.
    pub queue: usize,
    /// The longest message from a watcher. All messages are ignored.
    pub message_bytes: usize,
    /// The interval of pings. A watcher that is silent for twice that time, or reads nothing for
    /// that time, is disconnected.
    pub ping_every: Duration,
}

impl Default for ProgressOptions {
    fn default() -> Self {
        Self {
            watchers: 64,
            queue: 256,
            message_bytes: 4 * 1024,
            ping_every: Duration::from_secs(20),
        }
    }
}

/// Passes the events of the dispatcher on to watchers. A watcher sees the calls of its own
/// principal: by name, or, without a name, the calls without a name.
#[derive(Debug, Default)]
pub struct ProgressHub {
    pub(super) options: ProgressOptions,
    /// Read on every event, so that events cost nothing without watchers.
    count: AtomicUsize,
    watchers: RwLock<Vec<Arc<ProgressWatcher>>>,
    pub(super) closed: CancellationToken,
}

/// A watcher and its queue.
#[derive(Debug)]
pub(super) struct ProgressWatcher {
    name: Option<Arc<str>>,
    tool: Option<String>,
    queue: Mutex<WatcherQueue>,
    notify: Notify,
}

#[derive(Debug, Default)]
struct WatcherQueue {
    waiting: VecDeque<Utf8Bytes>,
    dropped: u64,
}

/// Removes the watcher when dropped.
#[derive(Debug)]
pub(super) struct WatcherGuard {
    hub: Arc<ProgressHub>,
    pub(super) watcher: Arc<ProgressWatcher>,
}

/// A message to a watcher.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum ProgressMessage<'a> {
    Began {
        call: u64,
        tool: &'a str,
    },
    Progress {
        call: u64,
        tool: &'a str,
        done: f64,
        total: Option<f64>,
        message: &'a str,
    },
    Ended {
        call: u64,
        tool: &'a str,
        error: Option<&'a str>,
        took_ms: u64,
    },
    Missed {
        count: u64,
    },
}

impl ProgressHub {
    pub fn new(options: ProgressOptions) -> Arc<Self> {
        Arc::new(Self {
            options,
            ..Self::default()
        })
    }

    /// The number of watchers.
    pub fn active(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Disconnects every watcher and accepts no more.
    pub fn close(&self) {
        self.closed.cancel();
    }

    /// Adds a watcher, if there is room; `tool` restricts it to the calls of one tool.
    pub(super) fn watch(
        self: &Arc<Self>,
        principal: &Principal,
        tool: Option<String>,
    ) -> Option<WatcherGuard> {
        let mut watchers = self
            .watchers
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if watchers.len() >= self.options.watchers || self.closed.is_cancelled() {
            return None;
        }
        let watcher = Arc::new(ProgressWatcher {
            name: principal.name.clone(),
            tool,
            queue: Mutex::default(),
            notify: Notify::new(),
        });
        watchers.push(watcher.clone());
        self.count.store(watchers.len(), Ordering::Relaxed);
        Some(WatcherGuard {
            hub: self.clone(),
            watcher,
        })
    }

    fn broadcast(&self, call: &CallInfo<'_>, message: &ProgressMessage<'_>) {
        let watchers = self.watchers.read().unwrap_or_else(PoisonError::into_inner);
        let mut text: Option<Utf8Bytes> = None;
        for watcher in watchers.iter().filter(|watcher| watcher.is_visible(call)) {
            if text.is_none() {
                text = message.to_text();
            }
            if let Some(text) = &text {
                watcher.push(text.clone(), self.options.queue);
            }
        }
    }
}

impl CallListener for ProgressHub {
    fn on_event(&self, event: CallEvent<'_>) {
        if self.active() == 0 {
            return;
        }
        match event {
            CallEvent::Started(call) => {
                let message = ProgressMessage::Began {
                    call: call.id,
                    tool: call.tool,
                };
                self.broadcast(call, &message);
            }
            CallEvent::Progress(call, progress) => {
                let words = &progress.message;
                let end = words.char_indices().nth(MESSAGE_CHARS);
                let shown = end.and_then(|(end, _)| words.get(..end));
                let message = ProgressMessage::Progress {
                    call: call.id,
                    tool: call.tool,
                    done: progress.done,
                    total: progress.total,
                    message: shown.unwrap_or(words),
                };
                self.broadcast(call, &message);
            }
            CallEvent::Ended {
                call,
                elapsed: took,
                error,
                ..
            } => {
                let message = ProgressMessage::Ended {
                    call: call.id,
                    tool: call.tool,
                    error,
                    took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                };
                self.broadcast(call, &message);
            }
            _ => {}
        }
    }
}

impl ProgressMessage<'_> {
    fn to_text(&self) -> Option<Utf8Bytes> {
        serde_json::to_string(self).ok().map(Utf8Bytes::from)
    }
}

impl ProgressWatcher {
    fn is_visible(&self, call: &CallInfo<'_>) -> bool {
        self.name == call.principal.name
            && self.tool.as_deref().is_none_or(|tool| tool == call.tool)
    }

    fn push(&self, text: Utf8Bytes, most: usize) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.waiting.len() >= most.max(1) {
            queue.waiting.pop_front();
            queue.dropped += 1;
        }
        queue.waiting.push_back(text);
        drop(queue);
        self.notify.notify_one();
    }

    /// The next message. A notice of dropped messages comes before the messages that followed them.
    pub(super) async fn next_message(&self) -> Utf8Bytes {
        loop {
            if let Some(text) = self.pop_message() {
                return text;
            }
            self.notify.notified().await;
        }
    }

    fn pop_message(&self) -> Option<Utf8Bytes> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::take(&mut queue.dropped) {
            0 => queue.waiting.pop_front(),
            count => ProgressMessage::Missed { count }.to_text(),
        }
    }
}

impl Drop for WatcherGuard {
    fn drop(&mut self) {
        let hub = &self.hub;
        let mut watchers = hub.watchers.write().unwrap_or_else(PoisonError::into_inner);
        watchers.retain(|watcher| !Arc::ptr_eq(watcher, &self.watcher));
        hub.count.store(watchers.len(), Ordering::Relaxed);
    }
}
