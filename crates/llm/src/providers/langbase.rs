//! Langbase pipes: one for each purpose, created when it is first missing.
//!
//! A pipe created here is private and stores nothing, so it contains no prompt either: the system
//! prompt is sent with each run. An existing pipe is never changed.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::future::BoxFuture;
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    chat_json::{self, TokenPrices},
    chat_tool_calls,
    table::{ProviderModel, ProviderOptions},
    tool_support::ToolSupportError,
    without_native_tools,
};
use crate::{
    ChatModel, ModelError, ModelReply, ModelRequest,
    http::{
        HttpSettings, ProviderAuth, ProviderClient, ProviderEndpoint, ProviderRequest,
        ProviderResponse, RateHeaders,
    },
};

const RATE_HEADERS: RateHeaders = RateHeaders {
    remaining: "lb-ratelimit-remaining",
    reset: "lb-ratelimit-reset",
};

/// Pipes with documented names; all others are called `deliberate-{purpose}-v1`.
const PIPES: &[(&str, &str)] = &[
    ("linear", "linear-reasoning-v1"),
    ("tree", "tree-reasoning-v1"),
    ("divergent", "divergent-reasoning-v1"),
    ("reflection", "reflection-v1"),
    ("auto", "mode-router-v1"),
    ("backtracking", "backtracking-reasoning-v1"),
    ("got_generate", "got-generate-v1"),
    ("got_score", "got-score-v1"),
    ("got_aggregate", "got-aggregate-v1"),
    ("got_refine", "got-refine-v1"),
];

/// Settings of the Langbase provider.
#[derive(Debug, Clone)]
pub struct LangbaseSettings {
    /// API key of the user or organization.
    pub api_key: SecretString,
    /// Base URL, without `/v1/pipes`.
    pub base_url: String,
    /// Pipes by purpose, where they differ from the default names.
    pub pipes: BTreeMap<String, String>,
    /// Model of the pipes that are created.
    pub model: String,
    /// Temperature of the pipes that are created; by default that of the first request.
    pub temperature: Option<f64>,
    /// Token limit of the pipes that are created; by default that of the first request.
    pub max_tokens: Option<u32>,
    /// Timeouts, retries and rate limits.
    pub http: HttpSettings,
    /// Token prices, for the cost in the invocation log.
    pub prices: Option<TokenPrices>,
}

impl LangbaseSettings {
    /// Returns the default settings with this key.
    pub fn new(api_key: SecretString) -> Self {
        Self {
            api_key,
            base_url: "https://api.langbase.com".to_owned(),
            pipes: BTreeMap::new(),
            model: "openai:gpt-4o-mini".to_owned(),
            temperature: None,
            max_tokens: None,
            http: HttpSettings::default(),
            prices: None,
        }
    }
}

/// Builds the Langbase entry of the table of providers.
pub(super) fn build(
    api_key: SecretString,
    options: ProviderOptions,
) -> Result<ProviderModel, ModelError> {
    let defaults = LangbaseSettings::new(api_key);
    let base_url = options.base_url.unwrap_or(defaults.base_url);
    let model = Langbase::new(LangbaseSettings {
        base_url: base_url.clone(),
        pipes: options.pipes,
        model: options.model.unwrap_or(defaults.model),
        temperature: options.temperature,
        max_tokens: options.max_tokens,
        http: options.http,
        prices: options.prices,
        api_key: defaults.api_key,
    })?;
    Ok(ProviderModel {
        model: Arc::new(model),
        base_url,
    })
}

/// Whether this process has created (or found) a pipe; locked while it is being created.
type PipeState = Arc<tokio::sync::Mutex<bool>>;

/// Chat model at Langbase.
pub struct Langbase {
    http: ProviderClient,
    pipes: BTreeMap<String, String>,
    model: String,
    temperature: Option<f64>,
    max_tokens: Option<u32>,
    prices: Option<TokenPrices>,
    pipe_states: Mutex<HashMap<String, PipeState>>,
    /// Whether runs accept tools natively. Cleared after the first refusal.
    supports_tools: AtomicBool,
}

impl Langbase {
    /// Checks the settings and builds the client. Sends nothing.
    pub fn new(settings: LangbaseSettings) -> Result<Self, ModelError> {
        let http = ProviderClient::new(ProviderEndpoint {
            provider: "langbase".to_owned(),
            base_url: settings.base_url,
            auth: ProviderAuth::Bearer(settings.api_key),
            headers: &[],
            rate_headers: RATE_HEADERS,
            settings: settings.http,
        })?;
        Ok(Self {
            http,
            pipes: settings.pipes,
            model: settings.model,
            temperature: settings.temperature,
            max_tokens: settings.max_tokens,
            prices: settings.prices,
            pipe_states: Mutex::default(),
            supports_tools: AtomicBool::new(true),
        })
    }

    /// Returns the pipe of a request. Requests with tools use a separate pipe, because it does not
    /// answer in JSON only.
    fn pipe_name(&self, ask: &ModelRequest) -> String {
        let mut purpose = Cow::Borrowed(ask.purpose.as_str());
        if !ask.functions.is_empty() {
            purpose = Cow::Owned(format!("{purpose}-acting"));
        }
        if let Some(name) = self.pipes.get(purpose.as_ref()) {
            return name.clone();
        }
        PIPES
            .iter()
            .find(|(known, _)| *known == purpose)
            .map_or_else(
                || format!("deliberate-{purpose}-v1"),
                |(_, name)| (*name).to_owned(),
            )
    }

    async fn send_request(
        &self,
        ask: &ModelRequest,
        deadline: Instant,
    ) -> Result<ModelReply, ModelError> {
        // A run has no option to forbid calls.
        let native = !ask.functions.is_empty() && !ask.answer_now && self.supports_tools();
        if native {
            let (pipe, response) = self.run_pipe(ask, deadline).await?;
            let refused = ToolSupportError::classify(response.status, &response.text(), ask);
            match refused {
                None => return self.parse_reply(&response, pipe),
                Some(ToolSupportError::Unsupported) => {
                    self.supports_tools.store(false, Ordering::Relaxed);
                }
                Some(ToolSupportError::ThisRequest) => {}
            }
        }
        let request = without_native_tools(ask);
        let described = matches!(request, Cow::Owned(_));
        let (pipe, response) = self.run_pipe(&request, deadline).await?;
        let reply = self.parse_reply(&response, pipe)?;
        Ok(ModelReply {
            tools_in_prompt: described,
            ..reply
        })
    }

    /// Runs the pipe of a request and creates the pipe if it is missing.
    async fn run_pipe(
        &self,
        ask: &ModelRequest,
        deadline: Instant,
    ) -> Result<(String, ProviderResponse), ModelError> {
        let pipe = self.pipe_name(ask);
        let request = run_request(&pipe, ask);
        let mut response = self.http.send(&request, deadline).await?;
        if response.status == 404 {
            self.create_pipe(&pipe, ask, deadline).await?;
            response = self.http.send(&request, deadline).await?;
        }
        // Langbase deletes threads after some time. The conversation continues in a new one, since
        // the request contains its whole content.
        if response.status == 404 && ask.thread.is_some() {
            let mut fresh = ask.clone();
            fresh.thread = None;
            let request = run_request(&pipe, &fresh);
            response = self.http.send(&request, deadline).await?;
        }
        Ok((pipe, response))
    }

    /// Creates a pipe, once per process: concurrent callers wait for the first.
    async fn create_pipe(
        &self,
        pipe: &str,
        ask: &ModelRequest,
        deadline: Instant,
    ) -> Result<(), ModelError> {
        let made = {
            let mut all = self
                .pipe_states
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(pipe.to_owned()).or_default())
        };
        let mut made = made.lock().await;
        if *made {
            return Ok(());
        }
        let body = json!({
            "name": pipe,
            "description": format!("Created by Deliberate for requests with the purpose {}", ask.purpose.as_str()),
            "model": self.model,
            // A pipe of this name may be the user's own, so it is never overwritten.
            "upsert": false,
            // Langbase's defaults are "public" and "store everything".
            "status": "private",
            "store": false,
            "stream": false,
            "json": ask.functions.is_empty() && !ask.schema.is_null(),
            "temperature": self.temperature.unwrap_or(ask.temperature),
            "max_tokens": self.max_tokens.unwrap_or(ask.max_tokens),
        });
        let response = self
            .http
            .send(&ProviderRequest::post("/v1/pipes", &body), deadline)
            .await?;
        // 409: another process has just created it.
        if !response.is_success() && response.status != 409 {
            return Err(self.http.api_error(&response));
        }
        tracing::info!(pipe, "created the pipe {pipe}");
        *made = true;
        Ok(())
    }

    /// Returns a note for each existing pipe of ours that is public or stores what is sent.
    async fn pipe_notes(&self, deadline: Instant) -> Result<Vec<String>, ModelError> {
        let request = ProviderRequest::get("/v1/pipes");
        let listed = self.http.json(&self.http.send(&request, deadline).await?)?;
        let pipes = listed.as_array().into_iter().flatten();
        Ok(pipes.filter_map(|pipe| self.pipe_note(pipe)).collect())
    }

    fn pipe_note(&self, pipe: &Value) -> Option<String> {
        let name = pipe.get("name").and_then(Value::as_str)?;
        if !self.uses_pipe(name) {
            return None;
        }
        let public = pipe.get("status").and_then(Value::as_str) == Some("public");
        let stores = pipe.get("store") == Some(&Value::Bool(true));
        let (what, step) = match (public, stores) {
            (true, true) => (
                "is public and stores what is sent",
                "make it private and turn storing off",
            ),
            (true, false) => ("is public: anyone can run and read it", "make it private"),
            (false, true) => ("stores what is sent", "turn storing off"),
            (false, false) => return None,
        };
        Some(format!(
            "the pipe {name} {what}; {step} in its settings at Langbase"
        ))
    }

    /// Tells whether requests may run this pipe. Pipes that are created for other purposes are
    /// recognized by their names.
    fn uses_pipe(&self, name: &str) -> bool {
        let is_default =
            |(purpose, known): &(&str, &str)| *known == name && !self.pipes.contains_key(*purpose);
        self.pipes.values().any(|pipe| pipe == name)
            || PIPES.iter().any(is_default)
            || (name.starts_with("deliberate-") && name.ends_with("-v1"))
    }

    fn parse_reply(
        &self,
        provider_response: &ProviderResponse,
        pipe: String,
    ) -> Result<ModelReply, ModelError> {
        let body = self.http.json(provider_response)?;
        if body.get("success") == Some(&Value::Bool(false)) {
            return Err(self.body_error(provider_response.status, &body));
        }
        // The documented response nests the model's completion; the SDK's is flat.
        let raw = body
            .get("raw")
            .filter(|raw| raw.is_object())
            .unwrap_or(&body);
        let choice = raw.pointer("/choices/0");
        let text = match body.get("completion") {
            Some(Value::Null) | None => choice
                .and_then(|choice| choice.pointer("/message/content"))
                .map(|content| chat_json::content_text(Some(content))),
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => Some(other.to_string()),
        };
        let calls =
            chat_tool_calls::parse_tool_calls(choice.and_then(|choice| choice.get("message")));
        let text = text.or_else(|| (!calls.is_empty()).then(String::new));
        let Some(text) = text else {
            if body.get("error").is_some() {
                return Err(self.body_error(provider_response.status, &body));
            }
            return Err(self.http.invalid_response(
                "the response has no completion; check the base URL".to_owned(),
                &body.to_string(),
            ));
        };
        let thread = provider_response
            .headers
            .get("lb-thread-id")
            .and_then(|id| id.to_str().ok())
            .map(str::to_owned);
        let reason = choice.and_then(|choice| choice.get("finish_reason"));
        let usage = raw.get("usage").or_else(|| body.get("usage"));
        let message = choice.and_then(|choice| choice.get("message"));
        let reasoning = message.map(chat_json::reasoning_text).unwrap_or_default();
        Ok(ModelReply {
            text,
            reasoning_tokens: chat_json::reasoning_tokens(usage, &reasoning),
            reasoning,
            finish_reason: chat_json::parse_finish_reason(
                reason.or_else(|| body.get("finish_reason")),
            ),
            model: chat_json::string_field(raw, "model")
                .or_else(|| chat_json::string_field(&body, "model")),
            pipe: Some(pipe),
            thread: thread.or_else(|| chat_json::string_field(&body, "threadId")),
            usage: TokenPrices::apply(self.prices, chat_json::parse_usage(usage)),
            calls,
            tools_in_prompt: false,
        })
    }

    /// Converts an error inside a response with a success status.
    fn body_error(&self, status: u16, body: &Value) -> ModelError {
        let error = body.get("error").unwrap_or(body);
        let status = error
            .get("status")
            .and_then(Value::as_u64)
            .and_then(|status| u16::try_from(status).ok())
            .unwrap_or(status);
        let message = chat_json::string_field(error, "message")
            .or_else(|| error.as_str().map(str::to_owned))
            .unwrap_or_else(|| "it failed without a reason".to_owned());
        self.http.api_error_with_message(status, &message)
    }
}

fn run_request(pipe: &str, ask: &ModelRequest) -> ProviderRequest {
    let request = ProviderRequest::post("/v1/pipes/run", &run_body(pipe, ask));
    if ask.functions.is_empty() {
        request
    } else {
        request.with_refusal_check(ToolSupportError::is_hidden_refusal)
    }
}

fn run_body(pipe: &str, ask: &ModelRequest) -> Value {
    let native = !ask.functions.is_empty();
    let messages = if native {
        chat_tool_calls::messages_json(ask)
    } else {
        chat_json::messages_with_system(ask)
    };
    let mut body = json!({ "name": pipe, "messages": messages, "stream": false });
    let Some(fields) = body.as_object_mut() else {
        return body;
    };
    if native {
        fields.insert("tools".to_owned(), chat_tool_calls::tools_json(ask));
    }
    if !ask.variables.is_empty() {
        let variables = ask
            .variables
            .iter()
            .map(|(name, value)| json!({"name": name, "value": value}))
            .collect();
        fields.insert("variables".to_owned(), Value::Array(variables));
    }
    if let Some(thread) = &ask.thread {
        fields.insert("threadId".to_owned(), json!(thread));
    }
    body
}

impl ChatModel for Langbase {
    fn name(&self) -> &str {
        self.http.provider()
    }

    fn complete<'a>(
        &'a self,
        ask: &'a ModelRequest,
        deadline: Instant,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(self.send_request(ask, deadline))
    }

    fn supports_tools(&self) -> bool {
        self.supports_tools.load(Ordering::Relaxed)
    }

    fn has_stored_prompts(&self) -> bool {
        true
    }

    fn rate_limited_for(&self) -> Option<std::time::Duration> {
        self.http.rate_limited_for()
    }

    fn check(&self, deadline: Instant) -> BoxFuture<'_, Result<(), ModelError>> {
        Box::pin(self.http.check("/v1/pipes", deadline))
    }

    fn privacy_notes(&self, deadline: Instant) -> BoxFuture<'_, Result<Vec<String>, ModelError>> {
        Box::pin(self.pipe_notes(deadline))
    }
}
