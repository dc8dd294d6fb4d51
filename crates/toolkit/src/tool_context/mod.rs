//! What a running tool has at hand: reading the store, asking the model, telling its progress.

pub(crate) mod entity_lookup;
mod model;
pub(crate) mod nested_call;
mod progress;
pub(crate) mod usage;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use deliberate_core::Timestamp;
use deliberate_llm::ClientDriven;
use deliberate_store::Store;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::{
    sync::{Mutex as AsyncMutex, OnceCell},
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::{
    background::{CallStage, StatusText},
    dispatch::invocation_log::InvocationWriter,
    trace_context::SpanReader,
};
use crate::{
    ArgumentIssue, CallerContext, CallerPresence, RegistryDeps, ToolError, TraceContext,
    event::CallListeners, registry::ToolTable,
};
use model::CallModel;
use progress::ProgressState;
use usage::UsageTally;

pub use model::ModelAnswer;

/// One run of a tool.
pub struct ToolContext {
    pub(crate) shared: Arc<CallShared>,
    /// Stands before the names of asks and notes, so that those of a tool that is run by a tool
    /// are its own. Empty for the tool that was called.
    pub(crate) prefix: String,
}

/// What a tool shares with the tools it runs.
pub(crate) struct CallShared {
    pub(crate) env: CallEnv,
    model: OnceCell<CallModel>,
    deadline: Instant,
    progress: Mutex<ProgressState>,
    usage: Mutex<UsageTally>,
    memo: Mutex<BTreeMap<String, Value>>,
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
    pub(crate) fn for_step(called_with: Option<&Value>) -> Self {
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
pub(crate) struct CallEnv {
    pub(crate) deps: Arc<RegistryDeps>,
    pub(crate) tools: Arc<ToolTable>,
    pub(crate) listeners: CallListeners,
    pub(crate) number: u64,
    pub(crate) tool: &'static str,
    pub(crate) caller: CallerContext,
    pub(crate) status: StatusText,
    pub(crate) stage: Arc<AsyncMutex<CallStage>>,
    pub(crate) log: Arc<InvocationWriter>,
    pub(crate) span_reader: Option<SpanReader>,
}

impl ToolContext {
    pub(crate) fn new(scene: CallEnv, deadline: Instant, journal: Option<Journal>) -> Self {
        let (mind, notes) = match journal {
            Some(journal) => {
                let client = Arc::new(ClientDriven::new(journal.replies));
                (Some(CallModel::Client(client)), journal.notes)
            }
            None => (None, BTreeMap::new()),
        };
        let whole = CallShared {
            env: scene,
            model: OnceCell::new_with(mind),
            deadline,
            progress: Mutex::default(),
            usage: Mutex::default(),
            memo: Mutex::new(notes),
        };
        Self {
            shared: Arc::new(whole),
            prefix: String::new(),
        }
    }

    /// The call going on with its next leg: what was told and what was spent stays, what was found
    /// and replied does not, for the next leg asks anew.
    pub(crate) fn next_step(&self, deadline: Instant) -> Self {
        let whole = &self.shared;
        let mind = match whole.model.get() {
            Some(CallModel::Model(model)) => Some(CallModel::Model(model.clone())),
            Some(CallModel::Client(_)) => Some(CallModel::Client(Arc::default())),
            None => None,
        };
        let said = whole
            .progress
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let next = CallShared {
            env: whole.env.clone(),
            model: OnceCell::new_with(mind),
            deadline,
            progress: Mutex::new(said.clone()),
            usage: Mutex::new(self.usage()),
            memo: Mutex::default(),
        };
        Self {
            shared: Arc::new(next),
            prefix: String::new(),
        }
    }

    /// Waits until the records of calls that were answered before are kept, for who counts them;
    /// not for long.
    pub async fn flush_log(&self) {
        self.shared.env.log.flush_bounded().await;
    }

    /// What is remembered; for reading.
    pub fn store(&self) -> &dyn Store {
        self.shared.env.deps.store.as_ref()
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.shared.env.deps.clock.now()
    }

    /// A new id of the wanted kind.
    pub fn new_id<Id: From<String>>(&self) -> Id {
        Id::from(self.shared.env.deps.ids.new_id().to_string())
    }

    /// How many tokens of earlier reasoning an ask may carry.
    pub fn context_tokens(&self) -> usize {
        self.shared.env.deps.limits.context_tokens
    }

    /// `text`, if it says anything and is not too long for the settings.
    pub fn check_content<'a>(&self, field: &str, text: &'a str) -> Result<&'a str, ToolError> {
        let limit = self.shared.env.deps.limits.content_chars;
        if text.trim().is_empty() {
            let issue = ArgumentIssue::new(field, "must not be empty").with_value(&text.into());
            return Err(ToolError::Invalid(vec![issue]));
        }
        // Bytes first: counting the characters of a huge text is itself work.
        if text.len() > limit && text.chars().count() > limit {
            let rule = format!("must have at most {limit} characters");
            let issue = ArgumentIssue::new(field, rule).with_value(&text.into());
            return Err(ToolError::Invalid(vec![issue]));
        }
        Ok(text)
    }

    /// `found`, or what an earlier run of this call found under the same key. A model that replies
    /// between two runs has seen what the first one found; by the second the world has moved on.
    pub fn memoize<T: Serialize + DeserializeOwned>(&self, key: &str, found: T) -> T {
        if let Some(earlier) = self.memoized(key) {
            return earlier;
        }
        if let Ok(note) = serde_json::to_value(&found) {
            let notes = self.shared.memo.lock();
            let mut notes = notes.unwrap_or_else(PoisonError::into_inner);
            notes.insert(self.scoped_name(key), note);
        }
        found
    }

    /// What an earlier run of this call found under that key.
    pub(crate) fn memoized<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let notes = self.shared.memo.lock();
        let notes = notes.unwrap_or_else(PoisonError::into_inner);
        let note = notes.get(&self.scoped_name(key))?;
        T::deserialize(note).ok()
    }

    /// Whose call it is, as it is written down; nobody for whoever runs the program.
    pub fn owner(&self) -> Option<String> {
        self.shared.env.caller.principal.owner()
    }

    /// Whether someone waits for its answer.
    pub fn caller_presence(&self) -> CallerPresence {
        CallerPresence(self.shared.env.stage.clone())
    }

    /// Its place in a trace, for what it asks of others: its own where traces are collected, else
    /// its client's.
    pub fn trace(&self) -> Option<TraceContext> {
        let scene = &self.shared.env;
        let own = scene.span_reader.and_then(|read| read(&Span::current()));
        own.or_else(|| scene.caller.trace.clone())
    }

    /// Cancelled when the client no longer wants the answer.
    pub(crate) fn cancellation(&self) -> &CancellationToken {
        &self.shared.env.caller.cancellation
    }

    /// A name of an ask or a note, as the whole call knows it.
    fn scoped_name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}
