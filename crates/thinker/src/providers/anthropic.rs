//! The messages format of Anthropic.

use std::{
    borrow::Cow,
    sync::atomic::{AtomicBool, Ordering},
};

use futures::future::BoxFuture;
use secrecy::SecretString;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{
    blocks::{self, Events},
    plain,
    refusal::Refusal,
    system_with_functions, system_with_schema,
    wire::{self, Prices},
};
use crate::{
    Ask, Listening, Reply, ThinkError, Thinker,
    http::{Answered, Auth, Endpoint, Http, HttpSettings, Opened, RateHeaders, Request},
};

/// The most steps down there are: the temperature; the functions, and one ask put in words.
const MAX_STEPS: usize = 3;

const RATE_HEADERS: RateHeaders = RateHeaders {
    remaining: "anthropic-ratelimit-requests-remaining",
    reset: "anthropic-ratelimit-requests-reset",
};

/// How Anthropic is reached.
#[derive(Debug, Clone)]
pub struct AnthropicSettings {
    /// The key.
    pub api_key: SecretString,
    /// Up to and without `/v1/messages`.
    pub base_url: String,
    /// The model.
    pub model: String,
    /// Time limits, retries, pace.
    pub http: HttpSettings,
    /// What it costs.
    pub prices: Option<Prices>,
}

impl AnthropicSettings {
    /// The usual settings, with this key.
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

/// Thinks with Anthropic.
pub struct Anthropic {
    http: Http,
    model: String,
    prices: Option<Prices>,
    /// Whether the model takes a temperature; some refuse it, which is remembered.
    takes_temperature: AtomicBool,
    /// Whether functions are taken as such; what only speaks the format may not.
    takes_functions: AtomicBool,
}

impl Anthropic {
    /// Checks the settings; nothing is sent yet.
    pub fn new(settings: AnthropicSettings) -> Result<Self, ThinkError> {
        let http = Http::new(Endpoint {
            provider: "anthropic".to_owned(),
            base_url: settings.base_url,
            auth: Auth::Header("x-api-key", settings.api_key),
            headers: &[("anthropic-version", "2023-06-01")],
            rate_headers: RATE_HEADERS,
            settings: settings.http,
        })?;
        Ok(Self {
            http,
            model: settings.model,
            prices: settings.prices,
            takes_temperature: AtomicBool::new(true),
            takes_functions: AtomicBool::new(true),
        })
    }

    async fn ask(
        &self,
        ask: &Ask,
        deadline: Instant,
        on: Option<Listening<'_>>,
    ) -> Result<Reply, ThinkError> {
        let mut in_words = false;
        for _ in 0..=MAX_STEPS {
            let native = !in_words && !ask.functions.is_empty() && self.calls_functions();
            let told = if native {
                Cow::Borrowed(ask)
            } else {
                plain(ask)
            };
            let described = matches!(told, Cow::Owned(_));
            // Calls that stand in a text are nothing to read while they are written.
            let on = on.filter(|_| !described);
            let with_temperature = self.takes_temperature.load(Ordering::Relaxed);
            let body = self.body(&told, native, with_temperature, on.is_some());
            let request = Request::post("/v1/messages", &body);
            let refused = match self.exchange(&request, deadline, on).await? {
                Came::Message(message) => {
                    let reply = self.read(&message)?;
                    return Ok(Reply { described, ..reply });
                }
                Came::Refusal(refused) => refused,
            };
            let text = refused.text();
            if with_temperature && refused.status == 400 && text.contains("temperature") {
                self.takes_temperature.store(false, Ordering::Relaxed);
                continue;
            }
            match Refusal::of_functions(refused.status, &text, ask).filter(|_| native) {
                Some(Refusal::Always) => self.takes_functions.store(false, Ordering::Relaxed),
                Some(Refusal::Once) => in_words = true,
                None => return Err(self.http.api_error(&refused)),
            }
        }
        Err(self
            .http
            .api_error_saying(400, "it refuses the request in every form"))
    }

    fn body(&self, ask: &Ask, native: bool, with_temperature: bool, streaming: bool) -> Value {
        let (system, messages) = if native {
            (system_with_functions(ask), blocks::conversation(ask))
        } else {
            let system = system_with_schema(&ask.system, &ask.schema);
            (system, wire::messages(ask))
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
            body.insert("tools".to_owned(), blocks::tools(ask));
            body.insert("tool_choice".to_owned(), json!({ "type": choice }));
        }
        if streaming {
            body.insert("stream".to_owned(), json!(true));
        }
        Value::Object(body)
    }

    /// Sends the request, and hands on the text of a stream as it comes.
    async fn exchange(
        &self,
        request: &Request,
        deadline: Instant,
        on: Option<Listening<'_>>,
    ) -> Result<Came, ThinkError> {
        let Some(on) = on else {
            let answered = self.http.send(request, deadline).await?;
            return self.came(answered);
        };
        let mut stream = match self.http.open(request, deadline).await? {
            Opened::Stream(stream) => stream,
            Opened::Whole(answered) => {
                let came = self.came(answered)?;
                if let Came::Message(message) = &came {
                    wire::tell(on, wire::content(message.get("content")));
                }
                return Ok(came);
            }
        };
        let mut events = Events::default();
        while let Some(data) = stream.next().await? {
            let event = serde_json::from_str(&data)
                .map_err(|_| stream.broken("an event of it is not JSON"))?;
            wire::tell(on, events.take(&event));
            if events.is_over() {
                break;
            }
        }
        if let Some(error) = events.error() {
            let kind = wire::text(error, "type").unwrap_or_default();
            let said = wire::text(error, "message").unwrap_or_else(|| error.to_string());
            return Err(self
                .http
                .api_error_saying(if kind == "overloaded_error" { 529 } else { 500 }, &said));
        }
        let message = events.whole();
        message
            .map(Came::Message)
            .ok_or_else(|| stream.broken("it has no end"))
    }

    fn came(&self, answered: Answered) -> Result<Came, ThinkError> {
        Ok(if answered.is_success() {
            Came::Message(self.http.json(&answered)?)
        } else {
            Came::Refusal(answered)
        })
    }

    fn read(&self, message: &Value) -> Result<Reply, ThinkError> {
        if !message.get("content").is_some_and(Value::is_array) {
            return Err(self.http.unusable(
                "the response has no content; check the base URL".to_owned(),
                &message.to_string(),
            ));
        }
        Ok(Reply {
            text: wire::content(message.get("content")),
            finish: wire::finish(message.get("stop_reason")),
            model: wire::text(message, "model"),
            usage: Prices::applied(self.prices, wire::usage(message.get("usage"))),
            calls: blocks::calls(message),
            ..Reply::default()
        })
    }
}

/// What was answered.
enum Came {
    /// A message.
    Message(Value),
    /// A status that is none of success.
    Refusal(Answered),
}

impl Thinker for Anthropic {
    fn name(&self) -> &str {
        self.http.provider()
    }

    fn think<'a>(
        &'a self,
        ask: &'a Ask,
        deadline: Instant,
    ) -> BoxFuture<'a, Result<Reply, ThinkError>> {
        Box::pin(self.ask(ask, deadline, None))
    }

    fn think_streaming<'a>(
        &'a self,
        ask: &'a Ask,
        deadline: Instant,
        on: Listening<'a>,
    ) -> BoxFuture<'a, Result<Reply, ThinkError>> {
        Box::pin(self.ask(ask, deadline, Some(on)))
    }

    fn calls_functions(&self) -> bool {
        self.takes_functions.load(Ordering::Relaxed)
    }

    fn check(&self, deadline: Instant) -> BoxFuture<'_, Result<(), ThinkError>> {
        Box::pin(self.http.check("/v1/models", deadline))
    }
}
