//! Embeddings and reranking from services over HTTP. Secrets stay out of errors and logs,
//! responses are bounded and validated, and transient failures are retried within a deadline.

mod attempt_error;
mod cohere;
mod error_message;
mod openai;
mod service;

use std::time::Duration;

pub use cohere::CohereReranker;
pub use openai::OpenAiEmbedder;
use secrecy::SecretString;

/// The address of a service and its limits.
#[derive(Debug, Clone)]
pub struct ServiceSettings {
    /// The base URL with its version: `https://api.openai.com/v1`.
    pub base_url: String,
    pub model: String,
    /// The API key, if the service needs one.
    pub key: Option<SecretString>,
    /// The time limit of a request, all attempts and waits included.
    pub deadline: Duration,
    /// The time limit of one attempt.
    pub attempt: Duration,
    /// The number of retries after transient failures.
    pub retries: usize,
    /// The wait before the first retry; it doubles each time.
    pub retry_delay: Duration,
}

impl ServiceSettings {
    /// A service with the default limits: a minute, thirty seconds per attempt, three retries.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            model: model.into(),
            key: None,
            deadline: Duration::from_mins(1),
            attempt: Duration::from_secs(30),
            retries: 3,
            retry_delay: Duration::from_secs(1),
        }
    }

    pub fn with_key(self, key: Option<SecretString>) -> Self {
        Self { key, ..self }
    }
}

/// Truncates a text to `most` bytes at a character boundary.
fn head(text: &str, most: usize) -> &str {
    text.split_at(text.floor_char_boundary(most)).0
}
