//! The engine on a real store and a real workspace, with a model that says what it is told.

use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use deliberate_core::{Change, Mode, Session, SessionId, SystemClock, SystemIds};
use deliberate_prompts::{Engine, Options, library::Shelf, register};
use deliberate_store::{
    Store,
    sqlite::{Durability, SqliteOptions, SqliteStore},
};
use deliberate_thinker::{Ask, Message, PlainText, Purpose, Reply, ThinkError, Thinker};
use deliberate_toolkit::{
    About, Annotations, Answer, Bounds, Call, Caller, Limits, OneMind, Outcome, Parts, Registry,
    Tool, ToolError, answer_schema,
};
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::Instant;

/// Says what it is told, then nothing more.
#[derive(Default)]
pub(crate) struct Scripted {
    replies: Mutex<VecDeque<String>>,
    asked: Mutex<Vec<Ask>>,
}

impl Thinker for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    fn think<'a>(&'a self, ask: &'a Ask, _: Instant) -> BoxFuture<'a, Result<Reply, ThinkError>> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(ask.clone());
            let text = self
                .replies
                .lock()
                .unwrap()
                .pop_front()
                .expect("something to say");
            Ok(Reply {
                text,
                ..Reply::default()
            })
        })
    }
}

/// A workspace with its engine.
pub(crate) struct Kit {
    pub(crate) registry: Arc<Registry>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) model: Arc<Scripted>,
    pub(crate) shelf: Arc<Shelf>,
    folder: Arc<TempDir>,
}

impl Kit {
    /// An engine in which whoever calls thinks.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self::with(files, Options::default(), false)
    }

    /// An engine with a model.
    pub(crate) fn thinking(files: &[(&str, &str)], replies: &[&str]) -> Self {
        let kit = Self::with(files, Options::default(), true);
        kit.will_say(replies);
        kit
    }

    pub(crate) fn with(files: &[(&str, &str)], options: Options, model: bool) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        for (path, text) in files {
            write(&folder.path().join("workspace/resources").join(path), text);
        }
        Self::at(folder, options, model)
    }

    /// Another engine on the same files and the same database, as another process would be.
    pub(crate) fn again(&self) -> Self {
        Self::at(self.folder.clone(), Options::default(), false)
    }

    fn at(folder: Arc<TempDir>, mut options: Options, model: bool) -> Self {
        options.places.workspace = folder.path().join("workspace");
        let scripted = Arc::<Scripted>::default();
        let mind = model.then(|| scripted.clone() as Arc<dyn Thinker>);
        let store: Arc<dyn Store> = Arc::new(SqliteStore::new(SqliteOptions {
            path: folder.path().join("store.db"),
            readers: 2,
            durability: Durability::Relaxed,
        }));
        let shelf = Shelf::new(&options);
        let engine = Arc::new(Engine::new(options, shelf.clone()));
        let registry = register(
            Registry::new(Parts {
                store: store.clone(),
                minds: Arc::new(OneMind(mind)),
                clock: Arc::new(SystemClock),
                ids: Arc::new(SystemIds),
                bounds: Bounds::default(),
            })
            .with(NoteDown)
            .with(Ponder),
            &engine,
        );
        Self {
            registry: Arc::new(registry),
            store,
            model: scripted,
            shelf,
            folder,
        }
    }

    pub(crate) fn will_say(&self, replies: &[&str]) {
        let replies = replies.iter().map(|it| (*it).to_owned());
        self.model.replies.lock().unwrap().extend(replies);
    }

    /// What the model was asked, as one text each.
    pub(crate) fn asked(&self) -> Vec<String> {
        let asks = self.model.asked.lock().unwrap();
        asks.iter()
            .map(|ask| format!("{}\n{}", ask.system, ask.messages[0].text))
            .collect()
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<Value, ToolError> {
        match self
            .registry
            .call(tool, arguments, Caller::default())
            .await?
        {
            Answer::Done(output) => Ok(output),
            Answer::NeedsReply(needs) => Ok(json!({ "needs_reply": needs })),
        }
    }

    /// Calls the engine, for its answer.
    pub(crate) async fn engine(&self, arguments: Value) -> Value {
        self.call("prompt_engine", arguments).await.unwrap()
    }

    /// What the engine says to a command.
    pub(crate) async fn said(&self, command: &str) -> String {
        said(&self.engine(json!({ "command": command })).await)
    }

    /// What is wrong with a command, as it is told.
    pub(crate) async fn wrong(&self, arguments: Value) -> String {
        let error = self.call("prompt_engine", arguments).await.unwrap_err();
        format!(
            "{}: {error} {}",
            error.code(),
            error.hint().unwrap_or_default()
        )
    }

    /// Answers the step of a run.
    pub(crate) async fn answer(&self, run: &str, text: &str) -> Value {
        self.engine(json!({ "chain_id": run, "user_response": text }))
            .await
    }
}

pub(crate) fn said(answer: &Value) -> String {
    answer["said"].as_str().unwrap().to_owned()
}

pub(crate) fn run_of(answer: &Value) -> String {
    answer["chain_id"].as_str().expect("a run").to_owned()
}

pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A prompt that says what it is given.
pub(crate) const ECHO: (&str, &str) = (
    "prompts/general/echo.yaml",
    "id: echo\nname: Echo\ndescription: Says what it is given, word for word\n\
     userMessageTemplate: '{{ text }}'\narguments:\n  - {name: text, required: true}\n",
);

/// Adds a session: something to see in the store.
struct NoteDown;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Note {
    title: String,
    times: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Noted {
    session: String,
    title: String,
    times: u32,
}

impl Tool for NoteDown {
    type Input = Note;
    type Output = Noted;

    fn about(&self) -> About {
        about("note_down", false)
    }

    async fn run(&self, note: Note, call: &Call) -> Result<Outcome<Noted>, ToolError> {
        if note.title == "refuse" {
            return Err(ToolError::Told {
                code: "Refused".to_owned(),
                message: "it does not want to".to_owned(),
                hint: None,
            });
        }
        let id: SessionId = call.fresh();
        let session = Session {
            id: id.clone(),
            mode: Mode::Linear,
            title: Some(note.title.clone()),
            created_at: call.now(),
            updated_at: call.now(),
            active_branch_id: None,
            metadata: None,
        };
        Ok(Outcome {
            output: Noted {
                session: id.to_string(),
                title: note.title,
                times: note.times.unwrap_or(1),
            },
            changes: vec![Change::AddSession(session)],
            session: Some(id),
        })
    }
}

/// Asks the model.
struct Ponder;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Pondered {
    about: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Thought {
    thought: String,
}

impl Tool for Ponder {
    type Input = Pondered;
    type Output = Thought;

    fn about(&self) -> About {
        about("ponder", true)
    }

    async fn run(&self, input: Pondered, call: &Call) -> Result<Outcome<Thought>, ToolError> {
        let ask = Ask {
            key: "thought".to_owned(),
            purpose: Purpose::new("ponder"),
            system: "Ponder.".to_owned(),
            messages: vec![Message::user(input.about)],
            schema: answer_schema::<Thought>(),
            plain_text: PlainText::IsRefused,
            max_tokens: 100,
            temperature: 0.0,
            ..Ask::default()
        };
        let thought = call.think::<Thought>(ask, None).await?.value;
        Ok(Outcome {
            output: thought,
            changes: Vec::new(),
            session: None,
        })
    }
}

fn about(name: &'static str, thinks: bool) -> About {
    About {
        name,
        title: "For tests",
        description: "Does what a test needs.",
        annotations: Annotations::ADDS,
        thinks,
        limits: Limits::default(),
    }
}
