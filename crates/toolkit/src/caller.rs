//! Who calls, and who can think for them.

use std::sync::Arc;

use deliberate_llm::ChatModel;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{InputReply, Principal, ToolContext, TraceContext};

/// The side of a call that the transport brings: how to stop it, where its progress goes, and
/// whether the client offers its own model.
#[derive(Clone, Default)]
pub struct CallerContext {
    /// Cancelled when the client no longer wants the answer.
    pub cancellation: CancellationToken,
    /// Hears of progress, if the client asked for it. Must not block.
    pub progress: Option<Arc<dyn Fn(CallProgress) + Send + Sync>>,
    /// The client's own model, where it can be asked during a call.
    pub client_model: Option<Arc<dyn ChatModel>>,
    /// Whose call it is.
    pub principal: Principal,
    /// The client's place in its trace, if it said one.
    pub trace: Option<TraceContext>,
    /// The revision of the protocol it speaks, for traces.
    pub protocol: Option<&'static str>,
    /// What the client can be asked for, for calls that hand a question on.
    pub client: ClientFeatures,
    /// That the call is sent again, with what an answer of a guest asked for.
    pub input_reply: Option<InputReply>,
}

/// What a client can be asked for.
#[derive(Clone, Default)]
pub struct ClientFeatures {
    /// Whether it speaks 2026-07-28 or later: it is asked by the answer to its call, not during it.
    pub modern: bool,
    /// Whether its user can be asked to fill in a form.
    pub elicitation: bool,
    /// Whether its user can be asked to open a page.
    pub elicitation_url: bool,
    /// Whether its model can be asked.
    pub sampling: bool,
    /// Whether it tells which folders are its own.
    pub roots: bool,
    /// The way to ask it during the call, where there is one.
    pub requests: Option<Arc<dyn ClientRequests>>,
}

/// The way to ask a client during its call.
pub trait ClientRequests: Send + Sync {
    /// Sends a request of the protocol (`elicitation/create`, `sampling/createMessage`,
    /// `roots/list`) and gives the result. If it is dropped, the client is told that nobody waits.
    fn request(
        &self,
        method: &str,
        params: Value,
    ) -> BoxFuture<'_, Result<Value, ClientRequestError>>;
}

/// Why a client did not answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the client refused: {message}")]
pub struct ClientRequestError {
    /// The JSON-RPC code.
    pub code: i32,
    /// What it said.
    pub message: String,
    /// What else it said.
    pub data: Option<Value>,
}

impl ToolContext {
    /// What the client can be asked for. One that is asked by the answer to its call can't be by a
    /// tool that is run by another: the answer is the other's.
    pub fn client_features(&self) -> &ClientFeatures {
        static NO_CLIENT: ClientFeatures = ClientFeatures {
            modern: false,
            elicitation: false,
            elicitation_url: false,
            sampling: false,
            roots: false,
            requests: None,
        };
        let client = &self.shared.env.caller.client;
        if client.modern && !self.prefix.is_empty() {
            return &NO_CLIENT;
        }
        client
    }
}

/// How far a call has come. Numbers only grow.
#[derive(Debug, Clone, PartialEq)]
pub struct CallProgress {
    /// How far.
    pub done: f64,
    /// Of how much, if that is known.
    pub total: Option<f64>,
    /// In words.
    pub message: String,
}

/// Chooses who thinks. Asked once a call, and only by calls that think.
pub trait ModelSelector: Send + Sync {
    /// The one to ask; `offered` is the client's own model. `None` means that no model can be
    /// asked during the call, so that the client has to reply between calls.
    fn choose(
        &self,
        offered: Option<Arc<dyn ChatModel>>,
    ) -> BoxFuture<'_, Option<Arc<dyn ChatModel>>>;
}

/// The same mind for everyone, or none.
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
