//! The behavior of a mock provider without faults.

use std::time::Duration;

use super::KEY;

/// The behavior of a mock provider without faults.
#[derive(Debug, Clone)]
pub struct MockSettings {
    /// The accepted key; `None` accepts any key or none.
    pub key: Option<String>,
    /// The duration of a model request.
    pub delay: Duration,
    /// Whether running a pipe that was never created is a 404, as at Langbase.
    pub strict_pipes: bool,
    /// Whether continuing a thread that was never issued is a 404.
    pub strict_threads: bool,
    /// Requests per second before it answers 429; `None` is unlimited and sends no rate headers.
    pub rate: Option<u32>,
    /// The `success` field of Langbase's answer; `None` omits it, as the public documents do.
    pub success: Option<bool>,
    /// Whether Langbase's answer has the fields of `raw` next to `completion`.
    pub flat: bool,
    /// Whether a JSON Schema in `response_format` is rejected, as older endpoints do.
    pub refuse_json_schema: bool,
    /// Whether records store headers and bodies; otherwise only their sizes.
    pub keep_bodies: bool,
}

impl Default for MockSettings {
    fn default() -> Self {
        Self {
            key: Some(KEY.to_owned()),
            delay: Duration::ZERO,
            strict_pipes: false,
            strict_threads: false,
            rate: None,
            success: None,
            flat: false,
            refuse_json_schema: false,
            keep_bodies: true,
        }
    }
}
