//! What a stand-in does instead of answering well.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What happens to one request instead of the usual answer. Over HTTP it is written as JSON:
/// `{"delay": 100}`, `{"text": "…"}`, `"hang"`, `{"status": {"code": 503}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum MockFault {
    /// The usual answer, this many milliseconds later.
    Delay(u64),
    /// An HTTP status with headers and body; an empty body is the provider's own error JSON.
    Status {
        /// The status code.
        code: u16,
        /// Extra headers, such as `retry-after`.
        #[serde(default)]
        headers: BTreeMap<String, String>,
        /// The body, sent as it is.
        #[serde(default)]
        body: String,
    },
    /// The model says this, whatever was asked.
    Text(String),
    /// The model says this and is cut off by its token limit.
    Truncated(String),
    /// The provider withholds the answer.
    Refusal(String),
    /// Status 200 and this body as JSON, in place of the provider's envelope.
    Body(String),
    /// Status 200 and a page of HTML, as a captive portal sends.
    Html200,
    /// The connection ends before a byte of the answer.
    CutConnection,
    /// The connection ends in the middle of the answer.
    CutBody,
    /// No answer, until the caller gives up.
    Hang,
}

impl MockFault {
    /// A status with the provider's own error body.
    pub fn status(code: u16) -> Self {
        Self::Status {
            code,
            headers: BTreeMap::new(),
            body: String::new(),
        }
    }

    /// A status with one header and the provider's own error body.
    pub fn status_with(code: u16, header: &str, value: &str) -> Self {
        Self::Status {
            code,
            headers: BTreeMap::from([(header.to_owned(), value.to_owned())]),
            body: String::new(),
        }
    }
}
