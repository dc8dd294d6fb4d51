//! What one question may take: asks, tokens, time.

use std::time::Duration;

use deliberate_core::{ModelUsage, approximate_tokens};
use deliberate_llm::ModelRequest;
use tokio::time::Instant;

use crate::AnswerOptions;

/// What is left.
#[derive(Debug, Clone)]
pub(super) struct AgenticBudget {
    calls: u32,
    max_calls: u32,
    tokens: u64,
    max_tokens: u64,
    started: Instant,
    /// None where a client thinks between runs: its time is its own.
    time_limit: Option<Duration>,
}

/// What an ask took out of it before it was answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct BudgetReservation {
    tokens: u64,
    /// The most that may be written; answers are mostly far shorter.
    max_output_tokens: u64,
}

/// What an answer from as many passages as are shown takes.
const ANSWER_TOKENS: u64 = 20_000;

/// All asks but the one for the answer may take so much of the time, so that one that hangs leaves
/// some for the rest.
const TIME_DIVISOR: u32 = 4;

impl AgenticBudget {
    /// The whole of it. A tenth of the time is kept to tell what there is.
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

    /// Takes an ask out of it: what it sends and the most it may get back. What is spent if there
    /// is not enough.
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
            return Err(format!("its {} model calls are spent", self.max_calls));
        }
        if self.tokens.saturating_add(tokens) > self.max_tokens {
            return Err(format!("its {} tokens are spent", self.max_tokens));
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

    /// What an ask took in the end: more calls if it had to be asked again, and the tokens that the
    /// provider counted, where it counts.
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

    /// An answer that can't be used was asked for twice.
    pub(super) fn count_retry(&mut self) {
        self.calls += 1;
    }

    /// The tokens that are left.
    pub(super) const fn remaining_tokens(&self) -> u64 {
        self.max_tokens.saturating_sub(self.tokens)
    }

    /// The longest that one ask may take, if there is a limit.
    pub(super) fn request_timeout(&self) -> Option<Duration> {
        let most = self.time_limit? / TIME_DIVISOR;
        self.remaining_time().map(|it| it.min(most))
    }

    pub(super) fn timeout_message(&self) -> String {
        let seconds = self.time_limit.unwrap_or_default().as_secs();
        format!("its {seconds} s are spent")
    }

    /// The time that is left, if there is a limit.
    pub(super) fn remaining_time(&self) -> Option<Duration> {
        self.time_limit
            .map(|it| it.saturating_sub(self.started.elapsed()))
    }

    /// Whether no more is left than an answer needs.
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
