//! Budget of one agentic question. The tool context enforces it; here is what the nodes decide by it.

use std::{sync::Arc, time::Duration};

use deliberate_toolkit::{Budget, BudgetMeter};

use crate::AnswerOptions;

/// What a question may still use.
#[derive(Debug, Clone)]
pub(super) struct AgenticBudget(pub(super) Arc<BudgetMeter>);

/// Tokens that an answer needs with a full set of passages.
const ANSWER_TOKENS: u64 = 20_000;

/// Every request except the one for the answer may take this fraction of the time, so that one
/// that hangs leaves time for the others.
const TIME_DIVISOR: f64 = 4.0;

/// The bounds of a question. A tenth of the time is reserved for building the response. The time of
/// the client's own model, which replies between runs, does not count.
pub(super) fn question_budget(options: &AnswerOptions, timed: bool) -> Budget {
    Budget {
        calls: Some(options.max_model_calls),
        tokens: Some(options.max_tokens),
        seconds: timed.then_some(options.timeout.as_secs_f64() * 0.9),
        money: None,
    }
}

impl AgenticBudget {
    pub(super) fn remaining_tokens(&self) -> u64 {
        self.0.remaining_tokens().unwrap_or(u64::MAX)
    }

    /// The remaining time, if there is a time limit.
    pub(super) fn remaining_time(&self) -> Option<Duration> {
        self.0.remaining_time()
    }

    /// The longest that one request may take, if there is a time limit.
    pub(super) fn request_timeout(&self) -> Option<Duration> {
        let most = Duration::from_secs_f64(self.0.limits().seconds? / TIME_DIVISOR);
        self.remaining_time().map(|it| it.min(most))
    }

    pub(super) fn timeout_message(&self) -> String {
        self.0.timeout_error().to_string()
    }

    /// Whether what remains is only enough for an answer.
    pub(super) fn is_nearly_exhausted(&self) -> bool {
        let seconds = self.0.limits().seconds.unwrap_or_default();
        self.0.remaining_calls().is_some_and(|it| it <= 1)
            || self.remaining_tokens() < ANSWER_TOKENS
            || self
                .remaining_time()
                .is_some_and(|it| it.as_secs_f64() < seconds / 10.0)
    }

    pub(super) fn calls(&self) -> u32 {
        self.0.used().calls
    }

    pub(super) fn tokens(&self) -> u64 {
        self.0.used().tokens
    }

    pub(super) fn elapsed(&self) -> Duration {
        Duration::try_from_secs_f64(self.0.used().seconds).unwrap_or_default()
    }
}
