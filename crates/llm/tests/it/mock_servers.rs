//! Providers against a mock server.

use std::time::Duration;

use deliberate_llm::{
    Anthropic, AnthropicSettings, ChatModel, HttpSettings, Langbase, LangbaseSettings, ModelError,
    OpenAi, OpenAiSettings, TokenPrices,
};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::method};

pub(crate) const KEY: &str = "sk-very-secret-0123456789";

/// The protocols under test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ProviderKind {
    Langbase,
    OpenAi,
    Anthropic,
}

pub(crate) const PROVIDER_KINDS: [ProviderKind; 3] = [
    ProviderKind::Langbase,
    ProviderKind::OpenAi,
    ProviderKind::Anthropic,
];

/// Returns settings with fast retries, which keep the tests fast.
pub(crate) fn fast_retries() -> HttpSettings {
    HttpSettings {
        request_timeout: Duration::from_secs(20),
        max_retries: 2,
        retry_delay: Duration::from_millis(5),
        ..HttpSettings::default()
    }
}

impl ProviderKind {
    pub(crate) fn try_build(
        self,
        base: &str,
        http: HttpSettings,
    ) -> Result<Box<dyn ChatModel>, ModelError> {
        let base_url = base.to_owned();
        let prices = Some(TokenPrices {
            input_per_mtok: 1.0,
            output_per_mtok: 2.0,
        });
        Ok(match self {
            Self::Langbase => Box::new(Langbase::new(LangbaseSettings {
                base_url,
                http,
                prices,
                ..LangbaseSettings::new(KEY.into())
            })?),
            Self::OpenAi => Box::new(OpenAi::new(OpenAiSettings {
                api_key: Some(KEY.into()),
                model: Some("test-model".to_owned()),
                http,
                prices,
                ..OpenAiSettings::for_url(base_url)
            })?),
            Self::Anthropic => Box::new(Anthropic::new(AnthropicSettings {
                base_url,
                http,
                prices,
                ..AnthropicSettings::new(KEY.into())
            })?),
        })
    }

    pub(crate) fn build(self, base: &str, http: HttpSettings) -> Box<dyn ChatModel> {
        self.try_build(base, http).unwrap()
    }

    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Langbase => "/v1/pipes/run",
            Self::OpenAi => "/chat/completions",
            Self::Anthropic => "/v1/messages",
        }
    }

    /// Returns a completion that ended for `reason` (`stop` or `length`).
    pub(crate) fn body(self, text: &str, reason: &str) -> Value {
        let chat = json!({
            "model": "m-1",
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": reason}],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 500},
        });
        match self {
            Self::Langbase => json!({"success": true, "completion": text, "raw": chat}),
            Self::OpenAi => chat,
            Self::Anthropic => json!({
                "model": "m-1",
                "content": [{"type": "text", "text": text}],
                "stop_reason": if reason == "length" { "max_tokens" } else { "end_turn" },
                "usage": {"input_tokens": 1000, "output_tokens": 500},
            }),
        }
    }

    pub(crate) fn text_response(self, text: &str) -> ResponseTemplate {
        ResponseTemplate::new(200).set_body_json(self.body(text, "stop"))
    }
}

/// Starts a server that gives these responses in order and then repeats the last.
pub(crate) async fn server(answers: Vec<ResponseTemplate>) -> MockServer {
    let server = MockServer::start().await;
    let last = answers.len() - 1;
    for (index, answer) in answers.into_iter().enumerate() {
        let mock = Mock::given(method("POST")).respond_with(answer);
        if index == last {
            mock.mount(&server).await;
        } else {
            mock.up_to_n_times(1).mount(&server).await;
        }
    }
    server
}

pub(crate) async fn request_count(server: &MockServer) -> usize {
    server.received_requests().await.unwrap().len()
}

/// Returns the bodies that were sent to a path.
pub(crate) async fn request_bodies(server: &MockServer, path: &str) -> Vec<Value> {
    let requests = server.received_requests().await.unwrap();
    requests
        .iter()
        .filter(|request| request.url.path() == path)
        .map(|request| request.body_json().unwrap())
        .collect()
}
