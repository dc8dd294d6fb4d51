//! Definition pins: the definition of each tool when it was first used, and later approvals.
//!
//! A definition that differs from its pin is quarantined until someone approves it. Pins outlive
//! the process, and several processes may share them: they are read before they are written, and
//! read again while something is quarantined. The module knows servers by name only.

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

/// The maximum number of pins per server; further tools need approval.
const MAX_PINS: usize = 4_000;
/// The number of characters of a definition that are stored to show what changed.
const MAX_TEXT_CHARS: usize = 2_000;
/// The number of bytes that are stored of all definitions of a server together.
const MAX_TEXTS_BYTES: usize = 64 * 1024;

/// A tool definition as its server offers it now.
pub(crate) struct OfferedDefinition {
    pub(crate) name: String,
    pub(crate) hash: String,
    pub(crate) definition: Arc<Value>,
}

/// The status of an offered tool compared with its pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PinStatus {
    /// Pinned just now.
    New,
    /// Equal to the pin.
    Same {
        /// Whether someone inspected and approved it.
        approved: bool,
    },
    /// Different from the pin.
    Changed,
    /// Never approved: the server added it later, and new tools need approval.
    Held,
    /// Unknown, because the pins are damaged.
    Unknown,
}

/// The tools that are pinned without approval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PinPolicy {
    /// Changed ones too.
    pub(crate) trust: bool,
    /// Only those that the server offered when it was first used.
    pub(crate) hold_new: bool,
}

/// The pin status of a server's tools.
pub(crate) struct PinCheck {
    pub(crate) statuses: Vec<PinStatus>,
    /// Whether the stored pins could be read. If not, new pins exist in this process only, and
    /// reading should be tried again.
    pub(crate) readable: bool,
}

/// The reason why pins could not be read.
enum PinReadError {
    /// The store failed; a retry may succeed.
    Store(StoreError),
    /// The stored document does not contain pins.
    Corrupt,
}

impl From<StoreError> for PinReadError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A stored pin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct DefinitionPin {
    sha256: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    approved: bool,
    /// The time of the pin, in microseconds.
    at: i64,
    /// The beginning of the definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The hash of the differing definition that was inspected, or that was quarantined first. Only
    /// this one can be approved, so that nobody approves a definition they have not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pending: Option<String>,
}

type PinTable = BTreeMap<String, DefinitionPin>;

/// What is known about a server.
#[derive(Default)]
struct PinBook {
    pins: PinTable,
    /// Whether the server was used before. Its first list may have been empty.
    seen: bool,
}

pub(crate) struct PinStore {
    key: String,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    book: Mutex<Option<PinBook>>,
    warned: AtomicBool,
}

impl PinStore {
    pub(crate) fn new(server: &str, store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self {
            key: format!("gateway/pins/{server}"),
            store,
            clock,
            book: Mutex::default(),
            warned: AtomicBool::new(false),
        }
    }

    /// Returns the status of each tool and pins those that were never seen. `anew` reads the store
    /// even if it was read before.
    ///
    /// Unreadable pins are never overwritten: if the store fails, tools are pinned in this process
    /// only; if the pins are damaged, all tools are quarantined until someone approves them.
    pub(crate) async fn check(
        &self,
        offered: &[OfferedDefinition],
        anew: bool,
        policy: PinPolicy,
    ) -> PinCheck {
        let mut book = self.book.lock().await;
        let mut read = Ok(());
        if anew || book.is_none() {
            read = self.reload(&mut book).await;
        }
        let mut now = book.take().unwrap_or_default();
        let changes = !now.seen
            || offered
                .iter()
                .any(|it| would_change(&now.pins, it, policy.trust));
        if changes && read.is_ok() {
            // If another process was faster, its pin counts.
            let mut fresh = Some(now);
            read = self.reload(&mut fresh).await;
            now = fresh.unwrap_or_default();
        }
        if matches!(read, Err(PinReadError::Corrupt)) {
            // The pins are read again next time, because they may have been repaired.
            *book = None;
            return PinCheck {
                statuses: vec![PinStatus::Unknown; offered.len()],
                readable: false,
            };
        }
        let before = now.seen.then(|| now.pins.clone());
        let holds = policy.hold_new && now.seen;
        let pinned = self.pin_all(
            &mut now.pins,
            offered,
            PinPolicy {
                hold_new: holds,
                ..policy
            },
        );
        now.seen = true;
        // An empty table is stored too: it tells that the server was used.
        if before.as_ref() != Some(&now.pins) && read.is_ok() {
            self.write(&now.pins)
                .await
                .unwrap_or_else(|error| self.warn_once(&error));
        }
        *book = Some(now);
        PinCheck {
            statuses: pinned,
            readable: read.is_ok(),
        }
    }

    /// Pins the offered definition, because someone inspected and approved it. If the pins are
    /// damaged, they start again with it: the other tools in `all` stay quarantined.
    pub(crate) async fn approve(
        &self,
        offered: &OfferedDefinition,
        all: &[OfferedDefinition],
    ) -> Result<bool, StoreError> {
        let mut book = self.book.lock().await;
        let mut now = match self.read().await {
            Ok(now) => now,
            Err(PinReadError::Store(error)) => return Err(error),
            Err(PinReadError::Corrupt) => PinBook {
                pins: all.iter().map(|it| self.unapproved_pin(it)).collect(),
                seen: true,
            },
        };
        let known = now.pins.get(&offered.name);
        let pending = known.and_then(|pin| pin.pending.as_ref());
        if pending.is_some_and(|pending| *pending != offered.hash) {
            *book = Some(now);
            return Ok(false);
        }
        let pin = self.new_pin(&now.pins, offered, true);
        now.pins.insert(offered.name.clone(), pin);
        now.seen = true;
        self.write(&now.pins).await?;
        *book = Some(now);
        Ok(true)
    }

    /// Creates a pin that matches no definition, until the offered one is approved.
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

    /// Records that these quarantined definitions were inspected.
    pub(crate) async fn mark_inspected(&self, offered: &[&OfferedDefinition]) {
        let mut book = self.book.lock().await;
        let Ok(mut now) = self.read().await else {
            return;
        };
        let before = now.pins.clone();
        for it in offered {
            if let Some(pin) = now.pins.get_mut(&it.name) {
                pin.pending = Some(it.hash.clone());
            }
        }
        if now.pins != before {
            self.write(&now.pins)
                .await
                .unwrap_or_else(|error| self.warn_once(&error));
        }
        *book = Some(now);
    }

    /// Returns the stored text of the pinned definition.
    pub(crate) async fn text(&self, tool: &str) -> Option<String> {
        let book = self.book.lock().await;
        book.as_ref()?.pins.get(tool)?.text.clone()
    }

    fn pin_all(
        &self,
        table: &mut PinTable,
        offered: &[OfferedDefinition],
        policy: PinPolicy,
    ) -> Vec<PinStatus> {
        let holds = policy.hold_new && !policy.trust;
        let mut standings = Vec::with_capacity(offered.len());
        for it in offered {
            let full = table.len() >= MAX_PINS;
            let known = table.get_mut(&it.name);
            let found = match known {
                Some(pin) if pin.sha256 == it.hash => PinStatus::Same {
                    approved: pin.approved,
                },
                Some(pin) if !policy.trust => {
                    pin.pending.get_or_insert_with(|| it.hash.clone());
                    if pin.sha256.is_empty() {
                        PinStatus::Held
                    } else {
                        PinStatus::Changed
                    }
                }
                None if full => PinStatus::Changed,
                None if holds => {
                    table.extend([self.unapproved_pin(it)]);
                    PinStatus::Held
                }
                _ => {
                    let pin = self.new_pin(table, it, false);
                    table.insert(it.name.clone(), pin);
                    PinStatus::New
                }
            };
            standings.push(found);
        }
        standings
    }

    fn new_pin(
        &self,
        table: &PinTable,
        offered: &OfferedDefinition,
        approved: bool,
    ) -> DefinitionPin {
        let kept: usize = table
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

    /// Replaces the known pins by the stored ones. The known pins stay if the store cannot be read.
    async fn reload(&self, book: &mut Option<PinBook>) -> Result<(), PinReadError> {
        let read = self.read().await;
        let mut stored = read.inspect_err(|unread| match unread {
            PinReadError::Store(error) => self.warn_once(error),
            PinReadError::Corrupt => self.warn_once(&"they are damaged"),
        })?;
        // What could not be written is still known.
        let known = book.take().unwrap_or_default();
        stored.seen |= known.seen;
        for (name, pin) in known.pins {
            stored.pins.entry(name).or_insert(pin);
        }
        *book = Some(stored);
        Ok(())
    }

    async fn read(&self) -> Result<PinBook, PinReadError> {
        let mut state = self.store.settings(&[&self.key]).await?;
        let Some(pins) = state.remove(&self.key) else {
            return Ok(PinBook::default());
        };
        let pins = serde_json::from_value(pins).map_err(|_| PinReadError::Corrupt)?;
        Ok(PinBook { pins, seen: true })
    }

    async fn write(&self, table: &PinTable) -> Result<(), StoreError> {
        let change = Change::SetState {
            key: self.key.clone(),
            value: serde_json::to_value(table).ok(),
            at: self.clock.now(),
        };
        self.store.commit(vec![change]).await
    }

    fn warn_once(&self, error: &dyn std::fmt::Display) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, pins = self.key, "could not read or write tool pins");
        }
    }
}

/// Returns true if checking a tool would change the pins.
fn would_change(table: &PinTable, offered: &OfferedDefinition, trust: bool) -> bool {
    match table.get(&offered.name) {
        None => table.len() < MAX_PINS,
        Some(pin) if pin.sha256 == offered.hash => false,
        Some(pin) => trust || pin.pending.is_none(),
    }
}

/// Returns the changes of a definition, line by line. Beyond the part that is stored, everything is
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
    format!(
        "{diff}\n(the rest of the old definition was not stored and may differ; the new one continues:)\n{rest}"
    )
}
