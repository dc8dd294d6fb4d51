//! Anthropic's messages format.

#[cfg(feature = "http")]
pub(crate) mod messages;

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::future::BoxFuture;
use secrecy::SecretString;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{
    chat_json::{self, TokenPrices},
    system_with_schema, system_with_tools,
    table::{ProviderModel, ProviderOptions},
    tool_support::ToolSupportError,
    without_native_tools,
};
use crate::{
    ChatModel, ModelError, ModelReply, ModelRequest, OnStreamEvent,
    http::{
        HttpSettings, ProviderAuth, ProviderClient, ProviderEndpoint, ProviderRequest,
        ProviderResponse, RateHeaders, ResponseKind,
    },
};
use messages::MessageAssembler;

/// Maximum number of downgrades: one for the temperature, one for the tools, and one request with
/// the tools in the prompt.
const MAX_DOWNGRADES: usize = 3;

const RATE_HEADERS: RateHeaders = RateHeaders {
    remaining: "anthropic-ratelimit-requests-remaining",
    reset: "anthropic-ratelimit-requests-reset",
};

/// Settings of the Anthropic provider.
#[derive(Debug, Clone)]
pub struct AnthropicSettings {
    /// API key.
    pub api_key: SecretString,
    /// Base URL, without `/v1/messages`.
    pub base_url: String,
    /// Model name.
    pub model: String,
    /// Timeouts, retries and rate limits.
    pub http: HttpSettings,
    /// Token prices, for the cost in the invocation log.
    pub prices: Option<TokenPrices>,
}

impl AnthropicSettings {
    /// Returns the default settings with this key.
    pub fn new(api_key: SecretString) -> Self {
        Self {
            api_key,
            base_url: "https://api.anthropic.com".to_owned(),
            model: "claude-haiku-4-5".to_owned(),
            http: HttpSettings::default(),
            prices: None,
        }
    }
}

/// Builds the Anthropic entry of the table of providers.
pub(super) fn build(
    api_key: SecretString,
    options: ProviderOptions,
) -> Result<ProviderModel, ModelError> {
    let defaults = AnthropicSettings::new(api_key);
    let base_url = options.base_url.unwrap_or(defaults.base_url);
    let model = Anthropic::new(AnthropicSettings {
        base_url: base_url.clone(),
        model: options.model.unwrap_or(defaults.model),
        http: options.http,
        prices: options.prices,
        api_key: defaults.api_key,
    })?;
    Ok(ProviderModel {
        model: Arc::new(model),
        base_url,
    })
}

/// Chat model at Anthropic.
pub struct Anthropic {
    http: ProviderClient,
    model: String,
    prices: Option<TokenPrices>,
    /// Whether the model accepts a temperature. Cleared after the first refusal.
    supports_temperature: AtomicBool,
    /// Whether tools are accepted natively; other servers with the same format may not accept them.
    /// Cleared after the first refusal.
    supports_tools: AtomicBool,
}

impl Anthropic {
    /// Checks the settings and builds the client. Sends nothing.
    pub fn new(settings: AnthropicSettings) -> Result<Self, ModelError> {
        let http = ProviderClient::new(ProviderEndpoint {
            provider: "anthropic".to_owned(),
            base_url: settings.base_url,
            auth: ProviderAuth::Header("x-api-key", settings.api_key),
            headers: &[("anthropic-version", "2023-06-01")],
            rate_headers: RATE_HEADERS,
            settings: settings.http,
        })?;
        Ok(Self {
            http,
            model: settings.model,
            prices: settings.prices,
            supports_temperature: AtomicBool::new(true),
            supports_tools: AtomicBool::new(true),
        })
    }

    async fn send_request(
        &self,
        ask: &ModelRequest,
        deadline: Instant,
        on: Option<OnStreamEvent<'_>>,
    ) -> Result<ModelReply, ModelError> {
        let mut in_words = false;
        for _ in 0..=MAX_DOWNGRADES {
            let native = !in_words && !ask.functions.is_empty() && self.supports_tools();
            let model_request = if native {
                Cow::Borrowed(ask)
            } else {
                without_native_tools(ask)
            };
            let described = matches!(model_request, Cow::Owned(_));
            // With the tools in the prompt, the text contains calls, so it is not streamed to the
            // caller.
            let on = on.filter(|_| !described);
            let with_temperature = self.supports_temperature.load(Ordering::Relaxed);
            let body = self.body(&model_request, native, with_temperature, on.is_some());
            let request = ProviderRequest::post("/v1/messages", &body);
            let refused = match self.exchange(&request, deadline, on).await? {
                MessagesResponse::Message(message) => {
                    let reply = self.parse_message(&message)?;
                    return Ok(ModelReply {
                        tools_in_prompt: described,
                        ..reply
                    });
                }
                MessagesResponse::Refusal(refused) => refused,
            };
            let text = refused.text();
            if with_temperature && refused.status == 400 && text.contains("temperature") {
                self.supports_temperature.store(false, Ordering::Relaxed);
                continue;
            }
            match ToolSupportError::classify(refused.status, &text, ask).filter(|_| native) {
                Some(ToolSupportError::Unsupported) => {
                    self.supports_tools.store(false, Ordering::Relaxed);
                }
                Some(ToolSupportError::ThisRequest) => in_words = true,
                None => return Err(self.http.api_error(&refused)),
            }
        }
        Err(self
            .http
            .api_error_with_message(400, "it rejects the request in every form"))
    }

    fn body(
        &self,
        ask: &ModelRequest,
        native: bool,
        with_temperature: bool,
        streaming: bool,
    ) -> Value {
        let (system, messages) = if native {
            (system_with_tools(ask), messages::messages_json(ask))
        } else {
            let system = system_with_schema(&ask.system, &ask.schema);
            (system, chat_json::messages_json(ask))
        };
        let mut body = Map::new();
        body.insert("model".to_owned(), json!(self.model));
        body.insert("max_tokens".to_owned(), json!(ask.max_tokens));
        if !system.is_empty() {
            body.insert("system".to_owned(), json!(system));
        }
        body.insert("messages".to_owned(), json!(messages));
        if with_temperature {
            body.insert("temperature".to_owned(), json!(ask.temperature));
        }
        if native {
            let choice = if ask.answer_now { "none" } else { "auto" };
            body.insert("tools".to_owned(), messages::tools_json(ask));
            body.insert("tool_choice".to_owned(), json!({ "type": choice }));
        }
        if streaming {
            body.insert("stream".to_owned(), json!(true));
        }
        Value::Object(body)
    }

    /// Sends the request and emits the text of a stream as it arrives.
    async fn exchange(
        &self,
        request: &ProviderRequest,
        deadline: Instant,
        on: Option<OnStreamEvent<'_>>,
    ) -> Result<MessagesResponse, ModelError> {
        let Some(on) = on else {
            let response = self.http.send(request, deadline).await?;
            return self.classify(response);
        };
        let mut stream = match self.http.open(request, deadline).await? {
            ResponseKind::Stream(stream) => stream,
            ResponseKind::Buffered(response) => {
                let messages_response = self.classify(response)?;
                if let MessagesResponse::Message(message) = &messages_response {
                    chat_json::emit_text(on, chat_json::content_text(message.get("content")));
                }
                return Ok(messages_response);
            }
        };
        let mut events = MessageAssembler::default();
        while let Some(data) = stream.next().await? {
            let event = serde_json::from_str(&data)
                .map_err(|_| stream.invalid_stream("an event of it is not JSON"))?;
            chat_json::emit_text(on, events.push_event(&event));
            if events.is_over() {
                break;
            }
        }
        if let Some(error) = events.error() {
            let kind = chat_json::string_field(error, "type").unwrap_or_default();
            let text =
                chat_json::string_field(error, "message").unwrap_or_else(|| error.to_string());
            return Err(self.http.api_error_with_message(
                if kind == "overloaded_error" { 529 } else { 500 },
                &text,
            ));
        }
        let message = events.into_message();
        message
            .map(MessagesResponse::Message)
            .ok_or_else(|| stream.invalid_stream("it has no end"))
    }

    fn classify(&self, response: ProviderResponse) -> Result<MessagesResponse, ModelError> {
        Ok(if response.is_success() {
            MessagesResponse::Message(self.http.json(&response)?)
        } else {
            MessagesResponse::Refusal(response)
        })
    }

    fn parse_message(&self, message: &Value) -> Result<ModelReply, ModelError> {
        if !message.get("content").is_some_and(Value::is_array) {
            return Err(self.http.invalid_response(
                "the response has no content; check the base URL".to_owned(),
                &message.to_string(),
            ));
        }
        let reasoning = chat_json::reasoning_text(message);
        Ok(ModelReply {
            text: chat_json::content_text(message.get("content")),
            reasoning_tokens: chat_json::reasoning_tokens(message.get("usage"), &reasoning),
            reasoning,
            finish_reason: chat_json::parse_finish_reason(message.get("stop_reason")),
            model: chat_json::string_field(message, "model"),
            usage: TokenPrices::apply(self.prices, chat_json::parse_usage(message.get("usage"))),
            calls: messages::parse_tool_calls(message),
            ..ModelReply::default()
        })
    }
}

/// Response of the messages endpoint.
enum MessagesResponse {
    Message(Value),
    /// A response with an error status.
    Refusal(ProviderResponse),
}

impl ChatModel for Anthropic {
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
        self.supports_tools.load(Ordering::Relaxed)
    }

    /// Pictures are parts of native results only.
    fn accepts_images(&self) -> bool {
        self.supports_tools()
    }

    fn rate_limited_for(&self) -> Option<std::time::Duration> {
        self.http.rate_limited_for()
    }

    fn check(&self, deadline: Instant) -> BoxFuture<'_, Result<(), ModelError>> {
        Box::pin(self.http.check("/v1/models", deadline))
    }
}
