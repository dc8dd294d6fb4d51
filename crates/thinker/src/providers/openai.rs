//! Chat completions, the format of `OpenAI` and of most others: local servers, routers, vendors.

use std::{
    borrow::Cow,
    sync::{Mutex, PoisonError},
};

use futures::future::BoxFuture;
use secrecy::SecretString;
use serde_json::{Map, Value, json};
use tokio::{sync::OnceCell, time::Instant};

use super::{
    chat::{self, Pieces},
    dialect::{Dialect, Shape, Strings},
    plain,
    refusal::Refusal,
    wire::{self, Prices},
};
use crate::{
    Ask, Finish, JsonMode, Listening, Reply, ThinkError, Thinker, TokenLimit,
    discover::first_model,
    http::{
        Answered, Auth, Endpoint, Http, HttpSettings, Opened, RateHeaders, Request,
        is_on_this_machine,
    },
    vendors::Vendor,
};

const RATE_HEADERS: RateHeaders = RateHeaders {
    remaining: "x-ratelimit-remaining-requests",
    reset: "x-ratelimit-reset-requests",
};

/// How an endpoint of the `OpenAI` kind is reached.
#[derive(Debug, Clone)]
pub struct OpenAiSettings {
    /// The name for logs and records: the vendor's, or `openai-compatible`.
    pub name: String,
    /// Up to and without `/chat/completions`.
    pub base_url: String,
    /// The key; without one no `Authorization` is sent.
    pub api_key: Option<SecretString>,
    /// The model; without one the endpoint's first is taken.
    pub model: Option<String>,
    /// How it is told to write JSON, to begin with.
    pub json: JsonMode,
    /// Under which name it takes the limit of tokens, to begin with.
    pub max_tokens: TokenLimit,
    /// Time limits, retries, pace.
    pub http: HttpSettings,
    /// What it costs, if the endpoint does not say.
    pub prices: Option<Prices>,
}

impl OpenAiSettings {
    /// The settings of a known vendor.
    pub fn of(vendor: &Vendor, api_key: Option<SecretString>) -> Self {
        Self {
            name: vendor.name.clone(),
            base_url: vendor.base_url.clone(),
            api_key,
            model: vendor.default_model.clone(),
            json: vendor.json,
            max_tokens: vendor.max_tokens,
            http: HttpSettings::default(),
            prices: None,
        }
    }

    /// The settings of an endpoint of which only the URL is known.
    pub fn at(base_url: impl Into<String>) -> Self {
        Self {
            name: "openai-compatible".to_owned(),
            base_url: base_url.into(),
            api_key: None,
            model: None,
            json: JsonMode::default(),
            max_tokens: TokenLimit::default(),
            http: HttpSettings::default(),
            prices: None,
        }
    }
}

/// Thinks with an endpoint of the `OpenAI` kind.
pub struct OpenAi {
    http: Http,
    configured_model: Option<String>,
    found_model: OnceCell<String>,
    dialect: Mutex<Dialect>,
    prices: Option<Prices>,
}

impl OpenAi {
    /// Checks the settings; nothing is sent yet.
    pub fn new(settings: OpenAiSettings) -> Result<Self, ThinkError> {
        let strings = if is_on_this_machine(&settings.base_url) {
            Strings::EndInTime
        } else {
            Strings::AsAsked
        };
        let http = Http::new(Endpoint {
            provider: settings.name,
            base_url: settings.base_url,
            auth: settings.api_key.map_or(Auth::None, Auth::Bearer),
            headers: &[],
            rate_headers: RATE_HEADERS,
            settings: settings.http,
        })?;
        Ok(Self {
            http,
            configured_model: settings.model,
            found_model: OnceCell::new(),
            dialect: Mutex::new(Dialect::full(settings.json, settings.max_tokens, strings)),
            prices: settings.prices,
        })
    }

    async fn ask(
        &self,
        ask: &Ask,
        deadline: Instant,
        on: Option<Listening<'_>>,
    ) -> Result<Reply, ThinkError> {
        let model = self.model(deadline).await?;
        let mut in_words = false;
        for _ in 0..=Dialect::MAX_STEPS {
            let dialect = *self.dialect();
            let native = !in_words && dialect.takes_functions(ask);
            let told = if native {
                Cow::Borrowed(ask)
            } else {
                plain(ask)
            };
            let described = matches!(told, Cow::Owned(_));
            // Calls that stand in a text are nothing to read while they are written.
            let on = on.filter(|_| !described);
            let shape = Shape {
                native,
                streaming: on.is_some(),
            };
            let request = request(model, &told, shape, dialect);
            let refused = match self.exchange(&request, deadline, on).await? {
                Came::Completion(completion) => {
                    let reply = self.read(&completion)?;
                    return Ok(Reply { described, ..reply });
                }
                Came::Refusal(refused) => refused,
            };
            let text = refused.text();
            if let Some(simpler) = dialect.simpler(refused.status, &text, shape) {
                self.learn(dialect, simpler);
                continue;
            }
            match Refusal::of_functions(refused.status, &text, ask).filter(|_| native) {
                Some(Refusal::Always) => self.learn(
                    dialect,
                    Dialect {
                        functions: false,
                        ..dialect
                    },
                ),
                Some(Refusal::Once) => in_words = true,
                None => return Err(self.http.api_error(&refused)),
            }
        }
        Err(self
            .http
            .api_error_saying(400, "it refuses the request in every form"))
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
                if let Came::Completion(completion) = &came {
                    let content = completion.pointer("/choices/0/message/content");
                    wire::tell(on, wire::content(content));
                }
                return Ok(came);
            }
        };
        let mut pieces = Pieces::default();
        while let Some(data) = stream.next().await? {
            if data.trim() == "[DONE]" {
                pieces.end();
                break;
            }
            let chunk = serde_json::from_str(&data)
                .map_err(|_| stream.broken("an event of it is not JSON"))?;
            wire::tell(on, pieces.take(&chunk));
            if pieces.has_failed() {
                break;
            }
        }
        let completion = pieces.whole();
        completion
            .map(Came::Completion)
            .ok_or_else(|| stream.broken("it has no end"))
    }

    fn came(&self, answered: Answered) -> Result<Came, ThinkError> {
        Ok(if answered.is_success() {
            Came::Completion(self.http.json(&answered)?)
        } else {
            Came::Refusal(answered)
        })
    }

    /// From now on requests have a simpler form.
    fn learn(&self, dialect: Dialect, simpler: Dialect) {
        tracing::debug!(
            provider = self.name(),
            ?simpler,
            "the endpoint takes a simpler form"
        );
        let mut known = self.dialect();
        // Another call may have learned something else meanwhile.
        if *known == dialect {
            *known = simpler;
        }
    }

    fn dialect(&self) -> std::sync::MutexGuard<'_, Dialect> {
        self.dialect.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn model(&self, deadline: Instant) -> Result<&str, ThinkError> {
        if let Some(model) = &self.configured_model {
            return Ok(model);
        }
        let model = self
            .found_model
            .get_or_try_init(|| async {
                let answered = self.http.send(&Request::get("/models"), deadline).await?;
                let listed = self.http.json(&answered)?;
                first_model(&listed).ok_or_else(|| ThinkError::Misconfigured {
                    provider: self.name().to_owned(),
                    reason: "no model is set, and the endpoint offers none".to_owned(),
                })
            })
            .await?;
        Ok(model)
    }

    fn read(&self, completion: &Value) -> Result<Reply, ThinkError> {
        // Routers put errors of the model's host into a success.
        if let Some(error) = completion.get("error").filter(|error| !error.is_null()) {
            let status = error.get("code").and_then(Value::as_u64);
            return Err(self.http.api_error_saying(
                status
                    .and_then(|status| u16::try_from(status).ok())
                    .unwrap_or(200),
                &wire::text(error, "message").unwrap_or_else(|| error.to_string()),
            ));
        }
        let Some(choice) = completion.pointer("/choices/0") else {
            return Err(self.http.unusable(
                "the response has no choices; check the base URL".to_owned(),
                &completion.to_string(),
            ));
        };
        let message = choice.get("message");
        let refusal = message
            .and_then(|message| wire::text(message, "refusal"))
            .filter(|refusal| !refusal.is_empty());
        let (text, finish) = match refusal {
            Some(refusal) => (refusal, Finish::Refusal),
            None => (
                wire::content(message.and_then(|message| message.get("content"))),
                wire::finish(choice.get("finish_reason")),
            ),
        };
        Ok(Reply {
            text,
            finish,
            model: wire::text(completion, "model"),
            usage: Prices::applied(self.prices, wire::usage(completion.get("usage"))),
            calls: chat::calls(message),
            ..Reply::default()
        })
    }
}

/// What an endpoint answered.
enum Came {
    /// A completion, though perhaps with an error in it.
    Completion(Value),
    /// A status that is none of success.
    Refusal(Answered),
}

fn request(model: &str, ask: &Ask, shape: Shape, dialect: Dialect) -> Request {
    let messages = if shape.native {
        chat::conversation(ask)
    } else {
        wire::messages_with_system(ask)
    };
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    body.insert("messages".to_owned(), json!(messages));
    body.insert("stream".to_owned(), json!(shape.streaming));
    dialect.put(ask, shape, &mut body);
    let request = Request::post("/chat/completions", &Value::Object(body));
    if shape.native {
        request.refused_by(Refusal::hides_in_failure)
    } else {
        request
    }
}

impl Thinker for OpenAi {
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
        self.dialect().functions
    }

    fn check(&self, deadline: Instant) -> BoxFuture<'_, Result<(), ThinkError>> {
        Box::pin(self.http.check("/models", deadline))
    }
}
