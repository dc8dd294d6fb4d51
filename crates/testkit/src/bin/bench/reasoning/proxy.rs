//! A recording proxy in front of the model's endpoint. It adds a seed to every request, counts what
//! each task costs in each arm, and stores the answers.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context as _;
use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, State},
    http::{Method, StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
    routing::any,
};
use deliberate_testkit::without_fence_parts;
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinHandle};

use super::{
    response_cache::{EndpointResponse, ModelAnswerCache, derived_seed},
    usage::{ModelCost, text_of_response},
};

/// Longer than a small model on a busy machine needs for its longest answer.
const MAX_ANSWER_TIME: Duration = Duration::from_mins(30);

const CHAT_COMPLETIONS: &str = "chat/completions";

/// The endpoint behind the proxy.
#[derive(Debug, Clone)]
pub(crate) struct ModelEndpoint {
    /// The base URL, which ends before `/chat/completions`.
    pub(crate) url: String,
    pub(crate) api_key: Option<String>,
}

/// A running proxy. It ends when dropped.
#[derive(Debug)]
pub(crate) struct RecordingProxy {
    address: SocketAddr,
    state: Arc<ProxyState>,
    server: JoinHandle<()>,
}

#[derive(Debug)]
struct ProxyState {
    endpoint: ModelEndpoint,
    http: reqwest::Client,
    cache: ModelAnswerCache,
    seed: u64,
    scopes: Mutex<HashMap<String, ScopeRecord>>,
}

/// What was asked for one task in one arm.
#[derive(Debug, Default)]
struct ScopeRecord {
    cost: ModelCost,
    /// Texts that a limit cut and that no later request continued or asked for again.
    cut_texts: Vec<String>,
    /// How often each body was asked, so that a repeated question gets another answer.
    repetitions: HashMap<String, u32>,
    /// Why the endpoint could not be reached.
    failure: Option<String>,
}

/// How the server begins to ask for the rest of a cut answer, or for another one.
const ASKS_AGAIN: [&str; 2] = ["You were cut off", "Your last answer can't be used"];

impl ScopeRecord {
    /// Adds an exchange. A cut answer that the server asks to continue, or asks for again, was not the
    /// last word.
    fn add(&mut self, body: &Value, response: &EndpointResponse) {
        let cost = ModelCost::of_response(response);
        let messages = body["messages"].as_array();
        let last = messages.and_then(|messages| messages.last()?["content"].as_str());
        if last.is_some_and(|last| ASKS_AGAIN.iter().any(|start| last.starts_with(start))) {
            let shown: Vec<&str> = messages
                .into_iter()
                .flatten()
                .filter(|message| message["role"] == "assistant")
                .filter_map(|message| message["content"].as_str())
                .map(|text| text.trim_end_matches('…').trim())
                .collect();
            self.cut_texts.retain(|cut| {
                let cut = cut.trim();
                let is_shown = |shown: &&str| shown.ends_with(cut) || cut.starts_with(*shown);
                !cut.is_empty() && !shown.iter().any(is_shown)
            });
        }
        if cost.cut_answers > 0 {
            self.cut_texts.push(text_of_response(response));
        }
        self.cost += cost;
    }
}

impl RecordingProxy {
    pub(crate) async fn start(
        endpoint: ModelEndpoint,
        cache: ModelAnswerCache,
        seed: u64,
    ) -> anyhow::Result<Self> {
        // An error means that a provider is installed already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut http = reqwest::Client::builder().timeout(MAX_ANSWER_TIME);
        if ["://127.0.0.1", "://localhost", "://[::1]"]
            .iter()
            .any(|host| endpoint.url.contains(host))
        {
            http = http.no_proxy();
        }
        let state = Arc::new(ProxyState {
            endpoint,
            http: http.build()?,
            cache,
            seed,
            scopes: Mutex::default(),
        });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let routes = Router::new()
            .route("/{scope}/v1/{*path}", any(forward))
            .layer(DefaultBodyLimit::max(64 << 20))
            .with_state(Arc::clone(&state));
        let server = tokio::spawn(async move {
            // `serve` only ends when the task is aborted.
            let _ = axum::serve(listener, routes).await;
        });
        Ok(Self {
            address,
            state,
            server,
        })
    }

    /// Returns the base URL whose requests are counted for this scope.
    pub(crate) fn url(&self, scope: &str) -> String {
        format!("http://{}/{scope}/v1", self.address)
    }

    /// Returns what the scope cost; fails if the endpoint could not be reached.
    pub(crate) fn cost(&self, scope: &str) -> anyhow::Result<ModelCost> {
        let scopes = self
            .state
            .scopes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let Some(record) = scopes.get(scope) else {
            return Ok(ModelCost::default());
        };
        match &record.failure {
            Some(failure) => anyhow::bail!(
                "the model can't be reached: {failure}; the same command continues from here"
            ),
            None => Ok(ModelCost {
                cut_answers: record.cut_texts.len() as u64,
                ..record.cost
            }),
        }
    }

    /// Sends a chat request as the server does, for this scope.
    pub(crate) async fn complete(
        &self,
        scope: &str,
        body: &Value,
    ) -> anyhow::Result<(Value, ModelCost)> {
        let response = self.state.complete(scope, body.clone()).await?;
        let cost = ModelCost::of_response(&response);
        anyhow::ensure!(
            response.status == 200,
            "the model's endpoint answers {}: {}",
            response.status,
            response.body
        );
        let value =
            serde_json::from_str(&response.body).context("the endpoint's answer is not JSON")?;
        Ok((value, cost))
    }
}

impl Drop for RecordingProxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl ProxyState {
    async fn complete(&self, scope: &str, mut body: Value) -> anyhow::Result<EndpointResponse> {
        // The seed of a question must not depend on the random part of its prompt fence.
        let question = without_fence_parts(&body.to_string()).into_owned();
        let repetition = self.count_repetition(scope, &question);
        let parts = [
            self.seed.to_le_bytes().to_vec(),
            question.into_bytes(),
            repetition.to_le_bytes().to_vec(),
        ];
        let seed = derived_seed(&parts.each_ref().map(Vec::as_slice));
        if let Some(fields) = body.as_object_mut() {
            fields.insert("seed".to_owned(), seed.into());
        }
        let result = self
            .exchange(&Method::POST, CHAT_COMPLETIONS, body.to_string())
            .await;
        let mut scopes = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        let record = scopes.entry(scope.to_owned()).or_default();
        match &result {
            Ok(response) => record.add(&body, response),
            Err(error) => record.failure = Some(format!("{error:#}")),
        }
        result
    }

    fn count_repetition(&self, scope: &str, body: &str) -> u32 {
        let mut scopes = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        let record = scopes.entry(scope.to_owned()).or_default();
        let count = record.repetitions.entry(body.to_owned()).or_default();
        *count += 1;
        *count - 1
    }

    /// Takes an answer from the cache or from the endpoint. Only successes are stored.
    async fn exchange(
        &self,
        method: &Method,
        path: &str,
        body: String,
    ) -> anyhow::Result<EndpointResponse> {
        if let Some(response) = self.cache.get(path, &body) {
            return Ok(response);
        }
        let url = format!("{}/{path}", self.endpoint.url.trim_end_matches('/'));
        let mut request = self.http.request(method.clone(), url);
        if let Some(key) = &self.endpoint.api_key {
            request = request.bearer_auth(key);
        }
        if !body.is_empty() {
            request = request
                .header("content-type", "application/json")
                .body(body.clone());
        }
        let response = request.send().await?;
        let status = response.status().as_u16();
        let content_type = response
            .headers()
            .get("content-type")
            .and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or("application/json").to_owned();
        let response = EndpointResponse {
            status,
            content_type,
            body: response.text().await?,
        };
        if status == 200 {
            self.cache.put(path, &body, &response)?;
        }
        Ok(response)
    }
}

async fn forward(
    State(state): State<Arc<ProxyState>>,
    Path((scope, path)): Path<(String, String)>,
    method: Method,
    body: Bytes,
) -> Response {
    let result = match serde_json::from_slice::<Value>(&body) {
        Ok(body) if path == CHAT_COMPLETIONS => state.complete(&scope, body).await,
        _ => {
            let body = String::from_utf8_lossy(&body).into_owned();
            state.exchange(&method, &path, body).await
        }
    };
    match result {
        Ok(response) => {
            let status = StatusCode::from_u16(response.status).unwrap_or(StatusCode::BAD_GATEWAY);
            (
                status,
                [(CONTENT_TYPE, response.content_type)],
                response.body,
            )
                .into_response()
        }
        Err(error) => (StatusCode::BAD_GATEWAY, format!("{error:#}")).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use deliberate_testkit::MockProvider;
    use serde_json::json;

    use super::*;

    async fn proxy(provider: &MockProvider, directory: &std::path::Path) -> RecordingProxy {
        let endpoint = ModelEndpoint {
            url: provider.openai_url(),
            api_key: Some(deliberate_testkit::mock_provider::KEY.to_owned()),
        };
        let cache = ModelAnswerCache::open(directory, "mock").unwrap();
        RecordingProxy::start(endpoint, cache, 1).await.unwrap()
    }

    fn seeds(provider: &MockProvider) -> Vec<Value> {
        let requests = provider.model_requests();
        requests
            .iter()
            .map(|request| request.body["seed"].clone())
            .collect()
    }

    #[tokio::test]
    async fn a_repeated_question_gets_another_seed_and_a_repeated_run_the_stored_answers() {
        let provider = MockProvider::start().await.unwrap();
        let directory = tempfile::tempdir().unwrap();
        let body = json!({ "model": "m", "messages": [{ "role": "user", "content": "7 + 8?" }] });
        let mut answers = Vec::new();
        for _ in 0..2 {
            let proxy = proxy(&provider, directory.path()).await;
            for scope in ["direct.a", "direct.a", "vote.a"] {
                answers.push(proxy.complete(scope, &body).await.unwrap());
            }
            assert_eq!(proxy.cost("direct.a").unwrap().calls, 2);
            assert_eq!(proxy.cost("vote.a").unwrap().calls, 1);
            assert_eq!(proxy.cost("tree.a").unwrap().calls, 0);
        }
        // The first question of each scope has the same seed, so it was asked once.
        let seeds = seeds(&provider);
        assert_eq!(seeds.len(), 2, "{seeds:?}");
        assert_ne!(seeds[0], seeds[1]);
        assert_eq!(answers[..3], answers[3..]);
    }

    #[test]
    fn an_answer_that_is_continued_is_not_cut() {
        let response = |text: &str, reason: &str| EndpointResponse {
            status: 200,
            content_type: "application/json".to_owned(),
            body: json!({ "choices": [{
                "message": { "content": text }, "finish_reason": reason,
            }] })
            .to_string(),
        };
        let asked = |text: &str, question: &str| {
            json!({ "messages": [
                { "role": "assistant", "content": text },
                { "role": "user", "content": question },
            ] })
        };
        let more = "You were cut off. Go on exactly where you stopped, and repeat nothing.";
        let mut record = ScopeRecord::default();
        record.add(&json!({ "messages": [] }), &response("one two", "length"));
        record.add(&json!({ "messages": [] }), &response("a", "stop"));
        assert_eq!(record.cut_texts, ["one two"]);
        record.add(&asked("one two", more), &response("three", "length"));
        assert_eq!(record.cut_texts, ["three"]);
        let fields = "Now give only the fields that sum this up, as one JSON object.";
        record.add(&asked("one twothree", fields), &response("{}", "stop"));
        assert_eq!(record.cut_texts, ["three"], "the text itself stays cut");
        record.add(&asked("one twothree", more), &response("four", "stop"));
        assert!(record.cut_texts.is_empty());
        record.add(&json!({ "messages": [] }), &response("", "length"));
        let again = "Your last answer can't be used: it is empty.";
        record.add(
            &json!({ "messages": [{ "role": "user", "content": again }] }),
            &response("b", "stop"),
        );
        assert!(record.cut_texts.is_empty());
    }

    #[tokio::test]
    async fn an_endpoint_that_is_not_there_is_no_wrong_answer() {
        let directory = tempfile::tempdir().unwrap();
        let closed = TcpListener::bind(("127.0.0.1", 0))
            .await
            .unwrap()
            .local_addr()
            .unwrap();
        let endpoint = ModelEndpoint {
            url: format!("http://{closed}/v1"),
            api_key: None,
        };
        let cache = ModelAnswerCache::open(directory.path(), "none").unwrap();
        let proxy = RecordingProxy::start(endpoint, cache, 1).await.unwrap();
        assert!(proxy.complete("direct.a", &json!({})).await.is_err());
        let error = proxy.cost("direct.a").unwrap_err().to_string();
        assert!(error.contains("can't be reached"), "{error}");
    }
}
