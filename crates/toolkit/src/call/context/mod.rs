//! The tool context: gives a running tool the store, the model, progress, ids and time.

pub(crate) mod budget;
pub(crate) mod caller_presence;
mod client_fallback;
mod known_answer;
mod model;
pub(crate) mod nested_call;
pub(crate) mod progress;
mod session_memory;
mod supplied_reply;
pub(crate) mod usage;

use std::{
    collections::{BTreeMap, BTreeSet},
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

use super::{invocation_log::InvocationWriter, permits::CallPermits};
use crate::{
    ArgumentIssue, CallerContext, Principal, RegistryDeps, ToolError, TraceContext,
    event::CallListeners, registry::ToolTable, trace_context::SpanReader,
};
use budget::{Budget, BudgetMeter, BudgetUse};
use caller_presence::{CallerPresence, Presence};
use known_answer::KnownAnswer;
use model::CallModel;
use progress::SharedProgress;
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
    /// The budgets that its requests count against, besides the call's own meter.
    budgets: Vec<Arc<BudgetMeter>>,
}

/// The part of the context that a tool shares with its nested tools.
pub(crate) struct CallShared {
    pub(crate) env: CallEnv,
    model: OnceCell<CallModel>,
    deadline: Instant,
    usage: Mutex<UsageTally>,
    /// Counts the requests of this step and what the earlier steps have used.
    meter: BudgetMeter,
    used_before: BudgetUse,
    memo: Mutex<BTreeMap<String, Value>>,
    /// The answers that earlier runs of this step have read from replies, by the key of the request.
    known_answers: Mutex<BTreeMap<String, KnownAnswer>>,
    /// The keys of the replies that these answers were read from.
    used_replies: Mutex<BTreeSet<String>>,
    /// What the tool kept from the committed steps, and what it keeps for the next one.
    notes: Option<Value>,
    next_notes: Mutex<Option<Value>>,
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
    /// The answers that were read from earlier replies, by the key of their model request. The replies
    /// themselves are not needed any more.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) answers: BTreeMap<String, KnownAnswer>,
    /// The client's arguments, if the call has reached a further step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) called_with: Option<Value>,
    /// What the committed steps have used.
    #[serde(default, skip_serializing_if = "BudgetUse::is_empty")]
    pub(crate) used: BudgetUse,
}

impl Journal {
    /// Creates the empty journal of a step.
    pub(crate) fn for_step(called_with: Option<&Value>, used: BudgetUse) -> Self {
        Self {
            called_with: called_with.cloned(),
            used,
            ..Self::default()
        }
    }

    /// Tells whether there are no replies and no memo.
    pub(crate) fn is_empty(&self) -> bool {
        self.replies.is_empty() && self.notes.is_empty() && self.answers.is_empty()
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
    pub(crate) progress: SharedProgress,
    pub(crate) presence: Arc<AsyncMutex<Presence>>,
    pub(crate) log: Arc<InvocationWriter>,
    pub(crate) span_reader: Option<SpanReader>,
    pub(crate) permits: Arc<CallPermits>,
}

impl ToolContext {
    pub(crate) fn new(
        env: CallEnv,
        deadline: Instant,
        journal: Option<Journal>,
        notes: Option<Value>,
        used: BudgetUse,
    ) -> Self {
        let (model, memo, answers) = match journal {
            Some(journal) => {
                let client = Arc::new(ClientDriven::new(journal.replies));
                let model = CallModel::Client(client);
                (Some(model), journal.notes, journal.answers)
            }
            None => (None, BTreeMap::new(), BTreeMap::new()),
        };
        let step = Self::for_step(env, OnceCell::new_with(model), deadline, notes, used);
        let memo = Mutex::new(memo);
        let known_answers = Mutex::new(answers);
        Self::from_shared(CallShared {
            memo,
            known_answers,
            ..step
        })
    }

    /// Creates the context of the next step: progress and usage stay, the memo and the replies do
    /// not, because the next step sends its own requests.
    pub(crate) fn next_step(
        &self,
        deadline: Instant,
        notes: Option<Value>,
        used: BudgetUse,
    ) -> Self {
        let model = self.shared.model.get().map(CallModel::for_next_step);
        let model = OnceCell::new_with(model);
        let step = Self::for_step(self.shared.env.clone(), model, deadline, notes, used);
        let usage = Mutex::new(self.usage());
        Self::from_shared(CallShared { usage, ..step })
    }

    fn for_step(
        env: CallEnv,
        model: OnceCell<CallModel>,
        deadline: Instant,
        notes: Option<Value>,
        used: BudgetUse,
    ) -> CallShared {
        CallShared {
            env,
            model,
            deadline,
            usage: Mutex::default(),
            meter: BudgetMeter::new(Budget::default(), used),
            used_before: used,
            memo: Mutex::default(),
            known_answers: Mutex::default(),
            used_replies: Mutex::default(),
            next_notes: Mutex::new(notes.clone()),
            notes,
            supplied_replies: Mutex::default(),
            sessions_in_prompts: Mutex::default(),
        }
    }

    /// Creates the context of the tool that the client called.
    fn from_shared(shared: CallShared) -> Self {
        Self {
            shared: Arc::new(shared),
            prefix: String::new(),
            budgets: Vec::new(),
        }
    }

    /// Returns the context of a nested tool, whose requests count against the same budgets.
    pub(crate) fn nested(&self, key: &str) -> Self {
        Self {
            shared: self.shared.clone(),
            prefix: format!("{key}/"),
            budgets: self.budgets.clone(),
        }
    }

    /// Returns a context whose model requests must stay within a budget, too, and the meter of that
    /// budget. What the earlier steps of the call have used counts, unless this is a nested tool.
    pub fn with_budget(&self, budget: Budget) -> (Self, Arc<BudgetMeter>) {
        let used = if self.prefix.is_empty() {
            self.shared.used_before
        } else {
            BudgetUse::default()
        };
        let meter = Arc::new(BudgetMeter::new(budget, used));
        let mut budgets = self.budgets.clone();
        budgets.push(meter.clone());
        let within = Self {
            shared: self.shared.clone(),
            prefix: self.prefix.clone(),
            budgets,
        };
        (within, meter)
    }

    /// Returns what all model requests of the call have used.
    pub(crate) fn budget_use(&self) -> BudgetUse {
        self.shared.meter.used()
    }

    /// Returns what the tool kept from the steps that are committed.
    pub fn notes<T: DeserializeOwned>(&self) -> Option<T> {
        T::deserialize(self.shared.notes.as_ref()?).ok()
    }

    /// Keeps notes for the next step, which may run in another process. They are stored when this
    /// step is committed.
    pub fn set_notes<T: Serialize>(&self, notes: &T) -> Result<(), ToolError> {
        let notes = serde_json::to_value(notes).map_err(|error| {
            tracing::error!(%error, tool = self.shared.env.tool, "the notes of a call can't be stored");
            ToolError::Internal
        })?;
        let next = self.shared.next_notes.lock();
        *next.unwrap_or_else(PoisonError::into_inner) = Some(notes);
        Ok(())
    }

    /// Returns the notes for the next step.
    pub(crate) fn next_notes(&self) -> Option<Value> {
        let next = self.shared.next_notes.lock();
        next.unwrap_or_else(PoisonError::into_inner).clone()
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
        CallerPresence(self.shared.env.presence.clone())
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
