//! The budget of a tool: how much its model requests may use. It is enforced where a model is asked:
//! a request is reserved before it is sent.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use deliberate_core::approximate_tokens;
use deliberate_llm::{ChatModel, ModelError, ModelReply, ModelRequest, OnStreamEvent};
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// Upper bounds of what model requests may use; `None` is no bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// The most model requests, with those that repeat one whose answer could not be used.
    pub calls: Option<u32>,
    /// The most tokens of prompts and answers.
    pub tokens: Option<u64>,
    /// The most seconds, with the time between the requests. It should be `None` where the client's
    /// own model replies between calls.
    pub seconds: Option<f64>,
    /// The most US dollars. A provider tells the price of an answer after it, so the requests that
    /// are under way may exceed it.
    pub money: Option<f64>,
}

/// What model requests have used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetUse {
    /// The number of model requests.
    pub calls: u32,
    /// The tokens of prompts and answers: as the provider counts them, or estimated.
    pub tokens: u64,
    /// The time in seconds.
    pub seconds: f64,
    /// The price in US dollars, as far as the providers tell it.
    pub money: f64,
}

impl BudgetUse {
    /// Tells whether nothing was used.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Counts what the requests of a tool use against its budget.
#[derive(Debug)]
pub struct BudgetMeter {
    limits: Budget,
    used: Mutex<BudgetUse>,
    started: Instant,
}

/// The tokens that a request reserved before its answer arrived.
#[derive(Debug, Clone, Copy)]
struct Reservation {
    tokens: u64,
    /// The longest possible answer; most answers are far shorter.
    max_output_tokens: u64,
}

impl BudgetMeter {
    pub(crate) fn new(limits: Budget, used: BudgetUse) -> Self {
        Self {
            limits,
            used: Mutex::new(used),
            started: Instant::now(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BudgetUse> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the bounds.
    pub const fn limits(&self) -> Budget {
        self.limits
    }

    /// Returns what has been used so far.
    pub fn used(&self) -> BudgetUse {
        let used = *self.lock();
        BudgetUse {
            seconds: used.seconds + self.started.elapsed().as_secs_f64(),
            ..used
        }
    }

    /// Returns the number of requests that may still be sent, if there is a bound.
    pub fn remaining_calls(&self) -> Option<u32> {
        let used = self.used();
        self.limits.calls.map(|it| it.saturating_sub(used.calls))
    }

    /// Returns the tokens that are left, if there is a bound.
    pub fn remaining_tokens(&self) -> Option<u64> {
        let used = self.used();
        self.limits.tokens.map(|it| it.saturating_sub(used.tokens))
    }

    /// Returns the time that is left, if there is a bound.
    pub fn remaining_time(&self) -> Option<Duration> {
        let left = self.limits.seconds? - self.used().seconds;
        Some(Duration::try_from_secs_f64(left).unwrap_or_default())
    }

    /// Returns the error of a request for which there is no time.
    pub fn timeout_error(&self) -> ModelError {
        let seconds = self.limits.seconds.unwrap_or_default();
        exhausted(format!("the time limit of {seconds:.0} s is reached"))
    }

    fn check_bounds(&self, used: BudgetUse, tokens: u64) -> Result<(), ModelError> {
        let Budget {
            calls,
            tokens: max_tokens,
            seconds,
            money,
        } = self.limits;
        if let Some(limit) = calls.filter(|limit| used.calls >= *limit) {
            return Err(exhausted(format!(
                "the limit of {limit} model calls is reached"
            )));
        }
        if let Some(limit) = max_tokens.filter(|it| used.tokens.saturating_add(tokens) > *it) {
            return Err(exhausted(format!("the limit of {limit} tokens is reached")));
        }
        if seconds.is_some_and(|limit| used.seconds >= limit) {
            return Err(self.timeout_error());
        }
        if let Some(limit) = money.filter(|limit| used.money >= *limit) {
            return Err(exhausted(format!("the limit of ${limit} is reached")));
        }
        Ok(())
    }

    /// Reserves a request: its prompt and the longest possible answer.
    fn reserve(&self, ask: &ModelRequest) -> Result<Reservation, ModelError> {
        let tokens = request_tokens(ask);
        let elapsed = self.started.elapsed().as_secs_f64();
        let mut used = self.lock();
        let now = BudgetUse {
            seconds: used.seconds + elapsed,
            ..*used
        };
        self.check_bounds(now, tokens)?;
        used.calls = used.calls.saturating_add(1);
        used.tokens = used.tokens.saturating_add(tokens);
        Ok(Reservation {
            tokens,
            max_output_tokens: u64::from(ask.max_tokens),
        })
    }

    /// Takes back a reservation whose request is not sent.
    fn release(&self, reservation: Reservation) {
        let mut used = self.lock();
        used.calls = used.calls.saturating_sub(1);
        used.tokens = used.tokens.saturating_sub(reservation.tokens);
    }

    /// Replaces a reservation by what the request really used.
    fn settle(&self, reservation: Reservation, tokens: u64, money: f64) {
        let mut used = self.lock();
        used.tokens = used.tokens.saturating_sub(reservation.tokens);
        used.tokens = used.tokens.saturating_add(tokens);
        used.money += money;
    }

    /// Counts requests of an earlier run, whose answers are known.
    pub(crate) fn count(&self, calls: u32, tokens: u64) {
        let mut used = self.lock();
        used.calls = used.calls.saturating_add(calls);
        used.tokens = used.tokens.saturating_add(tokens);
    }
}

impl Reservation {
    /// Returns the tokens that the request used: as the provider counts them, or estimated.
    fn used_tokens(self, reply: Option<&ModelReply>) -> u64 {
        let Some(reply) = reply else {
            return self.tokens.saturating_sub(self.max_output_tokens);
        };
        let usage = &reply.usage;
        match usage.prompt_tokens.saturating_add(usage.completion_tokens) {
            // Half of the longest answer is assumed.
            0 => self.tokens.saturating_sub(self.max_output_tokens / 2),
            counted => counted,
        }
    }
}

/// The tokens that a request can use: its prompt and the longest possible answer.
fn request_tokens(ask: &ModelRequest) -> u64 {
    let texts = ask.messages.iter().map(|it| {
        approximate_tokens(&it.text) + tokens_as_json(&it.calls) + tokens_as_json(&it.results)
    });
    let prompt =
        texts.sum::<usize>() + approximate_tokens(&ask.system) + tokens_as_json(&ask.functions);
    let prompt = u64::try_from(prompt).unwrap_or(u64::MAX);
    prompt.saturating_add(u64::from(ask.max_tokens))
}

/// What tool calls, their results and definitions cost: providers send them as JSON.
fn tokens_as_json<T: Serialize>(parts: &[T]) -> usize {
    let text = |part| serde_json::to_string(part).unwrap_or_default();
    parts.iter().map(|it| approximate_tokens(&text(it))).sum()
}

fn exhausted(reason: String) -> ModelError {
    ModelError::BudgetExhausted { reason }
}

/// A model whose requests are counted, and not sent if a budget is exhausted.
pub(super) struct MeteredModel<'a> {
    pub(super) model: &'a dyn ChatModel,
    /// The meters of the call and of the budgets within it.
    pub(super) meters: Vec<&'a BudgetMeter>,
    /// The keys of the requests that were answered, each with the tokens that it used.
    pub(super) answered: Mutex<Vec<(String, u64)>>,
}

impl MeteredModel<'_> {
    fn reserve(&self, ask: &ModelRequest) -> Result<Vec<Reservation>, ModelError> {
        let mut taken: Vec<Reservation> = Vec::with_capacity(self.meters.len());
        for meter in &self.meters {
            match meter.reserve(ask) {
                Ok(reservation) => taken.push(reservation),
                Err(error) => {
                    for (meter, reservation) in self.meters.iter().zip(taken) {
                        meter.release(reservation);
                    }
                    return Err(error);
                }
            }
        }
        Ok(taken)
    }

    /// Counts the result of a request. One that waits for the client stays reserved, so that no more
    /// requests wait than the budget has calls.
    fn settle(
        &self,
        ask: &ModelRequest,
        taken: Vec<Reservation>,
        reply: &Result<ModelReply, ModelError>,
    ) {
        if matches!(reply, Err(ModelError::Pending)) {
            return;
        }
        let reply = reply.as_ref().ok();
        let money = reply.and_then(|reply| reply.usage.cost_usd);
        let mut tokens = 0;
        for (meter, reservation) in self.meters.iter().zip(taken) {
            tokens = reservation.used_tokens(reply);
            meter.settle(reservation, tokens, money.unwrap_or(0.0));
        }
        if reply.is_some() {
            let answered = self.answered.lock();
            let mut answered = answered.unwrap_or_else(PoisonError::into_inner);
            answered.push((ask.key.clone(), tokens));
        }
    }
}

impl ChatModel for MeteredModel<'_> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn complete<'a>(
        &'a self,
        ask: &'a ModelRequest,
        deadline: Instant,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let taken = self.reserve(ask)?;
            let reply = self.model.complete(ask, deadline).await;
            self.settle(ask, taken, &reply);
            reply
        })
    }

    fn complete_streaming<'a>(
        &'a self,
        ask: &'a ModelRequest,
        deadline: Instant,
        on: OnStreamEvent<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let taken = self.reserve(ask)?;
            let reply = self.model.complete_streaming(ask, deadline, on).await;
            self.settle(ask, taken, &reply);
            reply
        })
    }

    fn supports_tools(&self) -> bool {
        self.model.supports_tools()
    }

    fn accepts_images(&self) -> bool {
        self.model.accepts_images()
    }

    fn replies_between_calls(&self) -> bool {
        self.model.replies_between_calls()
    }

    fn has_stored_prompts(&self) -> bool {
        self.model.has_stored_prompts()
    }

    fn rate_limited_for(&self) -> Option<Duration> {
        self.model.rate_limited_for()
    }
}
