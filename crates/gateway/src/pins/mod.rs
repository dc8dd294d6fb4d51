//! How each tool described itself when it was first used, and what was approved since.
//!
//! A definition that is another than the pinned one is kept back until someone approves it. Pins
//! outlive the process, and several processes may share them: they are read before they are
//! written, and read again when something is kept back. Knows nothing of servers but their names.

pub(crate) mod canonical;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use deliberate_core::{Change, Clock, cut_to_chars};
use deliberate_store::{Store, StoreError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::Mutex;

/// Pins that are kept of one server; beyond them a tool needs approval.
const MAX_PINS: usize = 4_000;
/// What is kept of a definition to show what changed.
const MAX_TEXT_CHARS: usize = 2_000;
/// What is kept of all definitions of a server together.
const MAX_TEXTS_BYTES: usize = 64 * 1024;

/// A tool as its server offers it now.
pub(crate) struct Offered {
    pub(crate) name: String,
    pub(crate) hash: String,
    pub(crate) definition: Arc<Value>,
}

/// How a tool that is offered stands with its pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pinned {
    /// It was pinned just now.
    First,
    /// It is the one that is pinned, and whether someone approved it.
    Same {
        /// Someone looked at it and let it through.
        approved: bool,
    },
    /// It is another.
    Other,
    /// Nobody knows: the pins are damaged.
    Unsure,
}

/// How the tools of a server stand.
pub(crate) struct Settled {
    pub(crate) pinned: Vec<Pinned>,
    /// Whether what is stored could be read. If not, what was seen is remembered by this process
    /// alone, and it is worth looking again.
    pub(crate) read: bool,
}

/// Why there are no pins to be had.
enum Unread {
    /// The store failed; it may not the next time.
    Store(StoreError),
    /// What is stored is no book of pins.
    Damaged,
}

impl From<StoreError> for Unread {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A pin, as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Pin {
    sha256: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    approved: bool,
    /// Since when, in microseconds.
    at: i64,
    /// The beginning of the definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The other definition that was looked at, or that was the first to be kept back: only this
    /// one can be approved, so that nobody approves what they have not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pending: Option<String>,
}

type Book = BTreeMap<String, Pin>;

/// The pins of one server.
pub(crate) struct Pins {
    key: String,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    book: Mutex<Option<Book>>,
    complained: AtomicBool,
}

impl Pins {
    pub(crate) fn new(server: &str, store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self {
            key: format!("gateway/pins/{server}"),
            store,
            clock,
            book: Mutex::default(),
            complained: AtomicBool::new(false),
        }
    }

    /// How each tool stands; those that were never seen are pinned. `anew` looks at the store even
    /// if it was looked at before. With `trust` what is another is pinned, too.
    ///
    /// What can't be read is never written over: if the store fails, tools are pinned by this
    /// process alone; if the pins are damaged, all tools are kept back until someone approves them.
    pub(crate) async fn settle(&self, offered: &[Offered], anew: bool, trust: bool) -> Settled {
        let mut book = self.book.lock().await;
        let mut read = Ok(());
        if anew || book.is_none() {
            read = self.look_again(&mut book).await;
        }
        let mut now = book.take().unwrap_or_default();
        let changes = offered.iter().any(|it| would_change(&now, it, trust));
        if changes && read.is_ok() {
            // Someone else may have been faster; theirs counts.
            let mut fresh = Some(now);
            read = self.look_again(&mut fresh).await;
            now = fresh.unwrap_or_default();
        }
        if matches!(read, Err(Unread::Damaged)) {
            // Looked at again the next time: someone may have healed it.
            *book = None;
            return Settled {
                pinned: vec![Pinned::Unsure; offered.len()],
                read: false,
            };
        }
        let before = now.clone();
        let pinned = self.pin_all(&mut now, offered, trust);
        if now != before && read.is_ok() {
            self.write(&now)
                .await
                .unwrap_or_else(|error| self.complain(&error));
        }
        *book = Some(now);
        Settled {
            pinned,
            read: read.is_ok(),
        }
    }

    /// Pins what is offered now, because someone looked at it and lets it through. If the pins are
    /// damaged, they begin anew with it: of `all` the others stay kept back.
    pub(crate) async fn approve(
        &self,
        offered: &Offered,
        all: &[Offered],
    ) -> Result<bool, StoreError> {
        let mut book = self.book.lock().await;
        let mut now = match self.read().await {
            Ok(now) => now,
            Err(Unread::Store(error)) => return Err(error),
            Err(Unread::Damaged) => all.iter().map(|it| self.unseen(it)).collect(),
        };
        let pending = now.get(&offered.name).and_then(|pin| pin.pending.as_ref());
        if pending.is_some_and(|pending| *pending != offered.hash) {
            *book = Some(now);
            return Ok(false);
        }
        let pin = self.pin(&now, offered, true);
        now.insert(offered.name.clone(), pin);
        self.write(&now).await?;
        *book = Some(now);
        Ok(true)
    }

    /// A pin that nothing fits, until what is offered is approved.
    fn unseen(&self, offered: &Offered) -> (String, Pin) {
        let pin = Pin {
            sha256: String::new(),
            approved: false,
            at: self.clock.now().as_micros(),
            text: None,
            pending: Some(offered.hash.clone()),
        };
        (offered.name.clone(), pin)
    }

    /// Remembers that these, which are kept back, were looked at.
    pub(crate) async fn shown(&self, offered: &[&Offered]) {
        let mut book = self.book.lock().await;
        let Ok(mut now) = self.read().await else {
            return;
        };
        let before = now.clone();
        for it in offered {
            if let Some(pin) = now.get_mut(&it.name) {
                pin.pending = Some(it.hash.clone());
            }
        }
        if now != before {
            self.write(&now)
                .await
                .unwrap_or_else(|error| self.complain(&error));
        }
        *book = Some(now);
    }

    /// What is kept of the pinned definition.
    pub(crate) async fn text(&self, tool: &str) -> Option<String> {
        let book = self.book.lock().await;
        book.as_ref()?.get(tool)?.text.clone()
    }

    fn pin_all(&self, book: &mut Book, offered: &[Offered], trust: bool) -> Vec<Pinned> {
        let mut standings = Vec::with_capacity(offered.len());
        for it in offered {
            let full = book.len() >= MAX_PINS;
            let known = book.get_mut(&it.name);
            let found = match known {
                Some(pin) if pin.sha256 == it.hash => Pinned::Same {
                    approved: pin.approved,
                },
                Some(pin) if !trust => {
                    pin.pending.get_or_insert_with(|| it.hash.clone());
                    Pinned::Other
                }
                None if full => Pinned::Other,
                _ => {
                    let pin = self.pin(book, it, false);
                    book.insert(it.name.clone(), pin);
                    Pinned::First
                }
            };
            standings.push(found);
        }
        standings
    }

    fn pin(&self, book: &Book, offered: &Offered, approved: bool) -> Pin {
        let kept: usize = book
            .values()
            .filter_map(|pin| pin.text.as_ref())
            .map(String::len)
            .sum();
        let text = cut_to_chars(&canonical::readable(&offered.definition), MAX_TEXT_CHARS);
        Pin {
            sha256: offered.hash.clone(),
            approved,
            at: self.clock.now().as_micros(),
            text: (kept + text.len() <= MAX_TEXTS_BYTES).then_some(text),
            pending: None,
        }
    }

    /// What is stored, in place of what is known. What is known stays if it can't be read.
    async fn look_again(&self, book: &mut Option<Book>) -> Result<(), Unread> {
        let read = self.read().await;
        let mut stored = read.inspect_err(|unread| match unread {
            Unread::Store(error) => self.complain(error),
            Unread::Damaged => self.complain(&"they are damaged"),
        })?;
        // What could not be written is still known.
        for (name, pin) in book.take().unwrap_or_default() {
            stored.entry(name).or_insert(pin);
        }
        *book = Some(stored);
        Ok(())
    }

    async fn read(&self) -> Result<Book, Unread> {
        let mut state = self.store.engine_state(&[&self.key]).await?;
        let book = state.remove(&self.key).map(serde_json::from_value);
        match book {
            None => Ok(Book::new()),
            Some(book) => book.map_err(|_| Unread::Damaged),
        }
    }

    async fn write(&self, book: &Book) -> Result<(), StoreError> {
        let change = Change::SetState {
            key: self.key.clone(),
            value: serde_json::to_value(book).ok(),
            at: self.clock.now(),
        };
        self.store.commit(vec![change]).await
    }

    fn complain(&self, error: &dyn std::fmt::Display) {
        if !self.complained.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, pins = self.key, "pins of tools can't be kept or read");
        }
    }
}

/// Whether looking at a tool changes what is pinned.
fn would_change(book: &Book, offered: &Offered, trust: bool) -> bool {
    match book.get(&offered.name) {
        None => book.len() < MAX_PINS,
        Some(pin) if pin.sha256 == offered.hash => false,
        Some(pin) => trust || pin.pending.is_none(),
    }
}

/// What became of a definition, line by line. Of what lies beyond the part that is kept all is
/// shown: nobody should approve what they did not see.
pub(crate) fn difference(before: &str, now: &Value) -> String {
    const MAX_DIFF_CHARS: usize = 4_000;
    const MAX_REST_CHARS: usize = 20_000;
    let whole = canonical::readable(now);
    let kept = cut_to_chars(&whole, MAX_TEXT_CHARS);
    let lines = similar::TextDiff::from_lines(before, kept.as_str());
    let diff = lines.unified_diff().context_radius(1).to_string();
    let visible: Vec<String> = diff.lines().map(crate::scan::visible).collect();
    let diff = cut_to_chars(&visible.join("\n"), MAX_DIFF_CHARS);
    let rest: String = whole.chars().skip(MAX_TEXT_CHARS).collect();
    if rest.is_empty() {
        return diff;
    }
    let rest: Vec<String> = rest.lines().map(crate::scan::visible).collect();
    let rest = cut_to_chars(&rest.join("\n"), MAX_REST_CHARS);
    format!("{diff}\n(what follows was not kept, and may have changed; it now is:)\n{rest}")
}
