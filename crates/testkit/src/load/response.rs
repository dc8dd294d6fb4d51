//! A complete HTTP answer and the JSON-RPC message in it, plain or in a stream.

use anyhow::{Context as _, ensure};
use serde_json::Value;

/// The status, content type and body of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadResponse {
    pub status: u16,
    /// Whether the body is an event stream.
    pub is_stream: bool,
    /// Whether the server closes the connection after it.
    pub closes: bool,
    /// The body, without the framing of chunks.
    pub body: Vec<u8>,
}

impl LoadResponse {
    /// Returns the response to the request with this id.
    pub fn response(&self, id: u64) -> anyhow::Result<Value> {
        let found = if self.is_stream {
            let text = std::str::from_utf8(&self.body).context("the stream is not UTF-8")?;
            let mut messages = text.lines().filter_map(|line| {
                let data = line.strip_prefix("data:")?;
                serde_json::from_str::<Value>(data).ok()
            });
            messages.find(|message| message.get("method").is_none() && !message["id"].is_null())
        } else {
            serde_json::from_slice(&self.body).ok()
        };
        let found = found.with_context(|| format!("no response in {}", self.summary()))?;
        ensure!(
            found["id"] == id,
            "the response is to {}, not to {id}",
            found["id"]
        );
        Ok(found)
    }

    /// Returns whether it is a successful response and not a tool error, with as little parsing as
    /// possible.
    pub fn is_success(&self) -> bool {
        self.status == 200
            && contains_bytes(&self.body, b"\"result\":")
            && !contains_bytes(&self.body, b"\"isError\":true")
    }

    /// Returns the status and the beginning of the body, for a message.
    pub fn summary(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        let text: String = text.chars().take(300).collect();
        format!("HTTP {}: {text}", self.status)
    }
}

fn contains_bytes(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(is_stream: bool, body: &str) -> LoadResponse {
        LoadResponse {
            status: 200,
            is_stream,
            closes: false,
            body: body.as_bytes().to_vec(),
        }
    }

    #[test]
    fn finds_the_response_in_either_kind() {
        let plain = answer(false, r#"{"id":7,"result":{}}"#);
        assert_eq!(plain.response(7).unwrap()["id"], 7);
        assert!(plain.response(8).is_err());
        let stream = "id: 0\nretry: 3000\n\ndata: {\"method\":\"notifications/progress\"}\n\n\
             data: {\"id\":7,\"result\":{}}\n\n";
        assert_eq!(answer(true, stream).response(7).unwrap()["id"], 7);
        assert!(answer(true, "data: \n\n").response(7).is_err());
    }

    #[test]
    fn tells_success_from_failure() {
        assert!(answer(false, r#"{"id":7,"result":{}}"#).is_success());
        assert!(!answer(false, r#"{"id":7,"error":{}}"#).is_success());
        assert!(!answer(false, r#"{"id":7,"result":{"isError":true}}"#).is_success());
    }
}
