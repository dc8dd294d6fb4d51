//! What one question may take: asks, tokens, time.

use std::time::Duration;

use deliberate_core::{Spent, approximate_tokens};
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

/// What an ask took out of it before it was answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    tokens: u64,
    /// The most that may be written; answers are mostly far shorter.
    writes: u64,
}

/// What an answer from as many passages as are shown takes.
const ANSWER_TOKENS: u64 = 20_000;

/// All asks but the one for the answer may take so much of the time, so that one that hangs leaves
/// some for the rest.
const SHARE: u32 = 4;

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
    pub(super) fn take(&mut self, ask: &Ask) -> Result<Taken, String> {
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
        Ok(Taken {
            tokens,
            writes: u64::from(ask.max_tokens),
        })
    }

    /// What an ask took in the end: more calls if it had to be asked again, and the tokens that the
    /// provider counted, where it counts.
    pub(super) fn settle(&mut self, taken: Taken, spent: &Spent) {
        let number = |it: i64| u64::try_from(it).unwrap_or(0);
        let counted = number(spent.prompt_tokens) + number(spent.completion_tokens);
        let again = number(spent.model_calls).saturating_sub(1);
        self.calls += u32::try_from(again).unwrap_or(0);
        self.tokens = if counted > 0 {
            self.tokens.saturating_sub(taken.tokens) + counted
        } else {
            self.tokens.saturating_sub(taken.writes / 2)
        };
    }

    /// An answer that can't be used was asked for twice.
    pub(super) fn asked_again(&mut self) {
        self.calls += 1;
    }

    /// The tokens that are left.
    pub(super) const fn left_tokens(&self) -> u64 {
        self.most_tokens.saturating_sub(self.tokens)
    }

    /// The longest that one ask may take, if there is a limit.
    pub(super) fn share(&self) -> Option<Duration> {
        let most = self.time? / SHARE;
        self.left().map(|it| it.min(most))
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
            || self.left_tokens() < ANSWER_TOKENS
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
