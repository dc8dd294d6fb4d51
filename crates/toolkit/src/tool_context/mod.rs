//! The tool context: gives a running tool the store, the model, progress, ids and time.

mod client_fallback;
mod model;
pub(crate) mod nested_call;
mod progress;
pub(crate) mod session_memory;
mod supplied_reply;
pub(crate) mod usage;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use deliberate_core::{PromptFence, SessionId, Timestamp};
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
    dispatch::{call_permits::CallPermits, invocation_log::InvocationWriter},
    trace_context::SpanReader,
};
use crate::{
    ArgumentIssue, CallerContext, CallerPresence, Principal, RegistryDeps, ToolError, TraceContext,
    event::CallListeners, registry::ToolTable,
};
use model::CallModel;
use progress::ProgressState;
use usage::UsageTally;

pub use model::ModelAnswer;

/// The key of the fence's random part in the memo.
const FENCE_NONCE: &str = "prompt_fence";

/// The context of one run of a tool.
pub struct ToolContext {
    pub(crate) shared: Arc<CallShared>,
    /// The prefix of request keys and memo keys, which keeps those of a nested tool apart. It is
    /// empty for the tool that the client called.
    pub(crate) prefix: String,
}

/// The part of the context that a tool shares with its nested tools.
pub(crate) struct CallShared {
    pub(crate) env: CallEnv,
    model: OnceCell<CallModel>,
    deadline: Instant,
    progress: Mutex<ProgressState>,
    usage: Mutex<UsageTally>,
    memo: Mutex<BTreeMap<String, Value>>,
    /// The replies that callers brought with their arguments, by the prefix of the tool.
    supplied_replies: Mutex<BTreeMap<String, Value>>,
    /// The sessions whose steps the prompts of this call show.
    sessions_in_prompts: Mutex<Vec<SessionId>>,
}

/// The data that a suspended call keeps from its earlier runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Journal {
    /// The replies, by the key of their model request.
    pub(crate) replies: BTreeMap<String, String>,
    /// The memo: values that must stay the same in later runs.
    pub(crate) notes: BTreeMap<String, Value>,
    /// The client's arguments, if the call has reached a further step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) called_with: Option<Value>,
}

impl Journal {
    /// Creates the empty journal of a step.
    pub(crate) fn for_step(called_with: Option<&Value>) -> Self {
        Self {
            called_with: called_with.cloned(),
            ..Self::default()
        }
    }

    /// Tells whether there are no replies and no memo.
    pub(crate) fn is_empty(&self) -> bool {
        self.replies.is_empty() && self.notes.is_empty()
    }
}

/// The environment of a call: its registry, its caller and its identity.
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
    pub(crate) permits: Arc<CallPermits>,
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
            supplied_replies: Mutex::default(),
            sessions_in_prompts: Mutex::default(),
        };
        Self {
            shared: Arc::new(whole),
            prefix: String::new(),
        }
    }

    /// Creates the context of the next step: progress and usage stay, the memo and the replies do
    /// not, because the next step sends its own requests.
    pub(crate) fn next_step(&self, deadline: Instant) -> Self {
        let whole = &self.shared;
        let mind = whole.model.get().map(CallModel::for_next_step);
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
            supplied_replies: Mutex::default(),
            sessions_in_prompts: Mutex::default(),
        };
        Self {
            shared: Arc::new(next),
            prefix: String::new(),
        }
    }

    /// Waits, but not for long, until the records of earlier answered calls are stored, for tools
    /// that count them.
    pub async fn flush_log(&self) {
        self.shared.env.log.flush_bounded().await;
    }

    /// Returns the store, for reading.
    pub fn store(&self) -> &dyn Store {
        self.shared.env.deps.store.as_ref()
    }

    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        self.shared.env.deps.clock.now()
    }

    /// Returns a new id of the wanted type.
    pub fn new_id<Id: From<String>>(&self) -> Id {
        Id::from(self.shared.env.deps.ids.new_id().to_string())
    }

    /// Returns the fence for foreign text in the prompts and answers of this call, with the names of
    /// their tags. Its random part is the same when the call is run again, so that its prompts are.
    pub fn prompt_fence(&self, tags: &'static [&'static str]) -> PromptFence {
        PromptFence::new(self.fence_nonce(), tags)
    }

    pub(crate) fn fence_nonce(&self) -> u32 {
        let earlier = self.memoized(FENCE_NONCE);
        earlier.unwrap_or_else(|| self.memoize(FENCE_NONCE, self.shared.env.deps.ids.nonce()))
    }

    /// Returns the most tokens of earlier reasoning that a model request may contain.
    pub fn context_tokens(&self) -> usize {
        self.shared.env.deps.limits.context_tokens
    }

    /// Returns `text` if it is not empty and not longer than the limit.
    pub fn check_content<'a>(&self, field: &str, text: &'a str) -> Result<&'a str, ToolError> {
        let limit = self.shared.env.deps.limits.content_chars;
        if text.trim().is_empty() {
            let issue = ArgumentIssue::new(field, "must not be empty").with_value(&text.into());
            return Err(ToolError::Invalid(vec![issue]));
        }
        // The byte length is checked first, because counting the characters of a huge text is slow.
        if text.len() > limit && text.chars().count() > limit {
            let rule = format!("must have at most {limit} characters");
            let issue = ArgumentIssue::new(field, rule).with_value(&text.into());
            return Err(ToolError::Invalid(vec![issue]));
        }
        Ok(text)
    }

    /// Returns the value that an earlier run of this call stored under the key, or stores `found`.
    /// A model that replies between two runs has seen the first value; the data may have changed
    /// since.
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

    /// Returns the value that an earlier run of this call stored under the key.
    pub(crate) fn memoized<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        let notes = self.shared.memo.lock();
        let notes = notes.unwrap_or_else(PoisonError::into_inner);
        let note = notes.get(&self.scoped_name(key))?;
        T::deserialize(note).ok()
    }

    /// Returns the principal that called.
    pub fn principal(&self) -> &Principal {
        &self.shared.env.caller.principal
    }

    /// Returns the owner to store with data of this call; `None` for the operator.
    pub fn owner(&self) -> Option<String> {
        self.shared.env.caller.principal.owner()
    }

    /// Fails if the principal's scope does not include an action of a tool, `tool/action`.
    pub fn check_action_allowed(&self, action: &str) -> Result<(), ToolError> {
        if self.shared.env.caller.principal.scope.allows(action) {
            return Ok(());
        }
        Err(ToolError::Forbidden {
            what: action.to_owned(),
        })
    }

    /// Tells whether a caller waits for the answer.
    pub fn caller_presence(&self) -> CallerPresence {
        CallerPresence(self.shared.env.stage.clone())
    }

    /// Returns the trace context for outgoing requests: the call's own if traces are collected,
    /// otherwise its client's.
    pub fn trace(&self) -> Option<TraceContext> {
        let scene = &self.shared.env;
        let own = scene.span_reader.and_then(|read| read(&Span::current()));
        own.or_else(|| scene.caller.trace.clone())
    }

    /// Returns the time at which the call reaches its limit.
    pub(crate) fn deadline(&self) -> Instant {
        self.shared.deadline
    }

    /// Returns the token that is cancelled when the client no longer wants the answer.
    pub(crate) fn cancellation(&self) -> &CancellationToken {
        &self.shared.env.caller.cancellation
    }

    /// Adds the prefix to a request key or memo key.
    fn scoped_name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }
}
