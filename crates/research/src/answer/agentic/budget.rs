//! Budget of one agentic question: model calls, tokens, and time.

use std::time::Duration;

use deliberate_core::{ModelUsage, approximate_tokens};
use deliberate_llm::ModelRequest;
use tokio::time::Instant;

use crate::AnswerOptions;

/// Counts what a question has used against its limits.
#[derive(Debug, Clone)]
pub(super) struct AgenticBudget {
    calls: u32,
    max_calls: u32,
    tokens: u64,
    max_tokens: u64,
    started: Instant,
    /// `None` if the client's own model replies between runs: its time does not count.
    time_limit: Option<Duration>,
}

/// Tokens that a model request reserved before its reply arrived.
#[derive(Debug, Clone, Copy)]
pub(super) struct BudgetReservation {
    tokens: u64,
    /// The upper limit of the reply; most replies are far shorter.
    max_output_tokens: u64,
}

/// Tokens that an answer needs with a full set of passages.
const ANSWER_TOKENS: u64 = 20_000;

/// Every request except the one for the answer may take this fraction of the time, so that one
/// that hangs leaves time for the others.
const TIME_DIVISOR: u32 = 4;

impl AgenticBudget {
    /// Creates a full budget. A tenth of the time is reserved for building the response.
    pub(super) fn new(options: &AnswerOptions, timed: bool) -> Self {
        Self {
            calls: 0,
            max_calls: options.max_model_calls,
            tokens: 0,
            max_tokens: options.max_tokens,
            started: Instant::now(),
            time_limit: timed.then(|| options.timeout.mul_f64(0.9)),
        }
    }

    /// Reserves a request: its prompt and the longest possible reply. The error names the limit
    /// that is reached.
    pub(super) fn reserve(&mut self, ask: &ModelRequest) -> Result<BudgetReservation, String> {
        let sent: usize = ask
            .messages
            .iter()
            .map(|it| approximate_tokens(&it.text))
            .sum();
        let sent = sent + approximate_tokens(&ask.system);
        let tokens = u64::try_from(sent)
            .unwrap_or(u64::MAX)
            .saturating_add(u64::from(ask.max_tokens));
        if self.calls >= self.max_calls {
            return Err(format!(
                "the limit of {} model calls is reached",
                self.max_calls
            ));
        }
        if self.tokens.saturating_add(tokens) > self.max_tokens {
            return Err(format!(
                "the limit of {} tokens is reached",
                self.max_tokens
            ));
        }
        if self.remaining_time() == Some(Duration::ZERO) {
            return Err(self.timeout_message());
        }
        self.calls += 1;
        self.tokens += tokens;
        Ok(BudgetReservation {
            tokens,
            max_output_tokens: u64::from(ask.max_tokens),
        })
    }

    /// Replaces a reservation by the real usage: additional calls for retries, and the provider's
    /// token count where it reports one.
    pub(super) fn settle(&mut self, taken: BudgetReservation, spent: &ModelUsage) {
        let number = |it: i64| u64::try_from(it).unwrap_or(0);
        let counted = number(spent.prompt_tokens) + number(spent.completion_tokens);
        let again = number(spent.model_calls).saturating_sub(1);
        self.calls += u32::try_from(again).unwrap_or(0);
        self.tokens = if counted > 0 {
            self.tokens.saturating_sub(taken.tokens) + counted
        } else {
            self.tokens.saturating_sub(taken.max_output_tokens / 2)
        };
    }

    /// Counts the second request that was made because the first reply was invalid.
    pub(super) fn count_retry(&mut self) {
        self.calls += 1;
    }

    pub(super) const fn remaining_tokens(&self) -> u64 {
        self.max_tokens.saturating_sub(self.tokens)
    }

    /// The longest that one request may take, if there is a time limit.
    pub(super) fn request_timeout(&self) -> Option<Duration> {
        let most = self.time_limit? / TIME_DIVISOR;
        self.remaining_time().map(|it| it.min(most))
    }

    pub(super) fn timeout_message(&self) -> String {
        let seconds = self.time_limit.unwrap_or_default().as_secs();
        format!("the time limit of {seconds} s is reached")
    }

    /// The remaining time, if there is a time limit.
    pub(super) fn remaining_time(&self) -> Option<Duration> {
        self.time_limit
            .map(|it| it.saturating_sub(self.started.elapsed()))
    }

    /// Whether what remains is only enough for an answer.
    pub(super) fn is_nearly_exhausted(&self) -> bool {
        self.max_calls.saturating_sub(self.calls) <= 1
            || self.remaining_tokens() < ANSWER_TOKENS
            || self
                .remaining_time()
                .is_some_and(|it| it < self.time_limit.unwrap_or_default() / 10)
    }

    pub(super) const fn calls(&self) -> u32 {
        self.calls
    }

    pub(super) const fn tokens(&self) -> u64 {
        self.tokens
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}
