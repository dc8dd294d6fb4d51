//! The model requests of a call: the choice of model, their cost, and the requests that wait for
//! the client's model.

use std::sync::{Arc, Mutex, PoisonError};

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
    budget::MeteredModel,
    client_fallback::ClientFallback,
    known_answer::{AnswerContent, SourcedAnswer},
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
    model: MeteredModel<'c>,
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
        let key = self.scoped_name(&ask.key);
        if let Some(answer) = self.known_answer(&key, |it| it.read(from_plain)).await {
            return Ok(answer);
        }
        let (ask, asking) = self.start_request(ask).await;
        let plain = from_plain.map(|_| SourcedAnswer::plain as fn(String) -> SourcedAnswer<T>);
        let answer = ask_structured(&asking.model, ask, plain, self.shared.deadline)
            .instrument(asking.span.clone())
            .await;
        if let Ok(answer) = &answer {
            let content = answer.value.content.clone();
            self.remember_answer(key, content, answer.is_cut, &asking.model);
        }
        let answer = self.finish_request(&asking, answer)?;
        let value = answer.value.into_value(from_plain);
        Ok(ModelAnswer {
            value: value.ok_or(ToolError::Internal)?,
            thread: answer.thread,
            usage: answer.usage,
        })
    }

    /// Asks the model for one turn of a conversation in which it may call functions.
    pub async fn ask_turn(&self, ask: ModelRequest) -> Result<ModelAnswer<ModelTurn>, ToolError> {
        let key = self.scoped_name(&ask.key);
        if let Some(turn) = self.known_answer(&key, |it| it.read(None)).await {
            return Ok(turn);
        }
        let (ask, asking) = self.start_request(ask).await;
        let turn = ask_turn(&asking.model, ask, self.shared.deadline)
            .instrument(asking.span.clone())
            .await;
        if let Ok(turn) = &turn
            && let Ok(content) = serde_json::to_value(&turn.value)
        {
            let content = AnswerContent::Json(content);
            self.remember_answer(key, content, turn.is_cut, &asking.model);
        }
        self.finish_request(&asking, turn)
    }

    /// Returns the client's model, if it replies between calls.
    pub(super) fn client(&self) -> Option<&ClientDriven> {
        match self.shared.model.get()? {
            CallModel::Client(client) => Some(client.as_ref()),
            CallModel::Model(model) => Some(model.declined()?.1),
        }
    }

    /// Returns the meters that a request of this tool counts against.
    pub(super) fn meters(&self) -> impl Iterator<Item = &super::budget::BudgetMeter> {
        let budgets = self.budgets.iter().map(AsRef::as_ref);
        std::iter::once(&self.shared.meter).chain(budgets)
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
                model: MeteredModel {
                    model: thinker,
                    meters: self.meters().collect(),
                    answered: Mutex::default(),
                },
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

    pub(super) async fn call_model(&self) -> &CallModel {
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
        let client = self.client()?;
        let memo = self.shared.memo.lock();
        let memo = memo.unwrap_or_else(PoisonError::into_inner);
        let used = self.shared.used_replies.lock();
        let used = used.unwrap_or_else(PoisonError::into_inner);
        let replies = client.replies().iter();
        let unread = replies.filter(|(key, _)| !used.contains(*key));
        let journal = Journal {
            replies: unread
                .map(|(key, text)| (key.clone(), text.clone()))
                .collect(),
            notes: memo.clone(),
            answers: self.known_answers().clone(),
            ..Journal::default()
        };
        Some((client.pending(), journal))
    }

    /// Withdraws the request of that key, if it waits for the client's model: the call goes on without
    /// its answer, so the client is not asked for it.
    pub fn withdraw_request(&self, key: &str) {
        if let Some(client) = self.client() {
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

    pub(super) fn record_usage(&self, write: impl FnOnce(&mut UsageTally)) {
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
