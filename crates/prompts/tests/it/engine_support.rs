//! A harness for the engine on a real store and a real workspace, with a scripted model.

use std::{
    fs,
    ops::Deref,
    path::{Path, PathBuf},
    sync::Arc,
};

use deliberate_core::{Change, Mode, Session, SessionId};
use deliberate_llm::{ChatMessage, ModelRequest, PlainText, Purpose};
use deliberate_prompts::{Engine, EngineOptions, library::LiveLibrary, register};
use deliberate_testkit::fixtures::{RegistryBuilder, RegistryFixture, ScriptedModel, reply};
use deliberate_toolkit::{
    CallOutcome, CallerContext, ErrorCode, Tool, ToolContext, ToolError, ToolHints, ToolLimits,
    ToolMeta, ToolOutput, answer_schema,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A workspace with its engine.
pub(crate) struct EngineHarness {
    fixture: RegistryFixture,
    pub(crate) library: Arc<LiveLibrary>,
}

impl Deref for EngineHarness {
    type Target = RegistryFixture;

    fn deref(&self) -> &RegistryFixture {
        &self.fixture
    }
}

impl EngineHarness {
    /// Creates an engine without a model: the client's model answers.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self::with_options(files, EngineOptions::default(), false)
    }

    /// Creates an engine with a model that returns these replies.
    pub(crate) fn with_replies(files: &[(&str, &str)], replies: &[&str]) -> Self {
        let kit = Self::with_options(files, EngineOptions::default(), true);
        kit.queue_replies(replies);
        kit
    }

    pub(crate) fn with_options(
        files: &[(&str, &str)],
        options: EngineOptions,
        model: bool,
    ) -> Self {
        let mut parts = RegistryBuilder::new();
        for (path, text) in files {
            write(&parts.folder().join("workspace/resources").join(path), text);
        }
        if model {
            parts = parts.scripted_model(ScriptedModel::new([]));
        }
        Self::build(parts, options)
    }

    /// Creates a second engine on the same files and database, like another process.
    pub(crate) fn second_process(&self) -> Self {
        Self::build(self.fixture.second_process(), EngineOptions::default())
    }

    fn build(parts: RegistryBuilder, mut options: EngineOptions) -> Self {
        options.paths.workspace = parts.folder().join("workspace");
        let library = LiveLibrary::new(&options);
        let engine = Arc::new(Engine::new(options, library.clone()));
        let fixture = parts
            .system_time()
            .build(|registry| register(registry.with(AddSessionTool).with(AskModelTool), &engine));
        Self { fixture, library }
    }

    pub(crate) fn queue_replies(&self, replies: &[&str]) {
        self.model
            .script_replies(replies.iter().map(|text| reply(text)));
    }

    /// Returns the requests to the model, each as one text.
    pub(crate) fn model_requests(&self) -> Vec<String> {
        let asks = self.model.requests();
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
            .call(tool, arguments, CallerContext::default())
            .await?
        {
            CallOutcome::Done(output) => Ok(output),
            CallOutcome::NeedsReply(needs) => Ok(json!({ "needs_reply": needs })),
        }
    }

    /// Calls the engine and returns its output.
    pub(crate) async fn call_engine(&self, arguments: Value) -> Value {
        self.call("prompt_engine", arguments).await.unwrap()
    }

    /// Runs a command and returns the text of the output.
    pub(crate) async fn command_text(&self, command: &str) -> String {
        reply_text(&self.call_engine(json!({ "command": command })).await)
    }

    /// Runs a command that must fail and returns the error text.
    pub(crate) async fn error_text(&self, arguments: Value) -> String {
        let error = self.call("prompt_engine", arguments).await.unwrap_err();
        format!(
            "{}: {error} {}",
            error.code(),
            error.hint().unwrap_or_default()
        )
    }

    /// Answers the current step of a run.
    pub(crate) async fn answer_step(&self, run: &str, text: &str) -> Value {
        self.call_engine(json!({ "chain_id": run, "user_response": text }))
            .await
    }
}

pub(crate) fn reply_text(answer: &Value) -> String {
    answer["said"].as_str().unwrap().to_owned()
}

pub(crate) fn run_id(answer: &Value) -> String {
    answer["chain_id"].as_str().expect("a run").to_owned()
}

pub(crate) fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A prompt that renders its argument.
pub(crate) const ECHO: (&str, &str) = (
    "prompts/general/echo.yaml",
    "id: echo\nname: Echo\ndescription: Says what it is given, word for word\n\
     userMessageTemplate: '{{ text }}'\narguments:\n  - {name: text, required: true}\n",
);

/// A tool that adds a session, which is visible in the store.
struct AddSessionTool;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddSessionInput {
    title: String,
    times: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct AddSessionOutput {
    session: String,
    title: String,
    times: u32,
}

impl Tool for AddSessionTool {
    type Input = AddSessionInput;
    type Output = AddSessionOutput;

    fn meta(&self) -> ToolMeta {
        tool_meta("note_down", false)
    }

    async fn run(
        &self,
        note: AddSessionInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<AddSessionOutput>, ToolError> {
        if note.title == "refuse" {
            return Err(ToolError::Custom {
                code: ErrorCode::ToolFailed,
                message: "it does not want to".to_owned(),
                hint: None,
            });
        }
        let id: SessionId = call.new_id();
        let session = Session {
            id: id.clone(),
            mode: Mode::Linear,
            title: Some(note.title.clone()),
            created_at: call.now(),
            updated_at: call.now(),
            active_branch_id: None,
            metadata: None,
        };
        Ok(ToolOutput {
            output: AddSessionOutput {
                session: id.to_string(),
                title: note.title,
                times: note.times.unwrap_or(1),
            },
            changes: vec![Change::AddSession(session)],
            session: Some(id),
        })
    }
}

/// A tool that asks the model.
struct AskModelTool;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct AskModelInput {
    about: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct AskModelOutput {
    thought: String,
}

impl Tool for AskModelTool {
    type Input = AskModelInput;
    type Output = AskModelOutput;

    fn meta(&self) -> ToolMeta {
        tool_meta("ponder", true)
    }

    async fn run(
        &self,
        input: AskModelInput,
        call: &ToolContext,
    ) -> Result<ToolOutput<AskModelOutput>, ToolError> {
        let ask = ModelRequest {
            key: "thought".to_owned(),
            purpose: Purpose::new("ponder"),
            system: "Ponder.".to_owned(),
            messages: vec![ChatMessage::user(input.about)],
            schema: answer_schema::<AskModelOutput>(),
            plain_text: PlainText::IsRefused,
            max_tokens: 100,
            temperature: 0.0,
            ..ModelRequest::default()
        };
        let thought = call.ask::<AskModelOutput>(ask, None).await?.value;
        Ok(ToolOutput {
            output: thought,
            changes: Vec::new(),
            session: None,
        })
    }
}

fn tool_meta(name: &'static str, thinks: bool) -> ToolMeta {
    ToolMeta {
        name,
        title: "For tests",
        description: "Does what a test needs.",
        hints: ToolHints::ADDITIVE,
        asks_model: thinks,
        limits: ToolLimits::default(),
    }
}
