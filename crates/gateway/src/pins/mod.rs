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

use deliberate_core::{Change, Clock, truncate_chars};
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
pub(crate) struct OfferedDefinition {
    pub(crate) name: String,
    pub(crate) hash: String,
    pub(crate) definition: Arc<Value>,
}

/// How a tool that is offered stands with its pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PinStatus {
    /// It was pinned just now.
    New,
    /// It is the one that is pinned, and whether someone approved it.
    Same {
        /// Someone looked at it and let it through.
        approved: bool,
    },
    /// It is another.
    Changed,
    /// Nobody knows: the pins are damaged.
    Unknown,
}

/// How the tools of a server stand.
pub(crate) struct PinCheck {
    pub(crate) statuses: Vec<PinStatus>,
    /// Whether what is stored could be read. If not, what was seen is remembered by this process
    /// alone, and it is worth looking again.
    pub(crate) readable: bool,
}

/// Why there are no pins to be had.
enum PinReadError {
    /// The store failed; it may not the next time.
    Store(StoreError),
    /// What is stored is no book of pins.
    Corrupt,
}

impl From<StoreError> for PinReadError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A pin, as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct DefinitionPin {
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

type PinTable = BTreeMap<String, DefinitionPin>;

/// The pins of one server.
pub(crate) struct PinStore {
    key: String,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    table: Mutex<Option<PinTable>>,
    warned: AtomicBool,
}

impl PinStore {
    pub(crate) fn new(server: &str, store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self {
            key: format!("gateway/pins/{server}"),
            store,
            clock,
            table: Mutex::default(),
            warned: AtomicBool::new(false),
        }
    }

    /// How each tool stands; those that were never seen are pinned. `anew` looks at the store even
    /// if it was looked at before. With `trust` what is another is pinned, too.
    ///
    /// What can't be read is never written over: if the store fails, tools are pinned by this
    /// process alone; if the pins are damaged, all tools are kept back until someone approves them.
    pub(crate) async fn check(
        &self,
        offered: &[OfferedDefinition],
        anew: bool,
        trust: bool,
    ) -> PinCheck {
        let mut book = self.table.lock().await;
        let mut read = Ok(());
        if anew || book.is_none() {
            read = self.reload(&mut book).await;
        }
        let mut now = book.take().unwrap_or_default();
        let changes = offered.iter().any(|it| would_change(&now, it, trust));
        if changes && read.is_ok() {
            // Someone else may have been faster; theirs counts.
            let mut fresh = Some(now);
            read = self.reload(&mut fresh).await;
            now = fresh.unwrap_or_default();
        }
        if matches!(read, Err(PinReadError::Corrupt)) {
            // Looked at again the next time: someone may have healed it.
            *book = None;
            return PinCheck {
                statuses: vec![PinStatus::Unknown; offered.len()],
                readable: false,
            };
        }
        let before = now.clone();
        let pinned = self.pin_all(&mut now, offered, trust);
        if now != before && read.is_ok() {
            self.write(&now)
                .await
                .unwrap_or_else(|error| self.warn_once(&error));
        }
        *book = Some(now);
        PinCheck {
            statuses: pinned,
            readable: read.is_ok(),
        }
    }

    /// Pins what is offered now, because someone looked at it and lets it through. If the pins are
    /// damaged, they begin anew with it: of `all` the others stay kept back.
    pub(crate) async fn approve(
        &self,
        offered: &OfferedDefinition,
        all: &[OfferedDefinition],
    ) -> Result<bool, StoreError> {
        let mut book = self.table.lock().await;
        let mut now = match self.read().await {
            Ok(now) => now,
            Err(PinReadError::Store(error)) => return Err(error),
            Err(PinReadError::Corrupt) => all.iter().map(|it| self.unapproved_pin(it)).collect(),
        };
        let pending = now.get(&offered.name).and_then(|pin| pin.pending.as_ref());
        if pending.is_some_and(|pending| *pending != offered.hash) {
            *book = Some(now);
            return Ok(false);
        }
        let pin = self.new_pin(&now, offered, true);
        now.insert(offered.name.clone(), pin);
        self.write(&now).await?;
        *book = Some(now);
        Ok(true)
    }

    /// A pin that nothing fits, until what is offered is approved.
    fn unapproved_pin(&self, offered: &OfferedDefinition) -> (String, DefinitionPin) {
        let pin = DefinitionPin {
            sha256: String::new(),
            approved: false,
            at: self.clock.now().as_micros(),
            text: None,
            pending: Some(offered.hash.clone()),
        };
        (offered.name.clone(), pin)
    }

    /// Remembers that these, which are kept back, were looked at.
    pub(crate) async fn mark_inspected(&self, offered: &[&OfferedDefinition]) {
        let mut book = self.table.lock().await;
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
                .unwrap_or_else(|error| self.warn_once(&error));
        }
        *book = Some(now);
    }

    /// What is kept of the pinned definition.
    pub(crate) async fn text(&self, tool: &str) -> Option<String> {
        let book = self.table.lock().await;
        book.as_ref()?.get(tool)?.text.clone()
    }

    fn pin_all(
        &self,
        book: &mut PinTable,
        offered: &[OfferedDefinition],
        trust: bool,
    ) -> Vec<PinStatus> {
        let mut standings = Vec::with_capacity(offered.len());
        for it in offered {
            let full = book.len() >= MAX_PINS;
            let known = book.get_mut(&it.name);
            let found = match known {
                Some(pin) if pin.sha256 == it.hash => PinStatus::Same {
                    approved: pin.approved,
                },
                Some(pin) if !trust => {
                    pin.pending.get_or_insert_with(|| it.hash.clone());
                    PinStatus::Changed
                }
                None if full => PinStatus::Changed,
                _ => {
                    let pin = self.new_pin(book, it, false);
                    book.insert(it.name.clone(), pin);
                    PinStatus::New
                }
            };
            standings.push(found);
        }
        standings
    }

    fn new_pin(
        &self,
        book: &PinTable,
        offered: &OfferedDefinition,
        approved: bool,
    ) -> DefinitionPin {
        let kept: usize = book
            .values()
            .filter_map(|pin| pin.text.as_ref())
            .map(String::len)
            .sum();
        let text = truncate_chars(&canonical::to_readable(&offered.definition), MAX_TEXT_CHARS);
        DefinitionPin {
            sha256: offered.hash.clone(),
            approved,
            at: self.clock.now().as_micros(),
            text: (kept + text.len() <= MAX_TEXTS_BYTES).then_some(text),
            pending: None,
        }
    }

    /// What is stored, in place of what is known. What is known stays if it can't be read.
    async fn reload(&self, book: &mut Option<PinTable>) -> Result<(), PinReadError> {
        let read = self.read().await;
        let mut stored = read.inspect_err(|unread| match unread {
            PinReadError::Store(error) => self.warn_once(error),
            PinReadError::Corrupt => self.warn_once(&"they are damaged"),
        })?;
        // What could not be written is still known.
        for (name, pin) in book.take().unwrap_or_default() {
            stored.entry(name).or_insert(pin);
        }
        *book = Some(stored);
        Ok(())
    }

    async fn read(&self) -> Result<PinTable, PinReadError> {
        let mut state = self.store.settings(&[&self.key]).await?;
        let book = state.remove(&self.key).map(serde_json::from_value);
        match book {
            None => Ok(PinTable::new()),
            Some(book) => book.map_err(|_| PinReadError::Corrupt),
        }
    }

    async fn write(&self, book: &PinTable) -> Result<(), StoreError> {
        let change = Change::SetState {
            key: self.key.clone(),
            value: serde_json::to_value(book).ok(),
            at: self.clock.now(),
        };
        self.store.commit(vec![change]).await
    }

    fn warn_once(&self, error: &dyn std::fmt::Display) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, pins = self.key, "pins of tools can't be kept or read");
        }
    }
}

/// Whether looking at a tool changes what is pinned.
fn would_change(book: &PinTable, offered: &OfferedDefinition, trust: bool) -> bool {
    match book.get(&offered.name) {
        None => book.len() < MAX_PINS,
        Some(pin) if pin.sha256 == offered.hash => false,
        Some(pin) => trust || pin.pending.is_none(),
    }
}

/// What became of a definition, line by line. Of what lies beyond the part that is kept all is
/// shown: nobody should approve what they did not see.
pub(crate) fn definition_diff(before: &str, now: &Value) -> String {
    const MAX_DIFF_CHARS: usize = 4_000;
    const MAX_REST_CHARS: usize = 20_000;
    let whole = canonical::to_readable(now);
    let kept = truncate_chars(&whole, MAX_TEXT_CHARS);
    let lines = similar::TextDiff::from_lines(before, kept.as_str());
    let diff = lines.unified_diff().context_radius(1).to_string();
    let visible: Vec<String> = diff
        .lines()
        .map(super::injection_scan::escape_hidden)
        .collect();
    let diff = truncate_chars(&visible.join("\n"), MAX_DIFF_CHARS);
    let rest: String = whole.chars().skip(MAX_TEXT_CHARS).collect();
    if rest.is_empty() {
        return diff;
    }
    let rest: Vec<String> = rest
        .lines()
        .map(super::injection_scan::escape_hidden)
        .collect();
    let rest = truncate_chars(&rest.join("\n"), MAX_REST_CHARS);
    format!("{diff}\n(what follows was not kept, and may have changed; it now is:)\n{rest}")
}
