//! The first request to a provider goes alone: if the provider rejects the API key, the requests that
//! would have been sent with it at once are not sent.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};

use super::request::ProviderResponse;

/// The longest that requests wait for the first one. A key is rejected at once; a provider that takes
/// longer is working on the answer.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// Lets one request through until the provider has taken one.
#[derive(Debug, Default)]
pub(super) struct FirstRequestGate {
    state: Mutex<GateState>,
}

#[derive(Debug, Default)]
enum GateState {
    /// No request is under way.
    #[default]
    Untried,
    /// The first request is under way; the others receive the rejection, or that there is none.
    Trying(watch::Receiver<Option<ProviderResponse>>),
    /// The provider has not rejected the key.
    Open,
}

/// What a request may do.
pub(super) enum GatePass<'g> {
    /// It is the first one: what comes back decides about the others.
    First(FirstRequest<'g>),
    /// It is sent.
    Send,
    /// It is not sent: the first one was rejected with this response.
    Rejected(ProviderResponse),
}

/// The first request. If it is dropped without a response, another request is the first.
pub(super) struct FirstRequest<'g> {
    gate: &'g FirstRequestGate,
    outcome: watch::Sender<Option<ProviderResponse>>,
}

impl FirstRequestGate {
    /// Waits, but not for long, while the first request is under way.
    pub(super) async fn enter(&self, deadline: Instant) -> GatePass<'_> {
        let end = deadline.min(Instant::now() + MAX_WAIT);
        loop {
            let mut first = {
                let mut state = self.lock();
                match &*state {
                    GateState::Open => return GatePass::Send,
                    GateState::Trying(first) => first.clone(),
                    GateState::Untried => {
                        let (outcome, receiver) = watch::channel(None);
                        *state = GateState::Trying(receiver);
                        let gate = self;
                        return GatePass::First(FirstRequest { gate, outcome });
                    }
                }
            };
            match timeout_at(end, first.changed()).await {
                Err(_) => return GatePass::Send,
                Ok(Ok(())) => {
                    let rejection = first.borrow().clone();
                    return rejection.map_or(GatePass::Send, GatePass::Rejected);
                }
                // The first request was abandoned.
                Ok(Err(_)) => {}
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FirstRequest<'_> {
    /// Tells the waiting requests what came back: a response, or a failure that says nothing about
    /// the key.
    pub(super) fn end(self, response: Option<&ProviderResponse>) {
        // 403 may be about the model or the text of this request alone.
        let rejection = response.filter(|it| it.status == 401);
        if rejection.is_none() {
            *self.gate.lock() = GateState::Open;
        }
        self.outcome.send_replace(rejection.cloned());
    }
}

impl Drop for FirstRequest<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.lock();
        if !matches!(*state, GateState::Open) {
            *state = GateState::Untried;
        }
    }
}
