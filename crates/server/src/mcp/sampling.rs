//! MCP sampling of the handshake revisions: the client's own model as a provider during a call.

#![expect(
    deprecated,
    reason = "sampling is deprecated by the 2026-07-28 revision, and is what clients of the revisions before it offer"
)]

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use deliberate_llm::{
    ChatMessage, ChatModel, ChatRole as Speaker, Sampling, SamplingError, SamplingPeer,
    SamplingReply, SamplingRequest,
};
use futures::future::BoxFuture;
use rmcp::{
    Peer, RoleServer,
    model::{
        CreateMessageRequestParams, ProtocolVersion, SamplingMessage, SamplingMessageContentBlock,
    },
    service::{RequestContext, ServiceError},
};
use tokio::time::Instant;

/// How long a client that has declined sampling is not asked again.
const DECLINED_FOR: Duration = Duration::from_mins(5);

/// When the client of a connection last declined sampling.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeclinedSampling(Arc<Mutex<Option<Instant>>>);

impl DeclinedSampling {
    fn is_recent(&self) -> bool {
        let at = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        at.is_some_and(|at| at.elapsed() < DECLINED_FOR)
    }

    fn record(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
}

/// The client's model, if the client supports sampling and has not just declined it.
pub(crate) fn client_model(
    context: &RequestContext<RoleServer>,
    declined: &DeclinedSampling,
) -> Option<Arc<dyn ChatModel>> {
    let legacy = context
        .protocol_version()
        .is_some_and(|version| version < ProtocolVersion::V_2026_07_28);
    let offers = context
        .client_capabilities()
        .is_some_and(|capabilities| capabilities.sampling.is_some());
    (legacy && offers && !declined.is_recent()).then(|| {
        let peer = RmcpSamplingPeer {
            peer: context.peer.clone(),
            declined: declined.clone(),
        };
        Arc::new(Sampling::new(Arc::new(peer))) as Arc<dyn ChatModel>
    })
}

struct RmcpSamplingPeer {
    peer: Peer<RoleServer>,
    declined: DeclinedSampling,
}

impl RmcpSamplingPeer {
    /// Clients use different codes for a rejection by the user and for sampling that they do not
    /// support, so every error that a client answers counts as one of these.
    fn classify(&self, error: ServiceError) -> SamplingError {
        match error {
            ServiceError::McpError(error) => {
                self.declined.record();
                SamplingError::Declined(error.message.into_owned())
            }
            error => SamplingError::Failed(error.to_string()),
        }
    }
}

impl SamplingPeer for RmcpSamplingPeer {
    fn create_message(
        &self,
        request: SamplingRequest,
    ) -> BoxFuture<'_, Result<SamplingReply, SamplingError>> {
        Box::pin(async move {
            let params = sampling_params(
                request.messages,
                request.system,
                request.max_tokens,
                request.temperature,
            );
            let reply = self.peer.create_message(params).await;
            let reply = reply.map_err(|error| self.classify(error))?;
            let text: Vec<String> = reply
                .message
                .content
                .into_vec()
                .into_iter()
                .filter_map(|block| match block {
                    SamplingMessageContentBlock::Text(text) => Some(text.text),
                    _ => None,
                })
                .collect();
            Ok(SamplingReply {
                text: text.join("\n"),
                model: Some(reply.model),
                stop_reason: reply.stop_reason,
            })
        })
    }
}
/// Builds the parameters of `sampling/createMessage`.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the protocol library has 32-bit temperatures"
)]
pub(super) fn sampling_params(
    messages: Vec<ChatMessage>,
    system: String,
    max_tokens: u32,
    temperature: f64,
) -> CreateMessageRequestParams {
    let messages = messages.into_iter().map(|message| match message.role {
        Speaker::User => SamplingMessage::user_text(message.text),
        Speaker::Assistant => SamplingMessage::assistant_text(message.text),
    });
    let params = CreateMessageRequestParams::new(messages.collect(), max_tokens);
    let mut params = params.with_system_prompt(system);
    params.temperature = Some(temperature as f32);
    params
}
