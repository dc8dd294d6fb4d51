//! Chat completions, the format of `OpenAI`, of most other vendors, of routers and of local
//! servers.

#[cfg(feature = "http")]
pub(crate) mod capabilities;
mod settings;

use std::{
    borrow::Cow,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::{sync::OnceCell, time::Instant};

use super::{
    chat_json::{self, TokenPrices},
    chat_tool_calls::{self, ChunkAssembler},
    table::{ProviderModel, ProviderOptions},
    tool_support::ToolSupportError,
    without_native_tools,
};
use crate::{
    ChatModel, FinishReason, ModelError, ModelReply, ModelRequest, OnStreamEvent,
    http::{
        ProviderAuth, ProviderClient, ProviderEndpoint, ProviderRequest, ProviderResponse,
        RateHeaders, ResponseKind,
    },
    local_discovery::first_model,
    vendors::Vendor,
};
use capabilities::{EndpointCapabilities, RequestShape};
pub use settings::OpenAiSettings;

const RATE_HEADERS: RateHeaders = RateHeaders {
    remaining: "x-ratelimit-remaining-requests",
    reset: "x-ratelimit-reset-requests",
};

/// The most tokens that are added to the limit of an answer for the model's reasoning.
const MAX_REASONING_ROOM: u32 = 8_192;

/// Builds a vendor's entry of the table of providers.
pub(super) fn build(
    vendor: &Vendor,
    options: ProviderOptions,
) -> Result<ProviderModel, ModelError> {
    let mut settings = OpenAiSettings::for_vendor(vendor, options.api_key);
    if let Some(base_url) = options.base_url {
        // The vendor's default model means nothing at another address.
        settings.model = None;
        settings.base_url = base_url;
    }
    if options.model.is_some() {
        settings.model = options.model;
    }
    settings.http = options.http;
    settings.prices = options.prices;
    let base_url = settings.base_url.clone();
    Ok(ProviderModel {
        model: Arc::new(OpenAi::new(settings)?),
        base_url,
    })
}

/// Chat model at an OpenAI-compatible endpoint.
pub struct OpenAi {
    http: ProviderClient,
    configured_model: Option<String>,
    discovered_model: OnceCell<String>,
    capabilities: Mutex<EndpointCapabilities>,
    /// The most tokens that a reply has spent on reasoning. Endpoints count them as part of the
    /// answer, so they are added to its token limit.
    reasoning_room: AtomicU32,
    prices: Option<TokenPrices>,
}

impl OpenAi {
    /// Checks the settings and builds the client. Sends nothing.
    pub fn new(settings: OpenAiSettings) -> Result<Self, ModelError> {
        let http = ProviderClient::new(ProviderEndpoint {
            provider: settings.name,
            base_url: settings.base_url,
            auth: settings
                .api_key
                .map_or(ProviderAuth::None, ProviderAuth::Bearer),
            headers: &[],
            rate_headers: RATE_HEADERS,
            settings: settings.http,
        })?;
        Ok(Self {
            http,
            configured_model: settings.model,
            discovered_model: OnceCell::new(),
            capabilities: Mutex::new(EndpointCapabilities::assume_all(
                settings.json,
                settings.max_tokens,
            )),
            reasoning_room: AtomicU32::new(0),
            prices: settings.prices,
        })
    }

    async fn send_request(
        &self,
        ask: &ModelRequest,
        deadline: Instant,
        on: Option<OnStreamEvent<'_>>,
    ) -> Result<ModelReply, ModelError> {
        let model = self.resolve_model(deadline).await?;
        let mut in_words = false;
        for _ in 0..=EndpointCapabilities::MAX_DOWNGRADES {
            let dialect = *self.capabilities();
            let native = !in_words && dialect.supports_request_tools(ask);
            let model_request = if native {
                Cow::Borrowed(ask)
            } else {
                without_native_tools(ask)
            };
            let described = matches!(model_request, Cow::Owned(_));
            // With the tools in the prompt, the text contains calls, so it is not streamed to the
            // caller.
            let on = on.filter(|_| !described);
            let shape = RequestShape {
                native_tools: native,
                streaming: on.is_some(),
                reasoning_room: self.reasoning_room.load(Ordering::Relaxed),
            };
            let request = build_request(model, &model_request, shape, dialect);
            let refused = match self.exchange(&request, deadline, on).await? {
                CompletionResponse::Completion(completion) => {
                    let reply = self.parse_completion(&completion)?;
                    self.learn_reasoning_room(reply.reasoning_tokens);
                    return Ok(ModelReply {
                        tools_in_prompt: described,
                        ..reply
                    });
                }
                CompletionResponse::Refusal(refused) => refused,
            };
            let text = refused.text();
            if let Some(simpler) = dialect.downgrade(refused.status, &text, shape) {
                self.downgrade(dialect, simpler);
                continue;
            }
            match ToolSupportError::classify(refused.status, &text, ask).filter(|_| native) {
                Some(ToolSupportError::Unsupported) => self.downgrade(
                    dialect,
                    EndpointCapabilities {
                        tools: false,
                        ..dialect
                    },
                ),
                Some(ToolSupportError::ThisRequest) => in_words = true,
                None => return Err(self.http.api_error(&refused)),
            }
        }
        Err(self
            .http
            .api_error_with_message(400, "it rejects the request in every form"))
    }

    /// Sends the request and emits the text of a stream as it arrives.
    async fn exchange(
        &self,
        request: &ProviderRequest,
        deadline: Instant,
        on: Option<OnStreamEvent<'_>>,
    ) -> Result<CompletionResponse, ModelError> {
        let Some(on) = on else {
            let response = self.http.send(request, deadline).await?;
            return self.classify(response);
        };
        let mut stream = match self.http.open(request, deadline).await? {
            ResponseKind::Stream(stream) => stream,
            ResponseKind::Buffered(response) => {
                let completion_response = self.classify(response)?;
                if let CompletionResponse::Completion(completion) = &completion_response {
                    let content = completion.pointer("/choices/0/message/content");
                    chat_json::emit_text(on, chat_json::content_text(content));
                }
                return Ok(completion_response);
            }
        };
        let mut assembler = ChunkAssembler::default();
        while let Some(data) = stream.next().await? {
            if data.trim() == "[DONE]" {
                assembler.finish();
                break;
            }
            let chunk = serde_json::from_str(&data)
                .map_err(|_| stream.invalid_stream("an event of it is not JSON"))?;
            chat_json::emit_text(on, assembler.push_chunk(&chunk));
            if assembler.has_failed() {
                break;
            }
        }
        let completion = assembler.into_completion();
        completion
            .map(CompletionResponse::Completion)
            .ok_or_else(|| stream.invalid_stream("it has no end"))
    }

    fn classify(&self, response: ProviderResponse) -> Result<CompletionResponse, ModelError> {
        Ok(if response.is_success() {
            CompletionResponse::Completion(self.http.json(&response)?)
        } else {
            CompletionResponse::Refusal(response)
        })
    }

    fn learn_reasoning_room(&self, tokens: u64) {
        let tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
        let room = tokens.min(MAX_REASONING_ROOM);
        self.reasoning_room.fetch_max(room, Ordering::Relaxed);
    }

    /// Switches to a simpler form of requests.
    fn downgrade(&self, dialect: EndpointCapabilities, simpler: EndpointCapabilities) {
        tracing::debug!(
            provider = self.name(),
            ?simpler,
            "the endpoint needs a simpler form of requests"
        );
        let mut known = self.capabilities();
        // Another call may have learned something else in the meantime.
        if *known == dialect {
            *known = simpler;
        }
    }

    fn capabilities(&self) -> std::sync::MutexGuard<'_, EndpointCapabilities> {
        self.capabilities
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    async fn resolve_model(&self, deadline: Instant) -> Result<&str, ModelError> {
        if let Some(model) = &self.configured_model {
            return Ok(model);
        }
        let model = self
            .discovered_model
            .get_or_try_init(|| async {
                let response = self
                    .http
                    .send(&ProviderRequest::get("/models"), deadline)
                    .await?;
                let listed = self.http.json(&response)?;
                first_model(&listed).ok_or_else(|| ModelError::Misconfigured {
                    provider: self.name().to_owned(),
                    reason: "no model is set, and the endpoint offers none".to_owned(),
                })
            })
            .await?;
        Ok(model)
    }

    fn parse_completion(&self, completion: &Value) -> Result<ModelReply, ModelError> {
        // Routers report errors of the model's host inside a success response.
        if let Some(error) = completion.get("error").filter(|error| !error.is_null()) {
            let status = error.get("code").and_then(Value::as_u64);
            return Err(self.http.api_error_with_message(
                status
                    .and_then(|status| u16::try_from(status).ok())
                    .unwrap_or(200),
                &chat_json::string_field(error, "message").unwrap_or_else(|| error.to_string()),
            ));
        }
        let Some(choice) = completion.pointer("/choices/0") else {
            return Err(self.http.invalid_response(
                "the response has no choices; check the base URL".to_owned(),
                &completion.to_string(),
            ));
        };
        let message = choice.get("message");
        let refusal = message
            .and_then(|message| chat_json::string_field(message, "refusal"))
            .filter(|refusal| !refusal.is_empty());
        let (text, finish) = match refusal {
            Some(refusal) => (refusal, FinishReason::Refusal),
            None => (
                chat_json::content_text(message.and_then(|message| message.get("content"))),
                chat_json::parse_finish_reason(choice.get("finish_reason")),
            ),
        };
        let reasoning = message.map(chat_json::reasoning_text).unwrap_or_default();
        Ok(ModelReply {
            text,
            reasoning_tokens: chat_json::reasoning_tokens(completion.get("usage"), &reasoning),
            reasoning,
            finish_reason: finish,
            model: chat_json::string_field(completion, "model"),
            usage: TokenPrices::apply(self.prices, chat_json::parse_usage(completion.get("usage"))),
            calls: chat_tool_calls::parse_tool_calls(message),
            ..ModelReply::default()
        })
    }
}

/// Response of the chat completions endpoint.
enum CompletionResponse {
    /// A completion, possibly with an error in it.
    Completion(Value),
    /// A response with an error status.
    Refusal(ProviderResponse),
}

fn build_request(
    model: &str,
    ask: &ModelRequest,
    shape: RequestShape,
    dialect: EndpointCapabilities,
) -> ProviderRequest {
    let messages = if shape.native_tools {
        chat_tool_calls::messages_json(ask)
    } else {
        chat_json::messages_with_system(ask)
    };
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    body.insert("messages".to_owned(), json!(messages));
    body.insert("stream".to_owned(), json!(shape.streaming));
    dialect.apply(ask, shape, &mut body);
    let request = ProviderRequest::post("/chat/completions", &Value::Object(body));
    if shape.native_tools {
        request.with_refusal_check(ToolSupportError::is_hidden_refusal)
    } else {
        request
    }
}

impl ChatModel for OpenAi {
    fn name(&self) -> &str {
        self.http.provider()
    }

    fn complete<'a>(
        &'a self,
        ask: &'a ModelRequest,
        deadline: Instant,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(self.send_request(ask, deadline, None))
    }

    fn complete_streaming<'a>(
        &'a self,
        ask: &'a ModelRequest,
        deadline: Instant,
        on: OnStreamEvent<'a>,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(self.send_request(ask, deadline, Some(on)))
    }

    fn supports_tools(&self) -> bool {
        self.capabilities().tools
    }

    /// Pictures follow native results only.
    fn accepts_images(&self) -> bool {
        self.supports_tools()
    }

    fn rate_limited_for(&self) -> Option<std::time::Duration> {
        self.http.rate_limited_for()
    }

    fn check(&self, deadline: Instant) -> BoxFuture<'_, Result<(), ModelError>> {
        Box::pin(self.http.check("/models", deadline))
    }
}
