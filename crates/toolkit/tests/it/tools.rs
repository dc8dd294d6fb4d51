//! Small tools, each for one promise of the gate.

use std::sync::Arc;

use deliberate_core::{Change, Mode, Percent, Score, Session, SessionId, Thought};
use deliberate_thinker::{Ask, Message, PlainText, Purpose};
use deliberate_toolkit::{
    About, Annotations, Call, Limits, Outcome, Tool, ToolError, answer_schema,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

fn about(name: &'static str, thinks: bool, limits: Limits) -> About {
    About {
        name,
        title: "A tool for tests",
        description: "Does what its test needs.",
        annotations: Annotations {
            read_only: false,
            destructive: false,
            idempotent: false,
            open_world: false,
        },
        thinks,
        limits,
    }
}

fn only<T>(output: T) -> Outcome<T> {
    Outcome {
        output,
        changes: Vec::new(),
        session: None,
    }
}

/// Answers what it was given, as it understood it.
pub(crate) struct Echo;

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Said {
    #[schemars(length(min = 1))]
    content: String,
    session_id: Option<String>,
    #[schemars(range(min = 1, max = 5))]
    times: Option<u32>,
    ratio: Option<Score>,
    loud: Option<bool>,
    manner: Option<Manner>,
    depth: Option<Depth>,
    config: Option<Config>,
    #[schemars(length(max = 3))]
    tags: Option<Vec<String>>,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Manner {
    Plain,
    Fancy,
}

/// A choice whose words are explained, which makes another schema.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Depth {
    /// At a glance
    Shallow,
    /// To the ground
    Deep,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    #[schemars(range(min = 1))]
    max_depth: Option<u32>,
}

impl Tool for Echo {
    type Input = Said;
    type Output = Said;

    fn about(&self) -> About {
        about("echo", false, Limits::default())
    }

    async fn run(&self, input: Said, _: &Call) -> Result<Outcome<Said>, ToolError> {
        Ok(only(input))
    }
}

/// Writes a session, if none is named, and a thought; asks nobody.
pub(crate) struct Note;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Noted {
    content: String,
    session_id: Option<SessionId>,
}

impl Tool for Note {
    type Input = Noted;
    type Output = Value;

    fn about(&self) -> About {
        about("note", false, Limits::default())
    }

    async fn run(&self, input: Noted, call: &Call) -> Result<Outcome<Value>, ToolError> {
        Ok(remember(input.content, Score::ONE, input.session_id, call))
    }
}

/// A thought as an outcome, in a new session if none is named.
fn remember(
    content: String,
    confidence: Score,
    session_id: Option<SessionId>,
    call: &Call,
) -> Outcome<Value> {
    let now = call.now();
    let mut changes = Vec::new();
    let session_id = session_id.unwrap_or_else(|| {
        let session = Session {
            id: call.fresh(),
            mode: Mode::Linear,
            title: None,
            created_at: now,
            updated_at: now,
            active_branch_id: None,
            metadata: None,
        };
        let id = session.id.clone();
        changes.push(Change::AddSession(session));
        id
    });
    let thought = Thought {
        id: call.fresh(),
        session_id: session_id.clone(),
        input: None,
        content,
        confidence,
        mode: Mode::Linear,
        parent_id: None,
        branch_id: None,
        set_aside: false,
        created_at: now,
        metadata: None,
    };
    let output = json!({
        "thought_id": thought.id,
        "content": thought.content,
        "confidence": thought.confidence,
    });
    changes.push(Change::AddThought(thought));
    Outcome {
        output,
        changes,
        session: Some(session_id),
    }
}

/// What the thinking tools ask for.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct View {
    #[schemars(length(min = 1))]
    view: String,
    percent: Percent,
}

impl View {
    pub(crate) fn view(self) -> String {
        self.view
    }
}

pub(crate) fn ask(key: &str, question: &str) -> Ask {
    Ask {
        key: key.to_owned(),
        purpose: Purpose::new("test"),
        system: "Be brief.".to_owned(),
        messages: vec![Message::user(question)],
        schema: answer_schema::<View>(),
        plain_text: PlainText::IsRefused,
        max_tokens: 100,
        temperature: 0.0,
        ..Ask::default()
    }
}

/// Asks once, and remembers the answer.
pub(crate) struct Ponder;

impl Tool for Ponder {
    type Input = Noted;
    type Output = Value;

    fn about(&self) -> About {
        about("ponder", true, Limits::default())
    }

    async fn run(&self, input: Noted, call: &Call) -> Result<Outcome<Value>, ToolError> {
        let answer = call
            .think::<View>(ask("view", &input.content), None)
            .await?;
        let View { view, percent } = answer.value;
        Ok(remember(view, percent.0, input.session_id, call))
    }
}

/// Asks two at once, then a third with their answers.
pub(crate) struct Debate;

impl Tool for Debate {
    type Input = Noted;
    type Output = Value;

    fn about(&self) -> About {
        about("debate", true, Limits::default())
    }

    async fn run(&self, input: Noted, call: &Call) -> Result<Outcome<Value>, ToolError> {
        let (pro, contra) = futures::join!(
            call.think::<View>(ask("for", &format!("For {}?", input.content)), None),
            call.think::<View>(ask("against", &format!("Against {}?", input.content)), None),
        );
        let question = format!("{} or {}?", pro?.value.view, contra?.value.view);
        let verdict = call.think::<View>(ask("verdict", &question), None).await?;
        let View { view, percent } = verdict.value;
        Ok(remember(view, percent.0, input.session_id, call))
    }
}

/// Panics, at once or after it was suspended by the runtime.
pub(crate) struct Faulty;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct When {
    late: bool,
}

impl Tool for Faulty {
    type Input = When;
    type Output = Value;

    fn about(&self) -> About {
        about("faulty", false, Limits::default())
    }

    async fn run(&self, input: When, _: &Call) -> Result<Outcome<Value>, ToolError> {
        if input.late {
            tokio::task::yield_now().await;
        }
        panic!("a fault in the tool");
    }
}

/// Tells how far it has come, as it is told to.
pub(crate) struct Steps;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Numbers {
    numbers: Vec<f64>,
    pause_secs: u64,
}

impl Tool for Steps {
    type Input = Numbers;
    type Output = Value;

    fn about(&self) -> About {
        about("steps", false, Limits::default())
    }

    async fn run(&self, input: Numbers, call: &Call) -> Result<Outcome<Value>, ToolError> {
        for number in input.numbers {
            call.progress(number, Some(10.0), &format!("at {number}"));
            tokio::time::sleep(std::time::Duration::from_secs(input.pause_secs)).await;
        }
        Ok(only(json!({})))
    }
}

/// Runs until it is let go, and tells when it begins, ends or is dropped in between.
pub(crate) struct Wait {
    name: &'static str,
    limits: Limits,
    events: mpsc::UnboundedSender<String>,
    let_go: Arc<Semaphore>,
}

/// The test's side of [`Wait`].
pub(crate) struct Waiting {
    pub(crate) events: mpsc::UnboundedReceiver<String>,
    pub(crate) let_go: Arc<Semaphore>,
}

/// Tools of these names and limits, all watched together.
pub(crate) fn waits<const N: usize>(tools: [(&'static str, Limits); N]) -> ([Wait; N], Waiting) {
    let (sender, events) = mpsc::unbounded_channel();
    let let_go = Arc::new(Semaphore::new(0));
    let tools = tools.map(|(name, limits)| Wait {
        name,
        limits,
        events: sender.clone(),
        let_go: let_go.clone(),
    });
    (tools, Waiting { events, let_go })
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Named {
    name: String,
}

struct Life<'a> {
    name: String,
    events: &'a mpsc::UnboundedSender<String>,
    ended: bool,
}

impl Life<'_> {
    fn tell(&self, what: &str) {
        // The test may be over.
        drop(self.events.send(format!("{} {what}", self.name)));
    }
}

impl Drop for Life<'_> {
    fn drop(&mut self) {
        self.tell(if self.ended { "ended" } else { "was dropped" });
    }
}

impl Tool for Wait {
    type Input = Named;
    type Output = Value;

    fn about(&self) -> About {
        about(self.name, false, self.limits)
    }

    async fn run(&self, input: Named, call: &Call) -> Result<Outcome<Value>, ToolError> {
        let mut life = Life {
            name: input.name.clone(),
            events: &self.events,
            ended: false,
        };
        life.tell("began");
        self.let_go.acquire().await.unwrap().forget();
        life.ended = true;
        Ok(remember(input.name, Score::ONE, None, call))
    }
}
