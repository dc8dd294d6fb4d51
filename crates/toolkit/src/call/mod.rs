//! What a running tool has at hand: reading the store, asking the model, telling its progress.

mod telling;
mod thinking;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use deliberate_core::Timestamp;
use deliberate_store::Store;
use deliberate_thinker::ClientDriven;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::{
    sync::{Mutex as AsyncMutex, OnceCell},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tracing::Span;

use crate::{
    Caller, Issue, Parts, ToolError, TraceContext, Waits,
    bill::Bill,
    event::Listeners,
    held::{Doing, Stage},
    record::Records,
    registry::Entries,
    trace::SpanReader,
};
use telling::Said;
use thinking::Mind;

pub use thinking::Thinking;

/// One run of a tool.
pub struct Call {
    pub(crate) whole: Arc<Whole>,
    /// Stands before the names of asks and notes, so that those of a tool that is run by a tool
    /// are its own. Empty for the tool that was called.
    pub(crate) prefix: String,
}

/// What a tool shares with the tools it runs.
pub(crate) struct Whole {
    pub(crate) scene: Scene,
    mind: OnceCell<Mind>,
    deadline: Instant,
    said: Mutex<Said>,
    bill: Mutex<Bill>,
    notes: Mutex<BTreeMap<String, Value>>,
}

/// What a call that was suspended knows from its earlier runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Journal {
    /// The replies, by the key of their ask.
    pub(crate) replies: BTreeMap<String, String>,
    /// What was found then and must stay as it was.
    pub(crate) notes: BTreeMap<String, Value>,
    /// What its client called it with, if it has come to another leg since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) called_with: Option<Value>,
}

impl Journal {
    /// Of a leg that knows nothing yet.
    pub(crate) fn of_leg(called_with: Option<&Value>) -> Self {
        Self {
            called_with: called_with.cloned(),
            ..Self::default()
        }
    }

    /// Whether it knows nothing that a run goes by.
    pub(crate) fn is_empty(&self) -> bool {
        self.replies.is_empty() && self.notes.is_empty()
    }
}

/// Where a call happens: in which registry, for whom, as which call.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) parts: Arc<Parts>,
    pub(crate) tools: Arc<Entries>,
    pub(crate) listeners: Listeners,
    pub(crate) number: u64,
    pub(crate) tool: &'static str,
    pub(crate) caller: Caller,
    pub(crate) doing: Doing,
    pub(crate) stage: Arc<AsyncMutex<Stage>>,
    pub(crate) records: Arc<Records>,
    pub(crate) reads_spans: Option<SpanReader>,
}

impl Call {
    pub(crate) fn new(scene: Scene, deadline: Instant, journal: Option<Journal>) -> Self {
        let (mind, notes) = match journal {
            Some(journal) => {
                let client = Arc::new(ClientDriven::new(journal.replies));
                (Some(Mind::Client(client)), journal.notes)
            }
            None => (None, BTreeMap::new()),
        };
        let whole = Whole {
            scene,
            mind: OnceCell::new_with(mind),
            deadline,
            said: Mutex::default(),
            bill: Mutex::default(),
            notes: Mutex::new(notes),
        };
        Self {
            whole: Arc::new(whole),
            prefix: String::new(),
        }
    }

    /// The call going on with its next leg: what was told and what was spent stays, what was found
    /// and replied does not, for the next leg asks anew.
    pub(crate) fn next_leg(&self, deadline: Instant) -> Self {
        let whole = &self.whole;
        let mind = match whole.mind.get() {
            Some(Mind::Model(model)) => Some(Mind::Model(model.clone())),
            Some(Mind::Client(_)) => Some(Mind::Client(Arc::default())),
            None => None,
        };
        let said = whole.said.lock().unwrap_or_else(PoisonError::into_inner);
        let next = Whole {
            scene: whole.scene.clone(),
            mind: OnceCell::new_with(mind),
            deadline,
            said: Mutex::new(said.clone()),
            bill: Mutex::new(self.bill()),
            notes: Mutex::default(),
        };
        Self {
            whole: Arc::new(next),
            prefix: String::new(),
        }
    }

    /// Waits until the records of calls that were answered before are kept, for who counts them;
    /// not for long.
    pub async fn recorded(&self) {
        self.whole.scene.records.flushed_soon().await;
    }

    /// What is remembered; for reading.
    pub fn store(&self) -> &dyn Store {
        self.whole.scene.parts.store.as_ref()
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.whole.scene.parts.clock.now()
    }

    /// A new id of the wanted kind.
    pub fn fresh<Id: From<String>>(&self) -> Id {
        Id::from(self.whole.scene.parts.ids.fresh().to_string())
    }

    /// How many tokens of earlier reasoning an ask may carry.
    pub fn context_tokens(&self) -> usize {
        self.whole.scene.parts.bounds.context_tokens
    }

    /// `text`, if it says anything and is not too long for the settings.
    pub fn checked_content<'a>(&self, field: &str, text: &'a str) -> Result<&'a str, ToolError> {
        let limit = self.whole.scene.parts.bounds.content_chars;
        if text.trim().is_empty() {
            let issue = Issue::new(field, "must not be empty").given(&text.into());
            return Err(ToolError::Invalid(vec![issue]));
        }
        // Bytes first: counting the characters of a huge text is itself work.
        if text.len() > limit && text.chars().count() > limit {
            let rule = format!("must have at most {limit} characters");
            let issue = Issue::new(field, rule).given(&text.into());
            return Err(ToolError::Invalid(vec![issue]));
        }
        Ok(text)
    }

    /// `found`, or what an earlier run of this call found under the same key. A model that replies
    /// between two runs has seen what the first one found; by the second the world has moved on.
    pub fn keep<T: Serialize + DeserializeOwned>(&self, key: &str, found: T) -> T {
        if let Some(earlier) = self.kept(key) {
            return earlier;
        }
        if let Ok(note) = serde_json::to_value(&found) {
            let notes = self.whole.notes.lock();
            let mut notes = notes.unwrap_or_else(PoisonError::into_inner);
            notes.insert(self.named(key), note);
        }
        found
    }

    /// What an earlier run of this call found under that key.
    pub(crate) fn kept<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let notes = self.whole.notes.lock();
        let notes = notes.unwrap_or_else(PoisonError::into_inner);
        let note = notes.get(&self.named(key))?;
        T::deserialize(note).ok()
    }

    /// Whose call it is, as it is written down; nobody for whoever runs the program.
    pub fn owner(&self) -> Option<String> {
        self.whole.scene.caller.principal.owner()
    }

    /// Whether someone waits for its answer.
    pub fn waits(&self) -> Waits {
        Waits(self.whole.scene.stage.clone())
    }

    /// Its place in a trace, for what it asks of others: its own where traces are collected, else
    /// its client's.
    pub fn trace(&self) -> Option<TraceContext> {
        let scene = &self.whole.scene;
        let own = scene.reads_spans.and_then(|read| read(&Span::current()));
        own.or_else(|| scene.caller.trace.clone())
    }

    /// Cancelled when the client no longer wants the answer.
    pub(crate) fn cancelled(&self) -> &CancellationToken {
        &self.whole.scene.caller.cancelled
    }

    /// A name of an ask or a note, as the whole call knows it.
    fn named(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}
