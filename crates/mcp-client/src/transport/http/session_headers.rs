//! The headers of a message in each era, and the encoding of values that a header cannot hold. The
//! transport does not know which tool wants which argument in a header.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::transport::{McpEra, NegotiatedProtocol, OutgoingMessage, TransportError};

const PREFIX: &str = "=?base64?";
const SUFFIX: &str = "?=";

/// The maximum length of a session id.
const MAX_SESSION: usize = 4096;

pub(super) const MCP_SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const MCP_PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const MCP_METHOD: HeaderName = HeaderName::from_static("mcp-method");
const MCP_NAME: HeaderName = HeaderName::from_static("mcp-name");

/// The headers that accompany messages.
#[derive(Debug, Default)]
pub(super) struct SessionHeaders {
    version: Option<HeaderValue>,
    era: Option<McpEra>,
    session: Option<HeaderValue>,
}

impl SessionHeaders {
    pub(super) fn set_protocol(&mut self, agreed: &NegotiatedProtocol) {
        self.version = HeaderValue::try_from(agreed.version.as_str()).ok();
        self.era = Some(agreed.era);
        if agreed.era == McpEra::Stateless {
            self.session = None;
        }
    }

    pub(super) fn is_stateless(&self) -> bool {
        self.era == Some(McpEra::Stateless)
    }

    pub(super) fn session(&self) -> Option<&HeaderValue> {
        self.session.as_ref()
    }

    /// Stores the session id of the answer to `initialize`.
    pub(super) fn store_session(&mut self, answer: &HeaderMap) -> Result<(), TransportError> {
        let Some(id) = answer.get(MCP_SESSION_ID) else {
            self.session = None;
            return Ok(());
        };
        let fine = !id.is_empty() && id.len() <= MAX_SESSION;
        if !fine || !id.as_bytes().iter().all(u8::is_ascii_graphic) {
            return Err(TransportError::Garbage {
                reason: "the session id contains characters that cannot be sent back".to_owned(),
            });
        }
        let mut id = id.clone();
        id.set_sensitive(true);
        self.session = Some(id);
        Ok(())
    }

    /// Returns the headers of requests without a message: streams and the end of the session.
    pub(super) fn base_headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(version) = &self.version {
            headers.insert(MCP_PROTOCOL_VERSION, version.clone());
        }
        if let Some(session) = &self.session {
            headers.insert(MCP_SESSION_ID, session.clone());
        }
        headers
    }

    /// Returns the headers of a message. `initialize` starts a new session, so it carries none of
    /// the old one.
    pub(super) fn message_headers(
        &self,
        outgoing: &OutgoingMessage,
    ) -> Result<HeaderMap, TransportError> {
        if outgoing.method.as_deref() == Some("initialize") {
            return Ok(HeaderMap::new());
        }
        let mut headers = self.base_headers();
        if self.is_stateless() {
            if let Some(method) = &outgoing.method {
                headers.insert(MCP_METHOD, header_value(method)?);
            }
            if let Some(name) = &outgoing.name {
                headers.insert(MCP_NAME, header_value(&encode_value(name))?);
            }
            for (name, text) in &outgoing.param_headers {
                let name = HeaderName::try_from(format!("mcp-param-{name}")).map_err(|_| {
                    TransportError::Unsendable {
                        reason: format!("{name:?} cannot be part of a header name"),
                    }
                })?;
                headers.insert(name, header_value(&encode_value(text))?);
            }
        }
        Ok(headers)
    }
}

fn header_value(text: &str) -> Result<HeaderValue, TransportError> {
    HeaderValue::try_from(text).map_err(|_| TransportError::Unsendable {
        reason: "the message has a value that a header cannot hold".to_owned(),
    })
}

/// Encodes a value for a header.
fn encode_value(text: &str) -> String {
    let odd = text.bytes().any(|byte| !matches!(byte, 0x20..=0x7e));
    let edges = text.starts_with(' ') || text.ends_with(' ');
    // A value that only looks encoded would be decoded by the server.
    let misleading = text.starts_with(PREFIX) && text.ends_with(SUFFIX);
    if odd || edges || misleading {
        format!("{PREFIX}{}{SUFFIX}", BASE64_STANDARD.encode(text))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_what_a_header_cannot_hold_is_encoded() {
        for (text, header) in [
            ("", ""),
            ("echo", "echo"),
            ("two words", "two words"),
            (" edge", "=?base64?IGVkZ2U=?="),
            ("edge\t", "=?base64?ZWRnZQk=?="),
            ("café", "=?base64?Y2Fmw6k=?="),
            ("a\nb", "=?base64?YQpi?="),
            ("\u{7f}", "=?base64?fw==?="),
            ("=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="),
            ("=?base64?x", "=?base64?x"),
        ] {
            assert_eq!(encode_value(text), header, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn every_value_fits_and_comes_back(text in ".*") {
            let header = encode_value(&text);
            prop_assert!(header_value(&header).is_ok());
            let inner = header.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
            let back = match inner {
                Some(inner) => String::from_utf8(BASE64_STANDARD.decode(inner).unwrap()).unwrap(),
                None => header,
            };
            prop_assert_eq!(back, text);
        }
    }
}
