//! Embeddings and scores from services over HTTP. Secrets stay out of errors and logs, answers are
//! bounded and checked, and what may pass is tried again before a deadline.

mod cohere;
mod error_message;
mod openai;
mod retry;
mod service;

use std::time::Duration;

pub use cohere::CohereReranker;
pub use openai::OpenAiEmbedder;
use secrecy::SecretString;

/// Where a service is, and how it is asked.
#[derive(Debug, Clone)]
pub struct ServiceSettings {
    /// The address that the method is added to, with its version: `https://api.openai.com/v1`.
    pub base_url: String,
    /// The model.
    pub model: String,
    /// The key, if it wants one.
    pub key: Option<SecretString>,
    /// The most that one request may take, all attempts and waits together.
    pub deadline: Duration,
    /// The most that one attempt may take.
    pub attempt: Duration,
    /// How many times a failure that may pass is tried again.
    pub retries: usize,
    /// The wait before the first retry; it doubles with each.
    pub retry_delay: Duration,
}

impl ServiceSettings {
    /// A service with the usual patience: a minute, thirty seconds an attempt, three retries.
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

    /// The same with a key.
    pub fn with_key(self, key: Option<SecretString>) -> Self {
        Self { key, ..self }
    }
}

/// The beginning of a text that is no longer than `most` bytes.
fn head(text: &str, most: usize) -> &str {
    text.split_at(text.floor_char_boundary(most)).0
}
