//! A model with tools: the model calls tools and receives their results until it answers.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use deliberate_adapter::{Adapter, AdapterConfig, ServerConfig, ToolLoop};
//! use deliberate_llm::{OpenAi, OpenAiSettings};
//!
//! let files = ServerConfig::stdio("files", "npx", ["-y", "@modelcontextprotocol/server-filesystem", "."]);
//! let adapter = Adapter::new(AdapterConfig::from_servers([files]))?;
//! let model = Arc::new(OpenAi::new(OpenAiSettings::for_url("http://127.0.0.1:11434/v1"))?);
//! let tool_loop = ToolLoop::new(model).with_tools(adapter.to_functions().await?.functions);
//! println!("{}", tool_loop.run("Which file here is the largest?").await?.text);
//! # Ok(())
//! # }
//! ```

mod callable_tool;
mod result_images;
mod run;

use std::{fmt, sync::Arc, time::Duration};

use deliberate_llm::{
    ChatMessage, ChatModel, ImageData, ModelError, TokenUsage, ToolCall, ToolCallOutput,
};
use serde_json::Value;
use tokio::{sync::mpsc, task::JoinHandle};

pub use callable_tool::CallableTool;
use callable_tool::OfferedTool;

/// A model and the tools that it may call. It is cheap to clone.
#[derive(Clone)]
pub struct ToolLoop {
    model: Arc<dyn ChatModel>,
    tools: Vec<OfferedTool>,
    system: String,
    limits: ToolLoopLimits,
}

/// The limits of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolLoopLimits {
    /// The maximum number of model requests.
    pub turns: usize,
    /// The maximum number of tool calls.
    pub calls: usize,
    /// The maximum number of concurrent tool calls.
    pub max_concurrent: usize,
    /// The maximum number of tokens, sent and received. The turn that exceeds it is followed by one
    /// more, for the answer.
    pub tokens: u64,
    /// The total time limit. Its last quarter is reserved for the answer.
    pub time: Duration,
    /// The maximum number of bytes of each result that the model sees.
    pub result_bytes: usize,
    /// The maximum number of pictures of each result that the model sees, if its provider accepts
    /// pictures. If the model then refuses them, it is asked again without.
    pub images: usize,
    /// The maximum number of tokens that the model may write in a turn.
    pub max_tokens: u32,
    /// The sampling temperature, 0 to 1.
    pub temperature: f64,
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
            images: 4,
            max_tokens: 2_000,
            temperature: 0.3,
        }
    }
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolLoopResult {
    /// The model's answer.
    pub text: String,
    /// The whole conversation, which can be continued.
    pub messages: Vec<ChatMessage>,
    /// The tool calls, in order.
    pub calls: Vec<ToolCallRecord>,
    /// The token usage.
    pub usage: TokenUsage,
    /// The number of model requests.
    pub turns: usize,
    /// The reason why the run ended.
    pub stop_reason: ToolLoopStopReason,
}

/// A tool call of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCallRecord {
    /// The call that the model made.
    pub call: ToolCall,
    /// The result that the model received.
    pub result: ToolCallOutput,
    /// The duration of the call.
    pub elapsed: Duration,
}

/// The reason why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolLoopStopReason {
    /// The model answered.
    Answered,
    /// The limit on turns was reached, and the model was made to answer.
    Turns,
    /// The limit on calls was reached, and the model was made to answer.
    Calls,
    /// The limit on tokens was reached, and the model was made to answer.
    Tokens,
    /// Three quarters of the time were used, and the model was made to answer.
    Timeout,
}

/// An event of a run, reported as it happens.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ToolLoopEvent {
    /// The next piece of the model's text.
    Text(String),
    /// The text of this turn so far is void: the model starts it again.
    Restart,
    /// A tool call started.
    CallStarted(ToolCall),
    /// A tool call finished.
    CallFinished(ToolCallRecord),
    /// A turn finished.
    TurnFinished {
        /// The number of the turn, from 1.
        number: usize,
        /// The usage of all turns so far.
        usage: TokenUsage,
    },
}

/// The error of a failed run.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct ToolLoopError {
    /// The error of the model.
    #[source]
    pub error: ModelError,
    /// The conversation so far.
    pub messages: Vec<ChatMessage>,
    /// The tool calls so far.
    pub calls: Vec<ToolCallRecord>,
    /// The token usage so far.
    pub usage: TokenUsage,
}

/// A run in its own task.
#[derive(Debug)]
pub struct SpawnedLoop {
    /// The events of the run until its end. None are dropped for a slow reader; the limits bound
    /// their number.
    pub events: mpsc::UnboundedReceiver<ToolLoopEvent>,
    /// The result of the run. Aborting the task ends the run.
    pub outcome: JoinHandle<Result<ToolLoopResult, Box<ToolLoopError>>>,
}

impl ToolLoop {
    /// Creates a tool loop without tools.
    pub fn new(model: Arc<dyn ChatModel>) -> Self {
        Self {
            model,
            tools: Vec::new(),
            system: String::new(),
            limits: ToolLoopLimits::default(),
        }
    }

    /// Adds tools. If two have the same name, the first is used.
    pub fn with_tools<T: CallableTool>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        for tool in tools {
            let offered_tool = OfferedTool::new(Arc::new(tool));
            if !self
                .tools
                .iter()
                .any(|known| known.name() == offered_tool.name())
            {
                self.tools.push(offered_tool);
            }
        }
        self
    }

    /// Sets the system prompt.
    pub fn with_system_prompt(mut self, system: impl Into<String>) -> Self {
        self.system = system.into();
        self
    }

    /// Sets the limits.
    pub fn with_limits(mut self, limits: ToolLoopLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Runs until the model answers.
    pub async fn run(
        &self,
        about: impl Into<Conversation>,
    ) -> Result<ToolLoopResult, Box<ToolLoopError>> {
        self.run_with_events(about, &|_| {}).await
    }

    /// Runs until the model answers, and reports events to `on`, which must not block.
    pub async fn run_with_events(
        &self,
        about: impl Into<Conversation>,
        on: &(dyn Fn(ToolLoopEvent) + Send + Sync),
    ) -> Result<ToolLoopResult, Box<ToolLoopError>> {
        run::run(self, about.into().0, on).await
    }

    /// Runs in a new task.
    pub fn spawn(&self, about: impl Into<Conversation>) -> SpawnedLoop {
        let (chain, about) = (self.clone(), about.into());
        let (sender, events) = mpsc::unbounded_channel();
        let outcome = tokio::spawn(async move {
            let tell = |event| {
                // Sending fails only if nobody reads the events.
                drop(sender.send(event));
            };
            chain.run_with_events(about, &tell).await
        });
        SpawnedLoop { events, outcome }
    }
}

/// The messages that a run starts with.
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

/// The text that a tool returns to the model, for a success or a failure.
pub type ToolText = Result<String, String>;
/// The same with the pictures of a success.
pub type ToolAnswer = Result<(String, Vec<ImageData>), String>;

/// The arguments of a tool call.
pub type ToolArguments = Value;
