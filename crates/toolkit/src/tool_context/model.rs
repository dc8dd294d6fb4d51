//! The model requests of a call: the choice of model, their cost, and the requests that wait for
//! the client's model.

use std::sync::{Arc, PoisonError};

use deliberate_core::{FairPermit, ModelUsage};
use deliberate_llm::{
    ChatModel, ClientDriven, ModelError, ModelReply, ModelRequest, ModelTurn, StructuredError,
    ask_structured, ask_turn,
};
use futures::TryFutureExt as _;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tracing::{Instrument as _, Span};

use super::{
    Journal,
    client_fallback::ClientFallback,
    usage::{UsageTally, model_span, record_answer, total_usage},
};
use crate::{CallEvent, ToolContext, ToolError};

/// The model of a call.
pub(super) enum CallModel {
    /// A model that can be used during the call, unless it is the client's and it declines.
    Model(ClientFallback),
    /// The client's model, which replies between calls.
    Client(Arc<ClientDriven>),
}

impl CallModel {
    /// Tells whether the client replies between calls.
    pub(super) fn is_client_driven(&self) -> bool {
        match self {
            Self::Model(model) => model.declined().is_some(),
            Self::Client(_) => true,
        }
    }

    /// Returns the model of the next step, which sends its own requests.
    pub(super) fn for_next_step(&self) -> Self {
        match self {
            Self::Model(model) if model.declined().is_none() => {
                Self::Model(ClientFallback::new(model.model().clone()))
            }
            _ => Self::Client(Arc::default()),
        }
    }
}

/// A model request that is being sent.
struct InFlightRequest<'c> {
    model: &'c dyn ChatModel,
    span: Span,
    started_at: Instant,
    /// Held until the answer is there, unless the client's model answers between calls.
    _permit: Option<FairPermit>,
}

/// A model's answer, with its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer<T> {
    /// The parsed answer.
    pub value: T,
    /// The provider's id of the conversation, to continue it.
    pub thread: Option<String>,
    /// The cost of one exchange, or of two if the first answer could not be used.
    pub usage: ModelUsage,
}

impl ToolContext {
    /// Asks the model for a `T`. `from_plain` converts an answer that is plain text.
    pub async fn ask<T: DeserializeOwned>(
        &self,
        ask: ModelRequest,
        from_plain: Option<fn(String) -> T>,
    ) -> Result<ModelAnswer<T>, ToolError> {
        if let Some(reply) = self.take_reply() {
            return self.read_reply(ask, reply, from_plain).await;
        }
        let (ask, asking) = self.start_request(ask).await;
        let answer = ask_structured(asking.model, ask, from_plain, self.shared.deadline)
            .instrument(asking.span.clone())
            .await;
        self.finish_request(&asking, answer)
    }

    /// Asks the model for one turn of a conversation in which it may call functions.
    pub async fn ask_turn(&self, ask: ModelRequest) -> Result<ModelAnswer<ModelTurn>, ToolError> {
        let (ask, asking) = self.start_request(ask).await;
        let answer = ask_turn(asking.model, ask, self.shared.deadline)
            .instrument(asking.span.clone())
            .await;
        self.finish_request(&asking, answer)
    }

    /// Prefixes the request's key and chooses the model.
    async fn start_request(&self, ask: ModelRequest) -> (ModelRequest, InFlightRequest<'_>) {
        let ask = ModelRequest {
            key: self.scoped_name(&ask.key),
            ..ask
        };
        let mind = self.call_model().await;
        let thinker: &dyn ChatModel = match mind {
            CallModel::Model(model) => model,
            CallModel::Client(client) => client.as_ref(),
        };
        let (span, permit) = if mind.is_client_driven() {
            (Span::none(), None)
        } else {
            let permits = &self.shared.env.permits;
            let permit = permits.acquire_model_request(self.principal()).await;
            (model_span(thinker.name()), Some(permit))
        };
        let at = Instant::now();
        (
            ask,
            InFlightRequest {
                model: thinker,
                span,
                started_at: at,
                _permit: permit,
            },
        )
    }

    /// Records the result and the cost of a request.
    fn finish_request<T>(
        &self,
        asking: &InFlightRequest<'_>,
        answer: Result<deliberate_llm::StructuredOutput<T>, StructuredError>,
    ) -> Result<ModelAnswer<T>, ToolError> {
        record_answer(&asking.span, &answer);
        let provider = asking.model.name();
        match answer {
            Ok(answer) => {
                self.record_usage(|bill| {
                    bill.add(provider, &answer.replies);
                    bill.has_cut_answer |= answer.is_cut;
                });
                self.emit_model_requested(provider, asking.started_at, None, &answer.replies);
                let thread = answer
                    .replies
                    .iter()
                    .rev()
                    .find_map(|reply| reply.thread.clone());
                Ok(ModelAnswer {
                    value: answer.value,
                    thread,
                    usage: total_usage(&answer.replies),
                })
            }
            Err(failed) => {
                self.record_usage(|bill| {
                    bill.add(provider, &failed.replies);
                    bill.add_unanswered(provider, &failed.error);
                });
                let code = failed.error.code();
                self.emit_model_requested(provider, asking.started_at, Some(code), &failed.replies);
                Err(failed.error.into())
            }
        }
    }

    /// Sends several independent requests at once. Each has its own result, in order; if the
    /// client's model has to reply, it gets all of them together.
    pub async fn ask_all<T: DeserializeOwned>(
        &self,
        asks: Vec<ModelRequest>,
    ) -> Result<Vec<Result<ModelAnswer<T>, ToolError>>, ToolError> {
        self.ask_all_with(asks, None, |_| ()).await
    }

    /// Like [`ToolContext::ask_all`]; `from_plain` converts an answer that is plain text, and
    /// `on_answer` is called with each answer as soon as it arrives.
    pub async fn ask_all_with<T: DeserializeOwned>(
        &self,
        asks: Vec<ModelRequest>,
        from_plain: Option<fn(String) -> T>,
        on_answer: impl Fn(&T),
    ) -> Result<Vec<Result<ModelAnswer<T>, ToolError>>, ToolError> {
        // Not `try_join_all`: the first request that waits for the client must not hide the others.
        let all = asks.into_iter().map(|ask| {
            let answer = self.ask(ask, from_plain);
            answer.inspect_ok(|answer: &ModelAnswer<T>| on_answer(&answer.value))
        });
        let outcomes = futures::future::join_all(all).await;
        let pending = |outcome: &Result<_, ToolError>| {
            matches!(outcome, Err(ToolError::Model(ModelError::Pending)))
        };
        if outcomes.iter().any(pending) {
            return Err(ModelError::Pending.into());
        }
        Ok(outcomes)
    }

    /// Tells whether a model can be used during the call. If not, a model request suspends it.
    pub async fn has_model(&self) -> bool {
        !self.call_model().await.is_client_driven()
    }

    /// Tells whether a prompt that is stored at the provider may decide what a reply contains, so
    /// that one reply may answer several requests.
    pub async fn has_stored_prompts(&self) -> bool {
        match self.call_model().await {
            CallModel::Model(model) => model.has_stored_prompts(),
            CallModel::Client(_) => false,
        }
    }

    /// Returns the number of model requests so far.
    pub(crate) fn request_count(&self) -> i64 {
        self.usage().usage.model_calls
    }

    async fn call_model(&self) -> &CallModel {
        self.shared
            .model
            .get_or_init(|| async {
                match self
                    .shared
                    .env
                    .deps
                    .models
                    .choose(self.shared.env.caller.client_model.clone())
                    .await
                {
                    Some(model) => CallModel::Model(ClientFallback::new(model)),
                    None => CallModel::Client(Arc::default()),
                }
            })
            .await
    }

    /// Returns the requests that wait for the client's model and the journal to store, if the
    /// client's model is used.
    pub(crate) fn pending_requests(&self) -> Option<(Vec<ModelRequest>, Journal)> {
        let client = match self.shared.model.get()? {
            CallModel::Client(client) => client.as_ref(),
            CallModel::Model(model) => model.declined()?.1,
        };
        let notes = self
            .shared
            .memo
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let journal = Journal {
            replies: client.replies().clone(),
            notes: notes.clone(),
            called_with: None,
        };
        Some((client.pending(), journal))
    }

    /// Withdraws the request of that key, if it waits for the client's model: the call goes on without
    /// its answer, so the client is not asked for it.
    pub fn withdraw_request(&self, key: &str) {
        let client = match self.shared.model.get() {
            Some(CallModel::Client(client)) => Some(client.as_ref()),
            Some(CallModel::Model(model)) => model.declined().map(|(_, client)| client),
            None => None,
        };
        if let Some(client) = client {
            client.withdraw(&self.scoped_name(key));
        }
    }

    /// Returns the client's reason if it has declined sampling during this call.
    pub(crate) fn sampling_declined(&self) -> Option<&str> {
        match self.shared.model.get()? {
            CallModel::Model(model) => Some(model.declined()?.0),
            CallModel::Client(_) => None,
        }
    }

    /// Tells the listeners of a model request. Requests to the client's model do not count.
    fn emit_model_requested(
        &self,
        provider: &str,
        at: Instant,
        error: Option<&str>,
        replies: &[ModelReply],
    ) {
        let model = self.shared.model.get();
        if model.is_none_or(CallModel::is_client_driven) {
            return;
        }
        let spent = total_usage(replies);
        self.shared.env.listeners.emit(CallEvent::ModelRequested {
            provider,
            elapsed: at.elapsed(),
            error,
            usage: &spent,
        });
    }

    fn record_usage(&self, write: impl FnOnce(&mut UsageTally)) {
        let bill = self.shared.usage.lock();
        write(&mut bill.unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) fn usage(&self) -> UsageTally {
        self.shared
            .usage
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
