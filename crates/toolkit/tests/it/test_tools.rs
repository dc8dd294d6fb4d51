//! Small tools, each for one guarantee of the dispatcher.

use std::sync::Arc;

use deliberate_core::{Change, Mode, Percent, Score, Session, SessionId, Thought};
use deliberate_llm::{ChatMessage, ModelRequest, PlainText, Purpose};
use deliberate_toolkit::{
    Tool, ToolContext, ToolError, ToolHints, ToolLimits, ToolMeta, ToolOutput, answer_schema,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};

fn meta(name: &'static str, thinks: bool, limits: ToolLimits) -> ToolMeta {
    ToolMeta {
        name,
        title: "A tool for tests",
        description: "Does what its test needs.",
        hints: ToolHints {
            read_only: false,
            destructive: false,
            idempotent: false,
            open_world: false,
        },
        asks_model: thinks,
        limits,
    }
}

fn output_only<T>(output: T) -> ToolOutput<T> {
    ToolOutput {
        output,
        changes: Vec::new(),
        session: None,
    }
}

/// Answers its arguments as it parsed them.
pub(crate) struct EchoTool;

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EchoInput {
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

/// An enum with documented variants, which has another form of schema.
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

impl Tool for EchoTool {
    type Input = EchoInput;
    type Output = EchoInput;

    fn meta(&self) -> ToolMeta {
        meta("echo", false, ToolLimits::default())
    }

    async fn run(
        &self,
        input: EchoInput,
        _: &ToolContext,
    ) -> Result<ToolOutput<EchoInput>, ToolError> {
        Ok(output_only(input))
    }
}

/// Adds a thought, and a session if none is named; uses no model.
pub(crate) struct NoteTool;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoteInput {
    content: String,
    session_id: Option<SessionId>,
}

impl Tool for NoteTool {
    type Input = NoteInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        meta("note", false, ToolLimits::default())
    }

    async fn run(
        &self,
        input: NoteInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<Value>, ToolError> {
        Ok(remember(input.content, Score::ONE, input.session_id, call))
    }
}

/// Returns an output that adds a thought, in a new session if none is named.
fn remember(
    content: String,
    confidence: Score,
    session_id: Option<SessionId>,
    call: &ToolContext,
) -> ToolOutput<Value> {
    let now = call.now();
    let mut changes = Vec::new();
    let session_id = session_id.unwrap_or_else(|| {
        let session = Session {
            id: call.new_id(),
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
        id: call.new_id(),
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
    ToolOutput {
        output,
        changes,
        session: Some(session_id),
    }
}

/// The model's answer in tools that use a model.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ViewAnswer {
    #[schemars(length(min = 1))]
    view: String,
    percent: Percent,
}

impl ViewAnswer {
    pub(crate) fn view(self) -> String {
        self.view
    }
}

pub(crate) fn model_request(key: &str, question: &str) -> ModelRequest {
    ModelRequest {
        key: key.to_owned(),
        purpose: Purpose::new("test"),
        system: "Be brief.".to_owned(),
        messages: vec![ChatMessage::user(question)],
        schema: answer_schema::<ViewAnswer>(),
        plain_text: PlainText::IsRefused,
        max_tokens: 100,
        temperature: 0.0,
        ..ModelRequest::default()
    }
}

/// Sends one model request and stores the answer.
pub(crate) struct AskOnceTool;

impl Tool for AskOnceTool {
    type Input = NoteInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        meta("ponder", true, ToolLimits::default())
    }

    async fn run(
        &self,
        input: NoteInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<Value>, ToolError> {
        let answer = call
            .ask::<ViewAnswer>(model_request("view", &input.content), None)
            .await?;
        let ViewAnswer { view, percent } = answer.value;
        Ok(remember(view, percent.0, input.session_id, call))
    }
}

/// Sends two requests at once, then a third with their answers.
pub(crate) struct AskThriceTool;

impl Tool for AskThriceTool {
    type Input = NoteInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        meta("debate", true, ToolLimits::default())
    }

    async fn run(
        &self,
        input: NoteInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<Value>, ToolError> {
        let (pro, contra) = futures::join!(
            call.ask::<ViewAnswer>(
                model_request("for", &format!("For {}?", input.content)),
                None
            ),
            call.ask::<ViewAnswer>(
                model_request("against", &format!("Against {}?", input.content)),
                None
            ),
        );
        let question = format!("{} or {}?", pro?.value.view, contra?.value.view);
        let verdict = call
            .ask::<ViewAnswer>(model_request("verdict", &question), None)
            .await?;
        let ViewAnswer { view, percent } = verdict.value;
        Ok(remember(view, percent.0, input.session_id, call))
    }
}

/// Panics, at once or after an await.
pub(crate) struct PanicTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct PanicInput {
    late: bool,
}

impl Tool for PanicTool {
    type Input = PanicInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        meta("faulty", false, ToolLimits::default())
    }

    async fn run(
        &self,
        input: PanicInput,
        _: &ToolContext,
    ) -> Result<ToolOutput<Value>, ToolError> {
        if input.late {
            tokio::task::yield_now().await;
        }
        panic!("a fault in the tool");
    }
}

/// Reports the progress that its arguments name.
pub(crate) struct ProgressTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ProgressInput {
    numbers: Vec<f64>,
    pause_secs: u64,
}

impl Tool for ProgressTool {
    type Input = ProgressInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        meta("steps", false, ToolLimits::default())
    }

    async fn run(
        &self,
        input: ProgressInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<Value>, ToolError> {
        for number in input.numbers {
            call.progress(number, Some(10.0), &format!("at {number}"));
            tokio::time::sleep(std::time::Duration::from_secs(input.pause_secs)).await;
        }
        Ok(output_only(json!({})))
    }
}

/// Reads, and answers at once.
pub(crate) struct ReadTool;

impl Tool for ReadTool {
    type Input = NameInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            hints: ToolHints::READ_ONLY,
            ..meta("read", false, ToolLimits::default())
        }
    }

    async fn run(&self, input: NameInput, _: &ToolContext) -> Result<ToolOutput<Value>, ToolError> {
        Ok(output_only(json!({ "read": input.name })))
    }
}

/// Runs until it is released, and reports when it begins, ends or is dropped.
pub(crate) struct WaitTool {
    name: &'static str,
    limits: ToolLimits,
    events: mpsc::UnboundedSender<String>,
    release: Arc<Semaphore>,
}

/// The test's side of [`WaitTool`].
pub(crate) struct WaitControl {
    pub(crate) events: mpsc::UnboundedReceiver<String>,
    pub(crate) release: Arc<Semaphore>,
}

/// Creates tools of these names and limits with one common control.
pub(crate) fn wait_tools<const N: usize>(
    tools: [(&'static str, ToolLimits); N],
) -> ([WaitTool; N], WaitControl) {
    let (sender, events) = mpsc::unbounded_channel();
    let let_go = Arc::new(Semaphore::new(0));
    let tools = tools.map(|(name, limits)| WaitTool {
        name,
        limits,
        events: sender.clone(),
        release: let_go.clone(),
    });
    (
        tools,
        WaitControl {
            events,
            release: let_go,
        },
    )
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct NameInput {
    name: String,
}

struct RunGuard<'a> {
    name: String,
    events: &'a mpsc::UnboundedSender<String>,
    ended: bool,
}

impl RunGuard<'_> {
    fn send_event(&self, what: &str) {
        // The test may have ended.
        drop(self.events.send(format!("{} {what}", self.name)));
    }
}

impl Drop for RunGuard<'_> {
    fn drop(&mut self) {
        self.send_event(if self.ended { "ended" } else { "was dropped" });
    }
}

impl Tool for WaitTool {
    type Input = NameInput;
    type Output = Value;

    fn meta(&self) -> ToolMeta {
        meta(self.name, false, self.limits)
    }

    async fn run(
        &self,
        input: NameInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<Value>, ToolError> {
        let mut life = RunGuard {
            name: input.name.clone(),
            events: &self.events,
            ended: false,
        };
        life.send_event("began");
        self.release.acquire().await.unwrap().forget();
        life.ended = true;
        Ok(remember(input.name, Score::ONE, None, call))
    }
}
