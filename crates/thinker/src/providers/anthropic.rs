//! The messages format of Anthropic.

use std::sync::atomic::{AtomicBool, Ordering};

use futures::future::BoxFuture;
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    system_with_schema,
    wire::{self, Prices},
};
use crate::{
    Ask, Reply, ThinkError, Thinker,
    http::{Auth, Endpoint, Http, HttpSettings, RateHeaders, Request},
};

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
        })
    }

    async fn ask(&self, ask: &Ask, deadline: Instant) -> Result<Reply, ThinkError> {
        let mut body = json!({
            "model": self.model,
            "max_tokens": ask.max_tokens,
            "system": system_with_schema(&ask.system, &ask.schema),
            "messages": wire::messages(ask),
        });
        let with_temperature = self.takes_temperature.load(Ordering::Relaxed);
        if with_temperature && let Some(fields) = body.as_object_mut() {
            fields.insert("temperature".to_owned(), json!(ask.temperature));
        }
        let path = "/v1/messages";
        let mut answered = self
            .http
            .send(&Request::post(path, &body), deadline)
            .await?;
        if with_temperature && answered.status == 400 && answered.text().contains("temperature") {
            self.takes_temperature.store(false, Ordering::Relaxed);
            if let Some(fields) = body.as_object_mut() {
                fields.remove("temperature");
            }
            answered = self
                .http
                .send(&Request::post(path, &body), deadline)
                .await?;
        }
        self.read(&self.http.json(&answered)?)
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
            pipe: None,
            thread: None,
            usage: Prices::applied(self.prices, wire::usage(message.get("usage"))),
        })
    }
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
        Box::pin(self.ask(ask, deadline))
    }

    fn check(&self, deadline: Instant) -> BoxFuture<'_, Result<(), ThinkError>> {
        Box::pin(self.http.check("/v1/models", deadline))
    }
}
