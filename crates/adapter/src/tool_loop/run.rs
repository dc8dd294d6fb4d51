//! The loop itself: asks the model, runs its tool calls, and returns their results, until the model
//! answers or a limit is reached.

use std::fmt::Write as _;

use deliberate_core::{IdSource as _, SystemIds};
use deliberate_llm::{
    ChatMessage, ModelReply, ModelRequest, ModelTurn, Purpose, StreamEvent, TokenUsage, ToolCall,
    ToolCallOutput, ask_turn_streaming,
};
use futures::{StreamExt as _, stream};
use tokio::time::Instant;

use super::{
    ToolCallRecord, ToolLoop, ToolLoopError, ToolLoopEvent, ToolLoopResult, ToolLoopStopReason,
    result_images::{limit_images, may_refuse_images, remove_images},
};

/// The share of the time after which the model is made to answer.
const CALL_TIME_SHARE: f64 = 0.75;

type LoopEventCallback<'a> = &'a (dyn Fn(ToolLoopEvent) + Send + Sync);

/// The state of a run.
struct ToolLoopRun<'a> {
    tool_loop: &'a ToolLoop,
    on_event: LoopEventCallback<'a>,
    deadline: Instant,
    /// The time until which tools are called; the rest is reserved for the answer.
    call_deadline: Instant,
    messages: Vec<ChatMessage>,
    calls: Vec<ToolCallRecord>,
    usage: TokenUsage,
    turns: usize,
    /// Whether the model is shown the pictures of results.
    shows_images: bool,
    /// The random part of the tags around results of tools.
    fence_nonce: u32,
}

pub(super) async fn run(
    chain: &ToolLoop,
    messages: Vec<ChatMessage>,
    tell: LoopEventCallback<'_>,
) -> Result<ToolLoopResult, Box<ToolLoopError>> {
    let (now, time) = (Instant::now(), chain.limits.time);
    let mut run = ToolLoopRun {
        tool_loop: chain,
        on_event: tell,
        deadline: now + time,
        call_deadline: now + time.mul_f64(CALL_TIME_SHARE),
        messages,
        calls: Vec::new(),
        usage: TokenUsage::default(),
        turns: 0,
        shows_images: chain.model.accepts_images(),
        fence_nonce: SystemIds.nonce(),
    };
    loop {
        let reached = run.reached_limit();
        let turn = match run.run_turn(reached.is_some()).await {
            Ok(turn) => turn,
            Err(error) => {
                return Err(Box::new(ToolLoopError {
                    error,
                    messages: run.messages,
                    calls: run.calls,
                    usage: run.usage,
                }));
            }
        };
        run.messages.push(turn.to_message());
        if turn.calls.is_empty() || reached.is_some() {
            return Ok(ToolLoopResult {
                text: turn.text,
                messages: run.messages,
                calls: run.calls,
                usage: run.usage,
                turns: run.turns,
                stop_reason: reached.unwrap_or(ToolLoopStopReason::Answered),
            });
        }
        run.call_all(turn.calls).await;
    }
}

impl ToolLoopRun<'_> {
    /// Returns the limit that the run has reached: one turn is left, for the answer.
    fn reached_limit(&self) -> Option<ToolLoopStopReason> {
        let limits = &self.tool_loop.limits;
        let tokens = (self.usage.prompt_tokens).saturating_add(self.usage.completion_tokens);
        if self.turns + 1 >= limits.turns {
            Some(ToolLoopStopReason::Turns)
        } else if self.calls.len() >= limits.calls && !self.calls.is_empty() {
            Some(ToolLoopStopReason::Calls)
        } else if tokens >= limits.tokens {
            Some(ToolLoopStopReason::Tokens)
        } else if Instant::now() >= self.call_deadline {
            Some(ToolLoopStopReason::Timeout)
        } else {
            None
        }
    }

    async fn run_turn(&mut self, last: bool) -> Result<ModelTurn, deliberate_llm::ModelError> {
        self.turns += 1;
        let mut outcome = self.ask_model(last).await;
        if let Err(error) = &outcome
            && may_refuse_images(error)
            && self.remove_all_images()
        {
            outcome = self.ask_model(last).await;
        }
        (self.on_event)(ToolLoopEvent::TurnFinished {
            number: self.turns,
            usage: self.usage,
        });
        outcome
    }

    /// Removes the pictures from the conversation and shows no others. Returns false if there are
    /// none.
    fn remove_all_images(&mut self) -> bool {
        let results = self.messages.iter_mut().flat_map(|it| &mut it.results);
        let with_images: Vec<_> = results.filter(|it| !it.images.is_empty()).collect();
        if with_images.is_empty() {
            return false;
        }
        with_images.into_iter().for_each(remove_images);
        for record in &mut self.calls {
            remove_images(&mut record.result);
        }
        self.shows_images = false;
        true
    }

    async fn ask_model(&mut self, last: bool) -> Result<ModelTurn, deliberate_llm::ModelError> {
        let limits = &self.tool_loop.limits;
        let ask = ModelRequest {
            key: format!("turn{}", self.turns),
            purpose: Purpose::new("chain"),
            system: self.tool_loop.system.clone(),
            messages: self.messages.clone(),
            max_tokens: limits.max_tokens,
            temperature: limits.temperature,
            functions: self
                .tool_loop
                .tools
                .iter()
                .map(super::OfferedTool::to_definition)
                .collect(),
            answer_now: last,
            fence_nonce: self.fence_nonce,
            ..ModelRequest::default()
        };
        let tell = self.on_event;
        let hear = move |piece: StreamEvent| match piece {
            StreamEvent::Text(text) => tell(ToolLoopEvent::Text(text)),
            StreamEvent::Restart => tell(ToolLoopEvent::Restart),
            _ => {}
        };
        let model = self.tool_loop.model.as_ref();
        let outcome = ask_turn_streaming(model, ask, self.deadline, &hear).await;
        let (replies, outcome) = match outcome {
            Ok(answer) => (answer.replies, Ok(answer.value)),
            Err(failed) => (failed.replies, Err(failed.error)),
        };
        self.add_usage(&replies);
        outcome
    }

    fn add_usage(&mut self, replies: &[ModelReply]) {
        for usage in replies.iter().map(|reply| reply.usage) {
            // A provider may report any number.
            let ours = &mut self.usage;
            ours.prompt_tokens = ours.prompt_tokens.saturating_add(usage.prompt_tokens);
            ours.completion_tokens =
                (ours.completion_tokens).saturating_add(usage.completion_tokens);
            self.usage.cost_usd = match (self.usage.cost_usd, usage.cost_usd) {
                (None, None) => None,
                (so_far, more) => Some(so_far.unwrap_or_default() + more.unwrap_or_default()),
            };
        }
    }

    /// Runs the model's tool calls concurrently and returns the results in the order of the calls.
    async fn call_all(&mut self, calls: Vec<ToolCall>) {
        let limits = &self.tool_loop.limits;
        let left = limits.calls.saturating_sub(self.calls.len());
        let this = &*self;
        let mut made = stream::iter(calls.into_iter().enumerate())
            .map(|(at, call)| async move { (at, this.call(call, at < left).await) })
            .buffer_unordered(limits.max_concurrent.max(1));
        let mut done = Vec::new();
        while let Some((at, called)) = made.next().await {
            (self.on_event)(ToolLoopEvent::CallFinished(called.clone()));
            done.push((at, called));
        }
        drop(made);
        done.sort_by_key(|(at, _)| *at);
        let done: Vec<ToolCallRecord> = done.into_iter().map(|(_, called)| called).collect();
        let results = done.iter().map(|called| called.result.clone()).collect();
        self.messages.push(ChatMessage::tool_results(results));
        self.calls.extend(done);
    }

    async fn call(&self, call: ToolCall, allowed: bool) -> ToolCallRecord {
        let begun = Instant::now();
        let result = self.call_result(&call, allowed).await;
        ToolCallRecord {
            call,
            result,
            elapsed: begun.elapsed(),
        }
    }

    async fn call_result(&self, call: &ToolCall, allowed: bool) -> ToolCallOutput {
        if !allowed {
            let most = self.tool_loop.limits.calls;
            let text = format!("Not called: the limit of {most} calls is reached.");
            return ToolCallOutput::error(call, text);
        }
        let tool = self
            .tool_loop
            .tools
            .iter()
            .find(|tool| tool.name() == call.name);
        let Some(tool) = tool else {
            return ToolCallOutput::error(call, "There is no such function.");
        };
        (self.on_event)(ToolLoopEvent::CallStarted(call.clone()));
        let most = self.tool_loop.limits.result_bytes;
        match tokio::time::timeout_at(self.call_deadline, tool.call(&call.arguments)).await {
            Ok(Ok((text, images))) => {
                let text = truncate_result(text, most);
                let mut result = ToolCallOutput::success(call, text);
                result.images = images;
                if self.shows_images {
                    limit_images(&mut result, self.tool_loop.limits.images);
                } else {
                    remove_images(&mut result);
                }
                result
            }
            Ok(Err(text)) => ToolCallOutput::error(call, truncate_result(text, most)),
            Err(_) => ToolCallOutput::error(call, "The call took too long."),
        }
    }
}

/// Shortens a result to what the model may see.
fn truncate_result(mut text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let all = text.len();
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    // Writing to a string cannot fail.
    let _ = write!(text, "\n[cut here: {end} of {all} bytes]");
    text
}
