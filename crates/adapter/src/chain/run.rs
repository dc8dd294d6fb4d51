//! The loop: ask, call, tell, until there is an answer or a limit is reached.

use std::fmt::Write as _;

use deliberate_thinker::{
    Ask, FunctionCall, FunctionResult, Message, Piece, Purpose, Reply, Turn, Usage,
    ask_turn_streaming,
};
use futures::{StreamExt as _, stream};
use tokio::time::Instant;

use super::{Called, Chain, ChainError, ChainEvent, Finished, Stopped};

/// The share of the time after which the model is made to answer.
const SHARE_FOR_CALLS: f64 = 0.75;

type Tell<'a> = &'a (dyn Fn(ChainEvent) + Send + Sync);

/// A run so far.
struct Run<'a> {
    chain: &'a Chain,
    tell: Tell<'a>,
    deadline: Instant,
    /// Until when functions are called: some time must be left for the answer.
    calls_until: Instant,
    messages: Vec<Message>,
    called: Vec<Called>,
    usage: Usage,
    turns: usize,
}

pub(super) async fn run(
    chain: &Chain,
    messages: Vec<Message>,
    tell: Tell<'_>,
) -> Result<Finished, Box<ChainError>> {
    let (now, time) = (Instant::now(), chain.limits.time);
    let mut run = Run {
        chain,
        tell,
        deadline: now + time,
        calls_until: now + time.mul_f64(SHARE_FOR_CALLS),
        messages,
        called: Vec::new(),
        usage: Usage::default(),
        turns: 0,
    };
    loop {
        let reached = run.reached();
        let turn = match run.turn(reached.is_some()).await {
            Ok(turn) => turn,
            Err(error) => {
                return Err(Box::new(ChainError {
                    error,
                    messages: run.messages,
                    called: run.called,
                    usage: run.usage,
                }));
            }
        };
        run.messages.push(turn.message());
        if turn.calls.is_empty() || reached.is_some() {
            return Ok(Finished {
                text: turn.text,
                messages: run.messages,
                called: run.called,
                usage: run.usage,
                turns: run.turns,
                stopped: reached.unwrap_or(Stopped::Answered),
            });
        }
        run.call_all(turn.calls).await;
    }
}

impl Run<'_> {
    /// The limit that this run has come to: one turn is left, for the answer.
    fn reached(&self) -> Option<Stopped> {
        let limits = &self.chain.limits;
        let tokens = (self.usage.prompt_tokens).saturating_add(self.usage.completion_tokens);
        if self.turns + 1 >= limits.turns {
            Some(Stopped::Turns)
        } else if self.called.len() >= limits.calls && !self.called.is_empty() {
            Some(Stopped::Calls)
        } else if tokens >= limits.tokens {
            Some(Stopped::Tokens)
        } else if Instant::now() >= self.calls_until {
            Some(Stopped::Time)
        } else {
            None
        }
    }

    async fn turn(&mut self, last: bool) -> Result<Turn, deliberate_thinker::ThinkError> {
        self.turns += 1;
        let limits = &self.chain.limits;
        let ask = Ask {
            key: format!("turn{}", self.turns),
            purpose: Purpose::new("chain"),
            system: self.chain.system.clone(),
            messages: self.messages.clone(),
            max_tokens: limits.max_tokens,
            temperature: limits.temperature,
            functions: self
                .chain
                .tools
                .iter()
                .map(super::Told::described)
                .collect(),
            answer_now: last,
            ..Ask::default()
        };
        let tell = self.tell;
        let hear = move |piece: Piece| match piece {
            Piece::Text(text) => tell(ChainEvent::Text(text)),
            Piece::Again => tell(ChainEvent::Again),
            _ => {}
        };
        let thinker = self.chain.thinker.as_ref();
        let outcome = ask_turn_streaming(thinker, ask, self.deadline, &hear).await;
        let (replies, outcome) = match outcome {
            Ok(answer) => (answer.replies, Ok(answer.value)),
            Err(failed) => (failed.replies, Err(failed.error)),
        };
        self.pay(&replies);
        (self.tell)(ChainEvent::Turn {
            number: self.turns,
            usage: self.usage,
        });
        outcome
    }

    fn pay(&mut self, replies: &[Reply]) {
        for usage in replies.iter().map(|reply| reply.usage) {
            // A provider may say anything.
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

    /// Calls what the model wants, side by side, and tells it what came of each, in its order.
    async fn call_all(&mut self, calls: Vec<FunctionCall>) {
        let limits = &self.chain.limits;
        let left = limits.calls.saturating_sub(self.called.len());
        let this = &*self;
        let mut made = stream::iter(calls.into_iter().enumerate())
            .map(|(at, call)| async move { (at, this.call(call, at < left).await) })
            .buffer_unordered(limits.at_once.max(1));
        let mut done = Vec::new();
        while let Some((at, called)) = made.next().await {
            (self.tell)(ChainEvent::Called(called.clone()));
            done.push((at, called));
        }
        drop(made);
        done.sort_by_key(|(at, _)| *at);
        let done: Vec<Called> = done.into_iter().map(|(_, called)| called).collect();
        let results = done.iter().map(|called| called.result.clone()).collect();
        self.messages.push(Message::results(results));
        self.called.extend(done);
    }

    async fn call(&self, call: FunctionCall, allowed: bool) -> Called {
        let begun = Instant::now();
        let result = self.result(&call, allowed).await;
        Called {
            call,
            result,
            took: begun.elapsed(),
        }
    }

    async fn result(&self, call: &FunctionCall, allowed: bool) -> FunctionResult {
        if !allowed {
            let most = self.chain.limits.calls;
            let text = format!("It was not called: {most} calls are the most that are allowed.");
            return FunctionResult::error_of(call, text);
        }
        let tool = self
            .chain
            .tools
            .iter()
            .find(|tool| tool.name() == call.name);
        let Some(tool) = tool else {
            return FunctionResult::error_of(call, "There is no such function.");
        };
        (self.tell)(ChainEvent::Calling(call.clone()));
        let most = self.chain.limits.result_bytes;
        match tokio::time::timeout_at(self.calls_until, tool.call(&call.arguments)).await {
            Ok(Ok(text)) => FunctionResult::of(call, cut(text, most)),
            Ok(Err(text)) => FunctionResult::error_of(call, cut(text, most)),
            Err(_) => FunctionResult::error_of(call, "It took too long."),
        }
    }
}

/// As much of a result as the model is shown.
fn cut(mut text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let all = text.len();
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    // Writing to a text can't fail.
    let _ = write!(text, "\n[cut here: {end} of {all} bytes]");
    text
}
