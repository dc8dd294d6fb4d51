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

mod run;
mod tool;

use std::{fmt, sync::Arc, time::Duration};

use deliberate_thinker::{FunctionCall, FunctionResult, Message, ThinkError, Thinker, Usage};
use serde_json::Value;
use tokio::{sync::mpsc, task::JoinHandle};

pub use tool::ChainTool;
use tool::Told;

/// A model and the functions it may call. Cheap to clone.
#[derive(Clone)]
pub struct Chain {
    thinker: Arc<dyn Thinker>,
    tools: Vec<Told>,
    system: String,
    limits: ChainLimits,
}

/// What one run may take.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainLimits {
    /// How often the model is asked.
    pub turns: usize,
    /// How many functions are called in all.
    pub calls: usize,
    /// How many of them at once.
    pub at_once: usize,
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

impl Default for ChainLimits {
    fn default() -> Self {
        Self {
            turns: 8,
            calls: 32,
            at_once: 8,
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
pub struct Finished {
    /// The model's answer.
    pub text: String,
    /// The whole conversation, to go on with.
    pub messages: Vec<Message>,
    /// What was called, in order.
    pub called: Vec<Called>,
    /// What it cost.
    pub usage: Usage,
    /// How often the model was asked.
    pub turns: usize,
    /// Why it ended.
    pub stopped: Stopped,
}

/// A call that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct Called {
    /// What the model wanted.
    pub call: FunctionCall,
    /// What came of it, as the model was told.
    pub result: FunctionResult,
    /// How long it took.
    pub took: Duration,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// The model had its answer.
    Answered,
    /// It had been asked often enough, and was made to answer.
    Turns,
    /// It had called enough functions, and was made to answer.
    Calls,
    /// It had used enough tokens, and was made to answer.
    Tokens,
    /// It had taken three quarters of its time, and was made to answer.
    Time,
}

/// What happens in a run, as it happens.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ChainEvent {
    /// More of what the model says.
    Text(String),
    /// What it said so far in this turn does not count: it says it anew.
    Again,
    /// It calls a function.
    Calling(FunctionCall),
    /// A function came back.
    Called(Called),
    /// A turn is over.
    Turn {
        /// Which, from 1.
        number: usize,
        /// What all turns so far cost.
        usage: Usage,
    },
}

/// A run that came to nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct ChainError {
    /// Why.
    #[source]
    pub error: ThinkError,
    /// The conversation so far.
    pub messages: Vec<Message>,
    /// What was called by then.
    pub called: Vec<Called>,
    /// What it cost.
    pub usage: Usage,
}

/// A run in the background.
#[derive(Debug)]
pub struct Running {
    /// What happens, until it is over. Nothing is left out for a slow reader; the limits bound how
    /// much there can be.
    pub events: mpsc::UnboundedReceiver<ChainEvent>,
    /// What it comes to. Aborting it ends the run.
    pub outcome: JoinHandle<Result<Finished, Box<ChainError>>>,
}

impl Chain {
    /// A chain that thinks with this model and has no functions yet.
    pub fn new(thinker: Arc<dyn Thinker>) -> Self {
        Self {
            thinker,
            tools: Vec::new(),
            system: String::new(),
            limits: ChainLimits::default(),
        }
    }

    /// The chain with these functions too. Of two of one name the first counts.
    pub fn with<T: ChainTool>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        for tool in tools {
            let told = Told::new(Arc::new(tool));
            if !self.tools.iter().any(|known| known.name() == told.name()) {
                self.tools.push(told);
            }
        }
        self
    }

    /// The chain with these standing instructions.
    pub fn saying(mut self, system: impl Into<String>) -> Self {
        self.system = system.into();
        self
    }

    /// The chain within these limits.
    pub fn within(mut self, limits: ChainLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Runs until there is an answer.
    pub async fn run(&self, about: impl Into<Conversation>) -> Result<Finished, Box<ChainError>> {
        self.run_telling(about, &|_| {}).await
    }

    /// The same, telling `on` what happens. `on` must not block.
    pub async fn run_telling(
        &self,
        about: impl Into<Conversation>,
        on: &(dyn Fn(ChainEvent) + Send + Sync),
    ) -> Result<Finished, Box<ChainError>> {
        run::run(self, about.into().0, on).await
    }

    /// Runs in the background.
    pub fn spawn(&self, about: impl Into<Conversation>) -> Running {
        let (chain, about) = (self.clone(), about.into());
        let (sender, events) = mpsc::unbounded_channel();
        let outcome = tokio::spawn(async move {
            let tell = |event| {
                // Nobody may be reading.
                drop(sender.send(event));
            };
            chain.run_telling(about, &tell).await
        });
        Running { events, outcome }
    }
}

/// What a run begins with.
#[derive(Debug, Clone, PartialEq)]
pub struct Conversation(Vec<Message>);

impl From<&str> for Conversation {
    fn from(text: &str) -> Self {
        Self(vec![Message::user(text)])
    }
}

impl From<String> for Conversation {
    fn from(text: String) -> Self {
        Self(vec![Message::user(text)])
    }
}

impl From<Vec<Message>> for Conversation {
    fn from(messages: Vec<Message>) -> Self {
        Self(messages)
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tools: Vec<_> = self.tools.iter().map(Told::name).collect();
        f.debug_struct("Chain")
            .field("thinker", &self.thinker.name())
            .field("tools", &tools)
            .finish_non_exhaustive()
    }
}

/// What a function answers its model.
pub type ToolText = Result<String, String>;

/// The arguments of a call.
pub type Arguments = Value;
