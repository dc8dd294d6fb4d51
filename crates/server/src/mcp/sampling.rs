//! MCP sampling of the handshake revisions: the client's own model as a provider during a call.

#![expect(
    deprecated,
    reason = "sampling is deprecated by the 2026-07-28 revision, and is what clients of the revisions before it offer"
)]

use std::sync::Arc;

use deliberate_llm::{
    ChatModel, ChatRole as Speaker, Sampling, SamplingPeer, SamplingReply, SamplingRequest,
};
use futures::future::BoxFuture;
use rmcp::{
    Peer, RoleServer,
    model::{
        CreateMessageRequestParams, ProtocolVersion, SamplingMessage, SamplingMessageContentBlock,
    },
    service::RequestContext,
};

/// The client's model, if the client supports sampling.
pub(crate) fn client_model(context: &RequestContext<RoleServer>) -> Option<Arc<dyn ChatModel>> {
    let legacy = context
        .protocol_version()
        .is_some_and(|version| version < ProtocolVersion::V_2026_07_28);
    let offers = context
        .client_capabilities()
        .is_some_and(|capabilities| capabilities.sampling.is_some());
    (legacy && offers).then(|| {
        let peer = RmcpSamplingPeer(context.peer.clone());
        Arc::new(Sampling::new(Arc::new(peer))) as Arc<dyn ChatModel>
    })
}

struct RmcpSamplingPeer(Peer<RoleServer>);

impl SamplingPeer for RmcpSamplingPeer {
    fn create_message(
        &self,
        request: SamplingRequest,
    ) -> BoxFuture<'_, Result<SamplingReply, String>> {
        Box::pin(async move {
            let messages = request
                .messages
                .into_iter()
                .map(|message| match message.role {
                    Speaker::User => SamplingMessage::user_text(message.text),
                    Speaker::Assistant => SamplingMessage::assistant_text(message.text),
                })
                .collect();
            let mut params = CreateMessageRequestParams::new(messages, request.max_tokens)
                .with_system_prompt(request.system);
            params.temperature = Some(request.temperature);
            let reply = self
                .0
                .create_message(params)
                .await
                .map_err(|error| error.to_string())?;
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
