//! The caller of a tool: its principal, its model, and the requests that it can answer.

use std::sync::Arc;

use deliberate_llm::ChatModel;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{ClientConversation, InputReply, Principal, ToolContext, TraceContext};

/// The part of a call that the transport provides: cancellation, progress, the principal, and the
/// client's own model.
#[derive(Clone, Default)]
pub struct CallerContext {
    /// Cancelled when the client no longer wants the answer.
    pub cancellation: CancellationToken,
    /// Receives progress, if the client requested it. It must not block.
    pub progress: Option<Arc<dyn Fn(CallProgress) + Send + Sync>>,
    /// The client's own model, if it can be used during a call.
    pub client_model: Option<Arc<dyn ChatModel>>,
    /// Whether the prompts of a suspended call go to a model that does not see the conversation in
    /// which the call was made.
    pub prompts_leave_conversation: bool,
    /// What stands in the conversation in which the call is made. `None` if the requests of the client
    /// are independent.
    pub conversation: Option<ClientConversation>,
    /// The principal that calls.
    pub principal: Principal,
    /// The client's trace context, if it sent one.
    pub trace: Option<TraceContext>,
    /// The protocol revision of the client, for traces.
    pub protocol: Option<&'static str>,
    /// The requests that the client can answer, for calls that forward them.
    pub client: ClientFeatures,
    /// The input that an external tool asked for, if the call is sent again with it.
    pub input_reply: Option<InputReply>,
}

/// The requests that a client can answer.
#[derive(Clone, Default)]
pub struct ClientFeatures {
    /// Whether it speaks 2026-07-28 or later: requests are in the answer to its call, not during
    /// it.
    pub modern: bool,
    /// Whether it can ask its user to fill in a form.
    pub elicitation: bool,
    /// Whether it can ask its user to open a page.
    pub elicitation_url: bool,
    /// Whether it offers its model.
    pub sampling: bool,
    /// Whether it lists its root folders.
    pub roots: bool,
    /// Sends requests to the client during the call, if that is possible.
    pub requests: Option<Arc<dyn ClientRequests>>,
    /// Passes log messages on to the client, if it wants any.
    pub log: Option<LogForwarder>,
}

/// Passes log messages of upstream servers on to a client.
#[derive(Clone)]
pub struct LogForwarder {
    /// The least severe level that the client wants, such as `warning`.
    pub level: &'static str,
    /// Passes on a message: the params of `notifications/message`. It must not block.
    pub send: Arc<dyn Fn(Value) + Send + Sync>,
}

/// Sends requests to a client during its call.
pub trait ClientRequests: Send + Sync {
    /// Sends a request of the protocol (`elicitation/create`, `sampling/createMessage`,
    /// `roots/list`) and returns the result. Dropping the future cancels the request.
    fn request(
        &self,
        method: &str,
        params: Value,
    ) -> BoxFuture<'_, Result<Value, ClientRequestError>>;
}

/// The error that a client answered a request with.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the client rejected the request: {message}")]
pub struct ClientRequestError {
    /// The JSON-RPC error code.
    pub code: i32,
    /// The client's error message.
    pub message: String,
    /// The data of the JSON-RPC error.
    pub data: Option<Value>,
}

impl ToolContext {
    /// Returns the requests that the client can answer. A client that gets requests in the answer
    /// to its call can't get them from a nested tool, because the answer is the outer tool's.
    pub fn client_features(&self) -> &ClientFeatures {
        static NO_CLIENT: ClientFeatures = ClientFeatures {
            modern: false,
            elicitation: false,
            elicitation_url: false,
            sampling: false,
            roots: false,
            requests: None,
            log: None,
        };
        let client = &self.shared.env.caller.client;
        if client.modern && !self.prefix.is_empty() {
            return &NO_CLIENT;
        }
        client
    }
}

/// The progress of a call. The numbers only grow.
#[derive(Debug, Clone, PartialEq)]
pub struct CallProgress {
    /// The amount of work done.
    pub done: f64,
    /// The total amount of work, if known.
    pub total: Option<f64>,
    /// The current activity, for people.
    pub message: String,
}

/// Chooses the model. It is asked once per call, and only by calls that use a model.
pub trait ModelSelector: Send + Sync {
    /// Returns the model to use; `offered` is the client's own. `None` means that no model can be
    /// used during the call, so that the call is suspended until the client replies.
    fn choose(
        &self,
        offered: Option<Arc<dyn ChatModel>>,
    ) -> BoxFuture<'_, Option<Arc<dyn ChatModel>>>;
}

/// Chooses the same model, or none, for every call.
pub struct FixedModel(pub Option<Arc<dyn ChatModel>>);

impl ModelSelector for FixedModel {
    fn choose(
        &self,
        offered: Option<Arc<dyn ChatModel>>,
    ) -> BoxFuture<'_, Option<Arc<dyn ChatModel>>> {
        let mind = self.0.clone().or(offered);
        Box::pin(async move { mind })
    }
}
