//! A model with functions: it calls them, hears what came of it, and goes on until it answers.
//!
//! ```no_run
//! # async fn shown() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use deliberate_adapter::{Adapter, AdapterConfig, Chain, ServerConfig};
//! use deliberate_thinker::{OpenAi, OpenAiSettings};
//!
//! let files = ServerConfig::stdio("files", "npx", ["-y", "@modelcontextprotocol/server-filesystem", "."]);
//! let adapter = Adapter::new(AdapterConfig::of([files]))?;
//! let model = Arc::new(OpenAi::new(OpenAiSettings::at("http://127.0.0.1:11434/v1"))?);
//! let chain = Chain::new(model).with(adapter.to_functions().await?.functions);
//! println!("{}", chain.run("Which file here is the largest?").await?.text);
//! # Ok(())
//! # }
//! ```

mod callable_tool;
mod run;

use std::{fmt, sync::Arc, time::Duration};

use deliberate_llm::{ChatMessage, ChatModel, ModelError, TokenUsage, ToolCall, ToolCallOutput};
use serde_json::Value;
use tokio::{sync::mpsc, task::JoinHandle};

pub use callable_tool::CallableTool;
use callable_tool::OfferedTool;

/// A model and the functions it may call. Cheap to clone.
#[derive(Clone)]
pub struct ToolLoop {
    model: Arc<dyn ChatModel>,
    tools: Vec<OfferedTool>,
    system: String,
    limits: ToolLoopLimits,
}

/// What one run may take.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolLoopLimits {
    /// How often the model is asked.
    pub turns: usize,
    /// How many functions are called in all.
    pub calls: usize,
    /// How many of them at once.
    pub max_concurrent: usize,
    /// Tokens sent and received in all. The turn that goes beyond is the last but one.
    pub tokens: u64,
    /// How long it may take in all. The last quarter is for the answer.
    pub time: Duration,
    /// How much of each result the model is shown, in bytes.
    pub result_bytes: usize,
    /// How much the model may write in a turn, in tokens.
    pub max_tokens: u32,
    /// How freely, 0 to 1.
    pub temperature: f32,
}

impl Default for ToolLoopLimits {
    fn default() -> Self {
        Self {
            turns: 8,
            calls: 32,
            max_concurrent: 8,
            tokens: 200_000,
            time: Duration::from_mins(5),
            result_bytes: 16 * 1024,
            max_tokens: 2_000,
            temperature: 0.3,
        }
    }
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolLoopResult {
    /// The model's answer.
    pub text: String,
    /// The whole conversation, to go on with.
    pub messages: Vec<ChatMessage>,
    /// What was called, in order.
    pub calls: Vec<ToolCallRecord>,
    /// What it cost.
    pub usage: TokenUsage,
    /// How often the model was asked.
    pub turns: usize,
    /// Why it ended.
    pub stop_reason: ToolLoopStopReason,
}

/// A call that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallRecord {
    /// What the model wanted.
    pub call: ToolCall,
    /// What came of it, as the model was told.
    pub result: ToolCallOutput,
    /// How long it took.
    pub elapsed: Duration,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolLoopStopReason {
    /// The model had its answer.
    Answered,
    /// It had been asked often enough, and was made to answer.
    Turns,
    /// It had called enough functions, and was made to answer.
    Calls,
    /// It had used enough tokens, and was made to answer.
    Tokens,
    /// It had taken three quarters of its time, and was made to answer.
    Timeout,
}

/// What happens in a run, as it happens.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ToolLoopEvent {
    /// More of what the model says.
    Text(String),
    /// What it said so far in this turn does not count: it says it anew.
    Restart,
    /// It calls a function.
    CallStarted(ToolCall),
    /// A function came back.
    CallFinished(ToolCallRecord),
    /// A turn is over.
    TurnFinished {
        /// Which, from 1.
        number: usize,
        /// What all turns so far cost.
        usage: TokenUsage,
    },
}

/// A run that came to nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct ToolLoopError {
    /// Why.
    #[source]
    pub error: ModelError,
    /// The conversation so far.
    pub messages: Vec<ChatMessage>,
    /// What was called by then.
    pub calls: Vec<ToolCallRecord>,
    /// What it cost.
    pub usage: TokenUsage,
}

/// A run in the background.
#[derive(Debug)]
pub struct SpawnedLoop {
    /// What happens, until it is over. Nothing is left out for a slow reader; the limits bound how
    /// much there can be.
    pub events: mpsc::UnboundedReceiver<ToolLoopEvent>,
    /// What it comes to. Aborting it ends the run.
    pub outcome: JoinHandle<Result<ToolLoopResult, Box<ToolLoopError>>>,
}

impl ToolLoop {
    /// A chain that thinks with this model and has no functions yet.
    pub fn new(model: Arc<dyn ChatModel>) -> Self {
        Self {
            model,
            tools: Vec::new(),
            system: String::new(),
            limits: ToolLoopLimits::default(),
        }
    }

    /// The chain with these functions too. Of two of one name the first counts.
    pub fn with_tools<T: CallableTool>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        for tool in tools {
            let told = OfferedTool::new(Arc::new(tool));
            if !self.tools.iter().any(|known| known.name() == told.name()) {
                self.tools.push(told);
            }
        }
        self
    }

    /// The chain with these standing instructions.
    pub fn with_system_prompt(mut self, system: impl Into<String>) -> Self {
        self.system = system.into();
        self
    }

    /// The chain within these limits.
    pub fn with_limits(mut self, limits: ToolLoopLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Runs until there is an answer.
    pub async fn run(
        &self,
        about: impl Into<Conversation>,
    ) -> Result<ToolLoopResult, Box<ToolLoopError>> {
        self.run_with_events(about, &|_| {}).await
    }

    /// The same, telling `on` what happens. `on` must not block.
    pub async fn run_with_events(
        &self,
        about: impl Into<Conversation>,
        on: &(dyn Fn(ToolLoopEvent) + Send + Sync),
    ) -> Result<ToolLoopResult, Box<ToolLoopError>> {
        run::run(self, about.into().0, on).await
    }

    /// Runs in the background.
    pub fn spawn(&self, about: impl Into<Conversation>) -> SpawnedLoop {
        let (chain, about) = (self.clone(), about.into());
        let (sender, events) = mpsc::unbounded_channel();
        let outcome = tokio::spawn(async move {
            let tell = |event| {
                // Nobody may be reading.
                drop(sender.send(event));
            };
            chain.run_with_events(about, &tell).await
        });
        SpawnedLoop { events, outcome }
    }
}

/// What a run begins with.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation(Vec<ChatMessage>);

impl From<&str> for Conversation {
    fn from(text: &str) -> Self {
        Self(vec![ChatMessage::user(text)])
    }
}

impl From<String> for Conversation {
    fn from(text: String) -> Self {
        Self(vec![ChatMessage::user(text)])
    }
}

impl From<Vec<ChatMessage>> for Conversation {
    fn from(messages: Vec<ChatMessage>) -> Self {
        Self(messages)
    }
}

impl fmt::Debug for ToolLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<_> = self.tools.iter().map(OfferedTool::name).collect();
        f.debug_struct("ToolLoop")
            .field("thinker", &self.model.name())
            .field("tools", &tools)
            .finish_non_exhaustive()
    }
}

/// What a function answers its model.
pub type ToolText = Result<String, String>;

/// The arguments of a call.
pub type ToolArguments = Value;
