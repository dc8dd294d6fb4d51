//! The agent loop: within one tool call, a model calls other tools, turn by turn, until it
//! answers. Model requests and tool calls are bounded. The module does not know who offers the
//! tools nor how the answer is used.
//!
//! A call that waits for its client's model is run again from its start. The result of each tool,
//! with its changes, is read from the call's memo then, so that nothing runs twice and the model
//! sees the same ids again. Only a crash of the process during a call loses the memo: the worker
//! that takes the call over starts it anew.

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

/// A tool that a model is given.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// The tool's name.
    pub name: String,
    /// What the tool does and when to choose it.
    pub description: String,
    /// The JSON schema of the arguments.
    pub schema: Value,
}

/// The limits of an agent loop, besides the time limit of its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentLimits {
    /// The most model requests; the last one must give the answer.
    pub turns: usize,
    /// The most tool calls in all turns together.
    pub calls: usize,
    /// The most bytes of a result that the model sees and that are stored as evidence.
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

/// The result of an agent loop.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRun {
    /// The model's answer.
    pub text: String,
    /// The tool calls, in order.
    pub tool_uses: Vec<ToolUse>,
    /// The changes of the tools that were called, in order, for the caller to return.
    pub changes: Vec<Change>,
    /// Why the loop ended.
    pub stop_reason: AgentStopReason,
    /// The whole conversation with the answer last, for further requests.
    pub conversation: Vec<ChatMessage>,
}

/// The reason why an agent loop ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentStopReason {
    /// The model answered on its own.
    Answered,
    /// The model had to answer because it was the last turn.
    OutOfTurns,
    /// The model had to answer because no tool calls were left.
    OutOfCalls,
}

/// One tool call of a model, with its result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolUse {
    /// The tool's name.
    pub tool: String,
    /// The arguments of the call.
    pub arguments: Value,
    /// The answer or the error message, truncated if it is long.
    pub result: String,
    /// Whether the call failed.
    pub failed: bool,
    /// The duration of the call.
    pub took_ms: u64,
}

/// The result of a tool, as the memo stores it for the next run of the call.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ToolUseResult {
    result: String,
    failed: bool,
    took_ms: u64,
    changes: Vec<Change>,
}

impl ToolContext {
    /// Sends model requests and runs the tools that the model calls until it answers. The turns
    /// have the request keys `{key}/turn1`, `{key}/turn2` and so on. The changes of the tools are
    /// not committed: the caller returns them with its own.
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
                fence_nonce: self.fence_nonce(),
                // Each request carries the whole conversation.
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

    /// Does `work` once per call, however often the call is run: the result is stored in the memo
    /// under the key. It is for work outside this server. A call that starts anew, after a conflict
    /// or a crash of its process, does the work again.
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

    /// Runs the tool calls of a turn concurrently, as far as calls are left.
    async fn run_calls(
        &self,
        key: &str,
        turn: &ModelTurn,
        left: usize,
        limits: AgentLimits,
        acted: &mut AgentRun,
    ) -> Result<Vec<ToolCallOutput>, ToolError> {
        let runs = turn.calls.iter().take(left).enumerate();
        let runs = runs.map(|(number, call)| {
            let key = format!("{key}/call{}", number + 1);
            async move { self.run_tool_once(&key, call, limits.result_bytes).await }
        });
        // Not `try_join_all`: the first tool that waits for the client must not drop the others.
        let runs = join_all(runs).await;
        let mut results = Vec::with_capacity(turn.calls.len());
        for (call, ran) in turn.calls.iter().zip(runs) {
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
        for call in turn.calls.iter().skip(results.len()) {
            let why = format!(
                "the tool was not called: the limit is {} calls",
                limits.calls
            );
            results.push(ToolCallOutput::error(call, why));
        }
        Ok(results)
    }

    /// Runs a tool unless an earlier run of this call did. Its error is for the model, which may
    /// continue without it.
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

    fn report_calls(&self, turn: &ModelTurn) {
        let names: Vec<&str> = turn.calls.iter().map(|call| call.name.as_str()).collect();
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

/// Renders an answer for the model.
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

/// Truncates a text to at most that many bytes and notes the truncation.
fn truncate_bytes(mut text: String, most: usize) -> String {
    let whole = text.len();
    if whole > most {
        text.truncate(text.floor_char_boundary(most));
        let _ = write!(text, "\n[truncated; the whole text has {whole} bytes]");
    }
    text
}
