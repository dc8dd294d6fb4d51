//! Faults of the mock provider.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A fault that replaces the usual answer of one request. Over HTTP it is written as JSON:
/// `{"delay": 100}`, `{"text": "…"}`, `"hang"`, `{"status": {"code": 503}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum MockFault {
    /// The usual answer, this many milliseconds later.
    Delay(u64),
    /// An HTTP status with headers and body; an empty body is the provider's own error JSON.
    Status {
        code: u16,
        /// Extra headers, such as `retry-after`.
        #[serde(default)]
        headers: BTreeMap<String, String>,
        /// The body, sent as it is.
        #[serde(default)]
        body: String,
    },
    /// The model answers with this text.
    Text(String),
    /// The model answers with this text and is cut off by its token limit.
    Truncated(String),
    /// The provider withholds the answer.
    Refusal(String),
    /// Status 200 and this body as JSON, instead of the provider's envelope.
    Body(String),
    /// Status 200 and an HTML page, as a captive portal sends.
    Html200,
    /// The connection ends before a byte of the answer.
    CutConnection,
    /// The connection ends in the middle of the answer.
    CutBody,
    /// No answer until the caller gives up.
    Hang,
}

impl MockFault {
    /// Returns a status with the provider's own error body.
    pub fn status(code: u16) -> Self {
        Self::Status {
            code,
            headers: BTreeMap::new(),
            body: String::new(),
        }
    }

    /// Returns a status with one header and the provider's own error body.
    pub fn status_with(code: u16, header: &str, value: &str) -> Self {
        Self::Status {
            code,
            headers: BTreeMap::from([(header.to_owned(), value.to_owned())]),
            body: String::new(),
        }
    }
}
