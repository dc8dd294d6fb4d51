//! What one question may take: asks, tokens, time.

use std::time::Duration;

use deliberate_core::approximate_tokens;
use deliberate_thinker::Ask;
use tokio::time::Instant;

use crate::AnswerOptions;

/// What is left.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    calls: u32,
    most_calls: u32,
    tokens: u64,
    most_tokens: u64,
    begun: Instant,
    /// None where a client thinks between runs: its time is its own.
    time: Option<Duration>,
}

impl Budget {
    /// The whole of it. A tenth of the time is kept to tell what there is.
    pub(super) fn new(options: &AnswerOptions, timed: bool) -> Self {
        Self {
            calls: 0,
            most_calls: options.model_calls,
            tokens: 0,
            most_tokens: options.tokens,
            begun: Instant::now(),
            time: timed.then(|| options.time.mul_f64(0.9)),
        }
    }

    /// Takes an ask out of it: what it sends and the most it may get back. What is spent if there
    /// is not enough.
    pub(super) fn take(&mut self, ask: &Ask) -> Result<(), String> {
        let sent: usize = ask
            .messages
            .iter()
            .map(|it| approximate_tokens(&it.text))
            .sum();
        let sent = sent + approximate_tokens(&ask.system);
        let tokens = u64::try_from(sent)
            .unwrap_or(u64::MAX)
            .saturating_add(u64::from(ask.max_tokens));
        if self.calls >= self.most_calls {
            return Err(format!("its {} model calls are spent", self.most_calls));
        }
        if self.tokens.saturating_add(tokens) > self.most_tokens {
            return Err(format!("its {} tokens are spent", self.most_tokens));
        }
        if self.left() == Some(Duration::ZERO) {
            return Err(self.out_of_time());
        }
        self.calls += 1;
        self.tokens += tokens;
        Ok(())
    }

    /// What an ask did not write is given back.
    pub(super) fn give_back(&mut self, tokens: u64) {
        self.tokens = self.tokens.saturating_sub(tokens);
    }

    pub(super) fn out_of_time(&self) -> String {
        let seconds = self.time.unwrap_or_default().as_secs();
        format!("its {seconds} s are spent")
    }

    /// The time that is left, if there is a limit.
    pub(super) fn left(&self) -> Option<Duration> {
        self.time.map(|it| it.saturating_sub(self.begun.elapsed()))
    }

    /// Whether no more is left than an answer needs.
    pub(super) fn is_scarce(&self) -> bool {
        self.most_calls.saturating_sub(self.calls) <= 1
            || self
                .left()
                .is_some_and(|it| it < self.time.unwrap_or_default() / 10)
    }

    pub(super) const fn calls(&self) -> u32 {
        self.calls
    }

    pub(super) const fn tokens(&self) -> u64 {
        self.tokens
    }

    pub(super) fn took(&self) -> Duration {
        self.begun.elapsed()
    }
}
