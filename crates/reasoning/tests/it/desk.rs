//! The reasoning tools on a real store, with a model that says what it is told.

use std::{
    collections::VecDeque,
    fmt::Write,
    sync::{Arc, Mutex},
};

use deliberate_core::{Change, Invocation, Mode, Score, Session, Thought, Timestamp};
use deliberate_reasoning::register;
use deliberate_store::{
    Page, Store, Which,
    sqlite::{Durability, SqliteOptions, SqliteStore},
};
use deliberate_testkit::{CountingIds, FixedClock};
use deliberate_thinker::{Ask, Finish, Reply, ThinkError, Thinker};
use deliberate_toolkit::{Answer, Bounds, Caller, OneMind, Parts, Registry, ToolError};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;

pub(crate) const ALL: Page = Page::first(Page::MOST);

/// Says what it is told; when there is nothing left to say, the usual thing.
#[derive(Default)]
pub(crate) struct Scripted {
    replies: Mutex<VecDeque<Reply>>,
    asked: Mutex<Vec<Ask>>,
}

impl Thinker for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn think<'a>(&'a self, ask: &'a Ask, _: Instant) -> BoxFuture<'a, Result<Reply, ThinkError>> {
        Box::pin(async move {
            let mut asked = self.asked.lock().unwrap();
            asked.push(ask.clone());
            let next = self.replies.lock().unwrap().pop_front();
            Ok(next.unwrap_or_else(|| says(&step(&format!("thought {}", asked.len())))))
        })
    }
}

pub(crate) fn says(text: &str) -> Reply {
    Reply {
        text: text.to_owned(),
        ..Reply::default()
    }
}

pub(crate) fn cut_off(text: &str) -> Reply {
    Reply {
        finish: Finish::Length,
        ..says(text)
    }
}

/// An answer as it was asked for.
pub(crate) fn step(thought: &str) -> String {
    json!({ "thought": thought, "confidence_percent": 70, "weakest_point": "a guess" }).to_string()
}

/// An ask as a person can read it.
pub(crate) fn whole(ask: &Ask) -> String {
    let mut text = format!(
        "key {}, purpose {}, at most {} tokens, temperature {}, {:?}\nvariables {:?}\nschema {:#}\n",
        ask.key,
        ask.purpose.as_str(),
        ask.max_tokens,
        ask.temperature,
        ask.plain_text,
        ask.variables,
        ask.schema,
    );
    write!(text, "\n=== system\n{}\n", ask.system).unwrap();
    text + &conversation(ask)
}

/// What is said in an ask.
pub(crate) fn conversation(ask: &Ask) -> String {
    let mut text = String::new();
    for message in &ask.messages {
        write!(text, "\n=== {:?}\n{}\n", message.role, message.text).unwrap();
    }
    text
}

pub(crate) struct Desk {
    pub(crate) registry: Registry,
    pub(crate) store: Arc<dyn Store>,
    model: Arc<Scripted>,
    _folder: tempfile::TempDir,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Self::with(Bounds::default())
    }

    pub(crate) fn with(bounds: Bounds) -> Self {
        let model = Arc::<Scripted>::default();
        Self::build(bounds, model.clone(), Some(model))
    }

    /// No model; the client has to think.
    pub(crate) fn without_model() -> Self {
        Self::build(Bounds::default(), Arc::default(), None)
    }

    fn build(bounds: Bounds, model: Arc<Scripted>, mind: Option<Arc<dyn Thinker>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn Store> = Arc::new(SqliteStore::new(SqliteOptions {
            path: folder.path().join("store.db"),
            readers: 2,
            durability: Durability::Relaxed,
        }));
        let registry = register(Registry::new(Parts {
            store: store.clone(),
            minds: Arc::new(OneMind(mind)),
            clock: Arc::new(FixedClock::new()),
            ids: Arc::new(CountingIds::new()),
            bounds,
        }));
        Self {
            registry,
            store,
            model,
            _folder: folder,
        }
    }

    /// What the model will say next, before it goes on with the usual.
    pub(crate) fn will_say(&self, replies: impl IntoIterator<Item = Reply>) {
        self.model.replies.lock().unwrap().extend(replies);
    }

    /// What was left unsaid stays so.
    pub(crate) fn forget_what_to_say(&self) {
        self.model.replies.lock().unwrap().clear();
    }

    /// What the model was asked, in order.
    pub(crate) fn asked(&self) -> Vec<Ask> {
        self.model.asked.lock().unwrap().clone()
    }

    pub(crate) fn last_asked(&self) -> Ask {
        self.asked().pop().expect("the model was asked")
    }

    pub(crate) async fn call(&self, arguments: Value) -> Result<Answer, ToolError> {
        self.use_tool("reasoning_linear", arguments).await
    }

    /// Calls any tool.
    pub(crate) async fn use_tool(&self, tool: &str, arguments: Value) -> Result<Answer, ToolError> {
        self.registry.call(tool, arguments, Caller::default()).await
    }

    /// Calls a tool, which must go well.
    pub(crate) async fn done(&self, tool: &str, arguments: Value) -> Value {
        match self.use_tool(tool, arguments).await {
            Ok(Answer::Done(output)) => output,
            other => panic!("{tool}: {other:?}"),
        }
    }

    /// Calls a tool, which must go wrong.
    pub(crate) async fn refused(&self, tool: &str, arguments: Value) -> ToolError {
        self.use_tool(tool, arguments).await.unwrap_err()
    }

    /// Calls a tool without a model; the client gives these replies, one a round, and all are used.
    pub(crate) async fn driven(&self, tool: &str, arguments: Value, replies: &[Value]) -> Value {
        let mut answer = self.use_tool(tool, arguments).await;
        let mut replies = replies.iter();
        while let Ok(Answer::NeedsReply(needs)) = &answer {
            let reply = replies.next().expect("one reply more");
            let resume = json!({ "id": needs.id, "replies": [reply] });
            answer = self.use_tool("reasoning_resume", resume).await;
        }
        assert_eq!(replies.next(), None);
        match answer {
            Ok(Answer::Done(output)) => output,
            other => panic!("{tool}: {other:?}"),
        }
    }

    /// What is stored, without ids of new things and times, to compare two desks.
    pub(crate) async fn gist(&self) -> Vec<Value> {
        let thoughts = self.thoughts().await;
        let place = |id: &deliberate_core::ThoughtId| thoughts.iter().position(|it| it.id == *id);
        let mut all = Vec::new();
        for thought in &thoughts {
            let mut metadata = thought.metadata.clone().unwrap_or_default();
            if let Some(ids) = metadata.get_mut("perspectives") {
                *ids = json!(ids.as_array().unwrap().len());
            }
            let session = self
                .store
                .session(&thought.session_id)
                .await
                .unwrap()
                .unwrap();
            all.push(json!({
                "session": [session.mode, session.title],
                "input": thought.input,
                "content": thought.content,
                "confidence": thought.confidence,
                "mode": thought.mode,
                "parent": thought.parent_id.as_ref().map(place),
                "branch": thought.branch_id,
                "metadata": metadata,
            }));
        }
        all
    }

    /// Thinks one step, which must go well.
    pub(crate) async fn think(&self, arguments: Value) -> Value {
        match self.call(arguments).await {
            Ok(Answer::Done(output)) => output,
            other => panic!("{other:?}"),
        }
    }

    /// Thinks one step, which must go wrong.
    pub(crate) async fn fail(&self, arguments: Value) -> ToolError {
        self.call(arguments).await.unwrap_err()
    }

    /// Every thought there is.
    pub(crate) async fn thoughts(&self) -> Vec<Thought> {
        let mut all = Vec::new();
        for entry in self.store.sessions(ALL).await.unwrap() {
            let thoughts = self.store.thoughts(&entry.session.id, Which::All, ALL);
            all.extend(thoughts.await.unwrap());
        }
        all
    }

    /// The only thought there is.
    pub(crate) async fn only_thought(&self) -> Thought {
        let mut thoughts = self.thoughts().await;
        assert_eq!(thoughts.len(), 1, "{thoughts:?}");
        thoughts.remove(0)
    }

    pub(crate) async fn last_record(&self) -> Invocation {
        let records = self.store.invocations(None, Page::first(1)).await.unwrap();
        records.into_iter().next().expect("the call was recorded")
    }

    /// Asserts that nothing but records of calls is there.
    pub(crate) async fn assert_empty(&self) {
        assert_eq!(self.store.sessions(ALL).await.unwrap(), []);
    }

    /// A session `s` of that mode with these steps: input and thought.
    pub(crate) async fn has_session<S: Into<String>>(
        &self,
        mode: Mode,
        steps: impl IntoIterator<Item = (S, S)>,
    ) {
        let moment = Timestamp::parse("2025-12-31T00:00:00Z").unwrap();
        let mut changes = vec![Change::AddSession(Session {
            id: "s".into(),
            mode,
            title: Some("a session".to_owned()),
            created_at: moment,
            updated_at: moment,
            active_branch_id: None,
            metadata: None,
        })];
        let steps = steps
            .into_iter()
            .enumerate()
            .map(|(number, (input, content))| {
                let number = number + 1;
                let parent = (number > 1).then(|| format!("t{}", number - 1));
                Change::AddThought(Thought {
                    id: format!("t{number}").into(),
                    session_id: "s".into(),
                    input: Some(input.into()),
                    content: content.into(),
                    confidence: Score::DEFAULT_CONFIDENCE,
                    mode,
                    parent_id: parent.map(Into::into),
                    branch_id: None,
                    set_aside: false,
                    created_at: moment,
                    metadata: None,
                })
            });
        changes.extend(steps);
        self.store.commit(changes).await.unwrap();
    }
}
