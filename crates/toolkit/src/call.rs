//! What a running tool has at hand: reading the store, asking the model, telling its progress.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use deliberate_core::Timestamp;
use deliberate_store::Store;
use deliberate_thinker::{
    Ask, ClientDriven, Failed, Reply, ThinkError, Thinker, Turn, ask_for, ask_turn,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use tokio::{
    sync::{Mutex as AsyncMutex, OnceCell},
    time::Instant,
};
use tracing::{Instrument as _, Span};

use crate::{
    Caller, Event, Issue, Parts, Progress, Running, ToolError, Waits,
    bill::{Bill, note_answer, span, total},
    event::Listeners,
    held::{Doing, Stage},
    record::Records,
    registry::Entries,
};

/// One run of a tool.
pub struct Call {
    pub(crate) whole: Arc<Whole>,
    /// Stands before the names of asks and notes, so that those of a tool that is run by a tool
    /// are its own. Empty for the tool that was called.
    pub(crate) prefix: String,
}

/// What a tool shares with the tools it runs.
pub(crate) struct Whole {
    parts: Arc<Parts>,
    pub(crate) tools: Arc<Entries>,
    listeners: Listeners,
    number: u64,
    pub(crate) tool: &'static str,
    pub(crate) caller: Caller,
    doing: Doing,
    stage: Arc<AsyncMutex<Stage>>,
    records: Arc<Records>,
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
}

/// Who thinks in this call.
enum Mind {
    /// A model that can be asked now.
    Model(Arc<dyn Thinker>),
    /// The client, between calls.
    Client(Arc<ClientDriven>),
}

/// An ask that is under way.
struct Asking<'c> {
    thinker: &'c dyn Thinker,
    span: Span,
    at: Instant,
}

/// The progress told so far.
#[derive(Clone, Default)]
struct Said {
    done: f64,
    total: Option<f64>,
    message: String,
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Thinking<T> {
    /// What was asked for.
    pub value: T,
    /// The provider's conversation, to continue it.
    pub thread: Option<String>,
}

/// How much a sign of life adds to the progress: it must grow, and must not look like work.
const SIGN_OF_LIFE: f64 = 0.001;

/// Where a call happens: in which registry, for whom, as which call.
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
            parts: scene.parts,
            tools: scene.tools,
            listeners: scene.listeners,
            number: scene.number,
            tool: scene.tool,
            caller: scene.caller,
            doing: scene.doing,
            stage: scene.stage,
            records: scene.records,
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
            parts: whole.parts.clone(),
            tools: whole.tools.clone(),
            listeners: whole.listeners.clone(),
            number: whole.number,
            tool: whole.tool,
            caller: whole.caller.clone(),
            doing: whole.doing.clone(),
            stage: whole.stage.clone(),
            records: whole.records.clone(),
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
        self.whole.records.flushed_soon().await;
    }

    /// What is remembered; for reading.
    pub fn store(&self) -> &dyn Store {
        self.whole.parts.store.as_ref()
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.whole.parts.clock.now()
    }

    /// A new id of the wanted kind.
    pub fn fresh<Id: From<String>>(&self) -> Id {
        Id::from(self.whole.parts.ids.fresh().to_string())
    }

    /// How many tokens of earlier reasoning an ask may carry.
    pub fn context_tokens(&self) -> usize {
        self.whole.parts.bounds.context_tokens
    }

    /// `text`, if it says anything and is not too long for the settings.
    pub fn checked_content<'a>(&self, field: &str, text: &'a str) -> Result<&'a str, ToolError> {
        let limit = self.whole.parts.bounds.content_chars;
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

    /// Asks the model for a `T`. `from_plain` makes one of an answer that is plain text.
    pub async fn think<T: DeserializeOwned>(
        &self,
        ask: Ask,
        from_plain: Option<fn(String) -> T>,
    ) -> Result<Thinking<T>, ToolError> {
        let (ask, asking) = self.asking(ask).await;
        let answer = ask_for(asking.thinker, ask, from_plain, self.whole.deadline)
            .instrument(asking.span.clone())
            .await;
        self.settled(&asking, answer)
    }

    /// The same for one turn of a conversation in which the model may call functions.
    pub async fn think_turn(&self, ask: Ask) -> Result<Thinking<Turn>, ToolError> {
        let (ask, asking) = self.asking(ask).await;
        let answer = ask_turn(asking.thinker, ask, self.whole.deadline)
            .instrument(asking.span.clone())
            .await;
        self.settled(&asking, answer)
    }

    /// The ask as the whole call knows it, and whom it goes to.
    async fn asking(&self, ask: Ask) -> (Ask, Asking<'_>) {
        let ask = Ask {
            key: self.named(&ask.key),
            ..ask
        };
        let mind = self.mind().await;
        let thinker: &dyn Thinker = match mind {
            Mind::Model(model) => model.as_ref(),
            Mind::Client(client) => client.as_ref(),
        };
        let span = match mind {
            Mind::Model(_) => span(thinker.name()),
            Mind::Client(_) => Span::none(),
        };
        let at = Instant::now();
        (ask, Asking { thinker, span, at })
    }

    /// What came of an ask, once it is written down and charged.
    fn settled<T>(
        &self,
        asking: &Asking<'_>,
        answer: Result<deliberate_thinker::Answer<T>, Failed>,
    ) -> Result<Thinking<T>, ToolError> {
        note_answer(&asking.span, &answer);
        let provider = asking.thinker.name();
        match answer {
            Ok(answer) => {
                self.charge(|bill| bill.add(provider, &answer.replies));
                self.asked(provider, asking.at, None, &answer.replies);
                let thread = answer
                    .replies
                    .iter()
                    .rev()
                    .find_map(|reply| reply.thread.clone());
                Ok(Thinking {
                    value: answer.value,
                    thread,
                })
            }
            Err(failed) => {
                self.charge(|bill| {
                    bill.add(provider, &failed.replies);
                    bill.add_unanswered(provider, &failed.error);
                });
                let code = failed.error.code();
                self.asked(provider, asking.at, Some(code), &failed.replies);
                Err(failed.error.into())
            }
        }
    }

    /// Asks several things that do not depend on each other, all at once. Each has its own
    /// outcome, in their order; if the client has to think, all are put before it together.
    pub async fn think_all<T: DeserializeOwned>(
        &self,
        asks: Vec<Ask>,
    ) -> Result<Vec<Result<Thinking<T>, ToolError>>, ToolError> {
        // Not `try_join_all`: the first that waits for the client must not hide the others.
        let all = asks.into_iter().map(|ask| self.think(ask, None));
        let outcomes = futures::future::join_all(all).await;
        let pending = |outcome: &Result<_, ToolError>| {
            matches!(outcome, Err(ToolError::Think(ThinkError::Pending)))
        };
        if outcomes.iter().any(pending) {
            return Err(ThinkError::Pending.into());
        }
        Ok(outcomes)
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

    /// Whether a model can be asked during the call. If not, thinking suspends it.
    pub async fn has_model(&self) -> bool {
        matches!(self.mind().await, Mind::Model(_))
    }

    /// Whose call it is, as it is written down; nobody for whoever runs the program.
    pub fn owner(&self) -> Option<String> {
        self.whole.caller.principal.owner()
    }

    /// Whether someone waits for its answer.
    pub fn waits(&self) -> Waits {
        Waits(self.whole.stage.clone())
    }

    /// Ends when the client no longer wants the answer.
    pub(crate) async fn cancelled(&self) {
        self.whole.caller.cancelled.cancelled().await;
    }

    /// How often someone was asked to think so far.
    pub(crate) fn asks(&self) -> i64 {
        self.bill().spent.model_calls
    }

    /// A name of an ask or a note, as the whole call knows it.
    fn named(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    async fn mind(&self) -> &Mind {
        self.whole
            .mind
            .get_or_init(|| async {
                match self
                    .whole
                    .parts
                    .minds
                    .choose(self.whole.caller.mind.clone())
                    .await
                {
                    Some(model) => Mind::Model(model),
                    None => Mind::Client(Arc::default()),
                }
            })
            .await
    }

    /// What the client has to think about, and what to keep until it has, if it is the client who
    /// thinks.
    pub(crate) fn waits_for(&self) -> Option<(Vec<Ask>, Journal)> {
        let Mind::Client(client) = self.whole.mind.get()? else {
            return None;
        };
        let notes = self
            .whole
            .notes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let journal = Journal {
            replies: client.replies().clone(),
            notes: notes.clone(),
        };
        Some((client.pending(), journal))
    }

    /// Tells the listeners that a model was asked. A client that thinks between calls was not.
    fn asked(&self, provider: &str, at: Instant, error: Option<&str>, replies: &[Reply]) {
        if matches!(self.whole.mind.get(), Some(Mind::Client(_)) | None) {
            return;
        }
        let spent = total(replies);
        self.whole.listeners.tell(Event::Asked {
            provider,
            took: at.elapsed(),
            error,
            spent: &spent,
        });
    }

    fn charge(&self, write: impl FnOnce(&mut Bill)) {
        let bill = self.whole.bill.lock();
        write(&mut bill.unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) fn bill(&self) -> Bill {
        self.whole
            .bill
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Tells the client how far the call has come.
    pub fn progress(&self, done: f64, total: Option<f64>, message: &str) {
        let update = {
            let mut said = self
                .whole
                .said
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            said.done = done.max(said.done + SIGN_OF_LIFE);
            said.total = total;
            message.clone_into(&mut said.message);
            self.whole.doing.say(message);
            said.update()
        };
        self.tell(update);
    }

    fn tell(&self, update: Progress) {
        let running = Running {
            id: self.whole.number,
            tool: self.whole.tool,
            principal: &self.whole.caller.principal,
        };
        self.whole
            .listeners
            .tell(Event::Progressed(&running, &update));
        if let Some(hears) = &self.whole.caller.progress {
            hears(update);
        }
    }

    /// Tells the client that the call still runs, so that it does not give up.
    pub(crate) fn sign_of_life(&self) {
        let update = {
            let mut said = self
                .whole
                .said
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            said.done += SIGN_OF_LIFE;
            if said.message.is_empty() {
                "working".clone_into(&mut said.message);
            }
            said.update()
        };
        self.tell(update);
    }
}

impl Said {
    fn update(&self) -> Progress {
        Progress {
            done: self.done,
            total: self.total,
            message: self.message.clone(),
        }
    }
}
