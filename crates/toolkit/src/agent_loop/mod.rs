//! Reasoning that acts: within one call of a tool a model calls other tools, turn by turn, until it
//! answers. What is asked and run is bounded; who offers the tools and what becomes of the answer
//! is not known here.
//!
//! A call that waits for its client's model is run again from its start. What a tool did in an
//! earlier run is taken from the notes of the call, its changes too, so that nothing is done twice
//! and the model meets the same ids again. Only a process that dies in the midst of a call forgets:
//! whoever picks that call up begins it anew.

pub(crate) mod tool_selection;

use std::{fmt::Write as _, future::Future, time::Instant};

use deliberate_core::Change;
use deliberate_llm::{
    ChatMessage, ModelError, ModelRequest, ModelTurn, ToolCall, ToolCallOutput, ToolDefinition,
};
use futures::future::join_all;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{TEXT_FIELD, ToolContext, ToolError};

/// A tool that is put into a model's hand.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// The tool's name.
    pub name: String,
    /// What it does and when to choose it.
    pub description: String,
    /// The schema of its arguments.
    pub schema: Value,
}

/// What acting may take, beside the time of its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentLimits {
    /// How often the model is asked, the last time for its answer.
    pub turns: usize,
    /// How many calls are made in all.
    pub calls: usize,
    /// How much of a result the model is shown, and is kept as evidence.
    pub result_bytes: usize,
}

impl Default for AgentLimits {
    fn default() -> Self {
        Self {
            turns: 6,
            calls: 24,
            result_bytes: 8 * 1024,
        }
    }
}

/// What acting came to.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRun {
    /// The model's answer.
    pub text: String,
    /// What it called, in order.
    pub tool_uses: Vec<ToolUse>,
    /// What the tools it called want remembered, in order.
    pub changes: Vec<Change>,
    /// Why it came to its end.
    pub stop_reason: AgentStopReason,
    /// The whole conversation, the answer last, for who asks on.
    pub conversation: Vec<ChatMessage>,
}

/// Why acting came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentStopReason {
    /// The model had its answer.
    Answered,
    /// It had to answer, because that was the last turn.
    OutOfTurns,
    /// It had to answer, because no more calls are made.
    OutOfCalls,
}

/// One call a model made, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolUse {
    /// The tool.
    pub tool: String,
    /// What it was called with.
    pub arguments: Value,
    /// What it answered, or why it failed; cut if it was long.
    pub result: String,
    /// Whether it failed.
    pub failed: bool,
    /// How long it took.
    pub took_ms: u64,
}

/// What running a tool came to, as it is kept for the next run of the call.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ToolUseResult {
    result: String,
    failed: bool,
    took_ms: u64,
    changes: Vec<Change>,
}

impl ToolContext {
    /// Asks the model, lets it call these tools, and asks on until it answers. Its turns are asked
    /// under `{key}/turn1`, `{key}/turn2` and so on. The changes of the tools are not yet made: the
    /// caller returns them with its own.
    pub async fn run_agent_loop(
        &self,
        ask: ModelRequest,
        tools: &[ToolSpec],
        limits: AgentLimits,
    ) -> Result<AgentRun, ToolError> {
        let mut acted = AgentRun {
            text: String::new(),
            tool_uses: Vec::new(),
            changes: Vec::new(),
            stop_reason: AgentStopReason::Answered,
            conversation: ask.messages.clone(),
        };
        let functions: Vec<ToolDefinition> = tools.iter().map(ToolSpec::tool_definition).collect();
        for turn in 1.. {
            let left = limits.calls.saturating_sub(acted.tool_uses.len());
            acted.stop_reason = if functions.is_empty() {
                AgentStopReason::Answered
            } else if turn >= limits.turns {
                AgentStopReason::OutOfTurns
            } else if left == 0 {
                AgentStopReason::OutOfCalls
            } else {
                AgentStopReason::Answered
            };
            let key = format!("{}/turn{turn}", ask.key);
            let asked = ModelRequest {
                key: key.clone(),
                messages: acted.conversation.clone(),
                functions: functions.clone(),
                answer_now: acted.stop_reason != AgentStopReason::Answered,
                // The conversation travels with each ask.
                thread: None,
                ..ask.clone()
            };
            let said = self.ask_turn(asked).await?.value;
            acted.conversation.push(said.to_message());
            if said.calls.is_empty() {
                acted.text = said.text;
                break;
            }
            self.report_calls(&said);
            let results = self
                .run_calls(&key, &said, left, limits, &mut acted)
                .await?;
            acted.conversation.push(ChatMessage::tool_results(results));
        }
        Ok(acted)
    }

    /// What `work` comes to, which is done once in a call however often that is run: it is
    /// remembered under the key. For work outside this server. A call that is begun anew, because
    /// others were faster or its process died, does it again.
    pub async fn memoize_async<T: Serialize + DeserializeOwned>(
        &self,
        key: &str,
        work: impl Future<Output = T> + Send,
    ) -> T {
        match self.memoized(key) {
            Some(earlier) => earlier,
            None => self.memoize(key, work.await),
        }
    }

    /// Runs what was called in a turn, all at once, as far as calls are left.
    async fn run_calls(
        &self,
        key: &str,
        said: &ModelTurn,
        left: usize,
        limits: AgentLimits,
        acted: &mut AgentRun,
    ) -> Result<Vec<ToolCallOutput>, ToolError> {
        let runs = said.calls.iter().take(left).enumerate();
        let runs = runs.map(|(number, call)| {
            let key = format!("{key}/call{}", number + 1);
            async move { self.run_tool_once(&key, call, limits.result_bytes).await }
        });
        // Not `try_join_all`: the first that waits for the client must not undo the others.
        let runs = join_all(runs).await;
        let mut results = Vec::with_capacity(said.calls.len());
        for (call, ran) in said.calls.iter().zip(runs) {
            let ran = ran?;
            results.push(ToolCallOutput {
                is_error: ran.failed,
                ..ToolCallOutput::success(call, &ran.result)
            });
            acted.changes.extend(ran.changes);
            acted.tool_uses.push(ToolUse {
                tool: call.name.clone(),
                arguments: call.arguments.clone(),
                result: ran.result,
                failed: ran.failed,
                took_ms: ran.took_ms,
            });
        }
        for call in said.calls.iter().skip(results.len()) {
            let why = format!("it was not called: {} calls are the most", limits.calls);
            results.push(ToolCallOutput::error(call, why));
        }
        Ok(results)
    }

    /// Runs a tool, unless an earlier run of this call did. What is wrong with it is for the model
    /// to know, who may go on without it.
    async fn run_tool_once(
        &self,
        key: &str,
        call: &ToolCall,
        most: usize,
    ) -> Result<ToolUseResult, ToolError> {
        if let Some(earlier) = self.memoized(key) {
            return Ok(earlier);
        }
        let begun = Instant::now();
        let outcome = self.run_tool(key, &call.name, call.arguments.clone()).await;
        let (result, changes, failed) = match outcome {
            Ok(outcome) => (render_output(&outcome.output), outcome.changes, false),
            Err(error @ (ToolError::Cancelled | ToolError::Model(ModelError::Pending))) => {
                return Err(error);
            }
            Err(error) => (render_error(error), Vec::new(), true),
        };
        let ran = ToolUseResult {
            result: truncate_bytes(result, most),
            failed,
            took_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            changes,
        };
        Ok(self.memoize(key, ran))
    }

    fn report_calls(&self, said: &ModelTurn) {
        let names: Vec<&str> = said.calls.iter().map(|call| call.name.as_str()).collect();
        self.progress(0.0, None, &format!("calling {}", names.join(", ")));
    }
}

impl ToolSpec {
    fn tool_definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: self.name.clone(),
            description: self.description.clone(),
            parameters: self.schema.clone(),
        }
    }
}

/// An answer as a model reads it.
fn render_output(output: &Value) -> String {
    match output.get(TEXT_FIELD) {
        Some(Value::String(said)) => said.clone(),
        _ => output.to_string(),
    }
}

fn render_error(error: ToolError) -> String {
    let error = error.redacted();
    match error.hint() {
        Some(hint) => format!("{error}. {hint}"),
        None => error.to_string(),
    }
}

/// At most so many bytes of a text; a cut is told.
fn truncate_bytes(mut text: String, most: usize) -> String {
    let whole = text.len();
    if whole > most {
        text.truncate(text.floor_char_boundary(most));
        let _ = write!(text, "\n[cut here; the whole has {whole} bytes]");
    }
    text
}
