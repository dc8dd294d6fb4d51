//! Parses messages and builds the rejections of invalid ones. It knows nothing of transports: stdio
//! passes lines, HTTP passes bodies.

pub(crate) mod batch;
pub(crate) mod exact_arguments;
mod id_scan;

use exact_arguments::mark_arguments;
use rmcp::{
    RoleServer,
    model::{ClientRequest, GetMeta, ProtocolVersion, RequestId},
    service::RxJsonRpcMessage,
};
use serde::Deserialize;
use serde_json::{error::Category, value::RawValue};

pub(crate) use id_scan::IdScan;

/// A message of a line. A line should contain one message; if it contains more, each one counts.
#[derive(Debug)]
pub enum IncomingMessage {
    /// A valid message.
    Message {
        message: Box<RxJsonRpcMessage<RoleServer>>,
        /// The length of the message.
        bytes: usize,
    },
    /// An invalid message, which is answered with an error.
    Rejected(RpcRejection),
}

/// A rejected message with the JSON-RPC error to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RpcRejection {
    /// The id of the message as JSON text, if it could be read.
    pub id: Option<String>,
    pub code: i32,
    /// One sentence for the client.
    pub message: String,
}

const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;
const INVALID_PARAMS: i32 = -32_602;
/// In the range that JSON-RPC reserves for servers.
const SERVER_BUSY: i32 = -32_000;

/// The largest number of messages read from one line. There should be one; a line of a million
/// would cause a million answers.
const MAX_MESSAGES_PER_LINE: usize = 64;

/// The parts of a JSON-RPC message that determine its kind.
#[derive(Deserialize)]
struct RpcEnvelope<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present_field")]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// Deserializes a present field, also `null`: `Option` alone cannot distinguish `null` from absent.
fn present_field<'de, D: serde::Deserializer<'de>>(
    field: D,
) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(field).map(Some)
}

impl RpcRejection {
    fn new(id: Option<String>, code: i32, message: impl Into<String>) -> Self {
        Self {
            id,
            code,
            message: message.into(),
        }
    }

    /// A line that was dropped because of its length.
    pub fn too_long(id: Option<String>, limit: usize) -> Self {
        let message = format!("the message is longer than {limit} bytes, the limit of this server");
        Self::new(id, INVALID_REQUEST, message)
    }

    pub(crate) fn duplicate_id(id: String) -> Self {
        let message = "a request with this id is still running; use another id";
        Self::new(Some(id), INVALID_REQUEST, message)
    }

    pub(crate) fn too_much_data(id: String) -> Self {
        let message = "the running requests use too much memory; send this again later";
        Self::new(Some(id), SERVER_BUSY, message)
    }

    /// A message in a batch or on a line with others.
    pub(crate) fn multiple_messages(id: Option<String>) -> Self {
        let message = "send one message at a time";
        Self::new(id, INVALID_REQUEST, message)
    }

    /// A text that cannot be parsed and has no id.
    pub(crate) fn invalid_message(message: &str) -> Self {
        Self::new(None, INVALID_REQUEST, message)
    }

    /// A message that is valid JSON-RPC but not valid in the protocol.
    pub(crate) fn invalid_request(id: Option<String>, message: &str) -> Self {
        Self::new(id, INVALID_REQUEST, message)
    }

    /// An empty body.
    pub(crate) fn empty_message() -> Self {
        Self::new(None, PARSE_ERROR, "the message is empty")
    }

    /// A message that can be sent again later.
    pub(crate) fn busy(id: Option<String>, message: &str) -> Self {
        Self::new(id, SERVER_BUSY, message)
    }

    /// The id of the rejected request, if it is a valid one.
    pub(crate) fn request_id(&self) -> Option<RequestId> {
        serde_json::from_str(self.id.as_deref()?).ok()
    }

    /// The error response as a line.
    pub fn to_line(&self) -> Vec<u8> {
        let id = self.id.as_deref().unwrap_or("null");
        let message = serde_json::Value::from(self.message.as_str());
        let code = self.code;
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":{message}}}}}\n"
        )
        .into_bytes()
    }
}

/// Parses a line. It never fails: every fault becomes a rejection.
pub fn read_line(line: &[u8]) -> Vec<IncomingMessage> {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    if line.iter().all(u8::is_ascii_whitespace) {
        return Vec::new();
    }
    let Ok(text) = std::str::from_utf8(line) else {
        let id = scan_id(line);
        return vec![reject(id, PARSE_ERROR, "the message is not valid UTF-8")];
    };
    let mut found = Vec::new();
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    loop {
        let from = values.byte_offset();
        match values.next() {
            None => return found,
            Some(_) if found.len() >= MAX_MESSAGES_PER_LINE => {
                let message = format!("more than {MAX_MESSAGES_PER_LINE} messages on one line");
                found.push(reject(None, INVALID_REQUEST, &message));
                return found;
            }
            Some(Ok(value)) => read_value(value.get(), &mut found),
            Some(Err(error)) => {
                let rest = line.get(from..).unwrap_or_default();
                let message = format!("the message is not valid JSON: {error}");
                found.push(reject(scan_id(rest), PARSE_ERROR, &message));
                return found;
            }
        }
    }
}

/// The single message of a request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyMessage<'a> {
    /// The message without surrounding whitespace.
    pub bytes: &'a [u8],
    /// The id as JSON text.
    pub id: Option<&'a str>,
    /// Whether the message expects an answer.
    pub is_request: bool,
    /// Whether the message is an `initialize` request of the handshake revisions.
    pub is_initialize: bool,
}

/// Parses a request body, which contains one message.
pub fn read_body(body: &[u8]) -> Result<BodyMessage<'_>, RpcRejection> {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    let text = std::str::from_utf8(body).map_err(|_| {
        let message = "the message is not valid UTF-8";
        RpcRejection::new(scan_id(body), PARSE_ERROR, message)
    })?;
    let message: &RawValue = serde_json::from_str(text).map_err(|error| {
        let message = format!("the message is not valid JSON: {error}");
        RpcRejection::new(scan_id(body), PARSE_ERROR, message)
    })?;
    let message = message.get();
    match message.as_bytes().first() {
        Some(b'{') => {
            let envelope = parse_envelope(message)?;
            check_envelope(&envelope)?;
            let method = envelope.method.map(RawValue::get);
            Ok(BodyMessage {
                bytes: message.as_bytes(),
                id: envelope.id.map(RawValue::get),
                is_request: method.is_some() && envelope.id.is_some(),
                is_initialize: method == Some("\"initialize\""),
            })
        }
        Some(b'[') => Err(RpcRejection::invalid_message(
            "batches are not supported; send one message in a request",
        )),
        _ => Err(RpcRejection::invalid_message("a message is a JSON object")),
    }
}

fn parse_envelope(text: &str) -> Result<RpcEnvelope<'_>, RpcRejection> {
    serde_json::from_str(text).map_err(|error| {
        let message = format!("the message is not a JSON-RPC message: {error}");
        RpcRejection::new(scan_id(text.as_bytes()), INVALID_REQUEST, message)
    })
}

fn reject(id: Option<String>, code: i32, message: &str) -> IncomingMessage {
    IncomingMessage::Rejected(RpcRejection::new(id, code, message))
}

/// The id, as JSON text, of a message that cannot be parsed.
pub(crate) fn scan_id(bytes: &[u8]) -> Option<String> {
    let mut scan = IdScan::default();
    scan.push(bytes);
    scan.id()
}

fn read_value(text: &str, found: &mut Vec<IncomingMessage>) {
    match text.as_bytes().first() {
        Some(b'{') => found.extend(read_object(text)),
        Some(b'[') => read_batch(text, found),
        _ => found.push(reject(None, INVALID_REQUEST, "a message is a JSON object")),
    }
}

/// Batches exist in one revision only, whose clients are served by [`batch`]. For others each request
/// in one is rejected on its own, because its sender waits for each, up to the limit per line.
fn read_batch(text: &str, found: &mut Vec<IncomingMessage>) {
    const BATCH_REJECTED: &str = "batches are not supported; send one message at a time";
    let items: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
    let before = found.len();
    for item in items.into_iter().take(MAX_MESSAGES_PER_LINE) {
        if let Some(id) = scan_id(item.get().as_bytes()) {
            found.push(reject(Some(id), INVALID_REQUEST, BATCH_REJECTED));
        }
    }
    if found.len() == before {
        found.push(reject(None, INVALID_REQUEST, BATCH_REJECTED));
    }
}

fn read_object(text: &str) -> Option<IncomingMessage> {
    let envelope = match parse_envelope(text) {
        Ok(envelope) => envelope,
        Err(rejection) => return Some(IncomingMessage::Rejected(rejection)),
    };
    if let Err(rejection) = check_envelope(&envelope) {
        return Some(IncomingMessage::Rejected(rejection));
    }
    match serde_json::from_str(&mark_arguments(text)) {
        Ok(message) => Some(IncomingMessage::Message {
            message: Box::new(message),
            bytes: text.len(),
        }),
        Err(error) => {
            let id = envelope.id.map(|id| id.get().to_owned());
            // Nobody waits for an answer to a notification or a response.
            if id.is_none() || envelope.method.is_none() {
                // The error itself is not logged, because it quotes the message.
                let kind = error.classify();
                tracing::debug!(?kind, "ignored a message that cannot be parsed");
                return None;
            }
            let code = match error.classify() {
                Category::Syntax | Category::Eof | Category::Io => PARSE_ERROR,
                Category::Data => INVALID_REQUEST,
            };
            let message = format!("the message cannot be parsed: {error}");
            Some(reject(id, code, &message))
        }
    }
}

/// Checks the requirements of JSON-RPC and MCP that the SDK does not check or answers incorrectly.
fn check_envelope(envelope: &RpcEnvelope<'_>) -> Result<(), RpcRejection> {
    // A response is never answered, even an invalid one: two peers that did would never stop.
    if envelope.method.is_none() && (envelope.result.is_some() || envelope.error.is_some()) {
        return Ok(());
    }
    let id = match envelope.id.map(RawValue::get) {
        None => None,
        Some(id) if is_valid_id(id) => Some(id.to_owned()),
        Some(id) => {
            let echo = is_number(id).then(|| id.to_owned());
            let message = "id must be a string or a whole number";
            return Err(RpcRejection::new(echo, INVALID_REQUEST, message));
        }
    };
    let invalid = |message: &str| Err(RpcRejection::new(id.clone(), INVALID_REQUEST, message));
    if envelope.jsonrpc.map(RawValue::get) != Some("\"2.0\"") {
        return invalid("jsonrpc must be \"2.0\"");
    }
    match envelope.method.map(RawValue::get) {
        Some(method) if method.starts_with('"') => {}
        Some(_) => return invalid("method must be a string"),
        None => return invalid("method is missing"),
    }
    let params = envelope.params.map(RawValue::get);
    if params.is_some_and(|params| !params.starts_with('{')) && id.is_some() {
        let message = "params must be an object";
        return Err(RpcRejection::new(id, INVALID_PARAMS, message));
    }
    Ok(())
}

fn is_valid_id(text: &str) -> bool {
    text.starts_with('"') && serde_json::from_str::<String>(text).is_ok()
        || text.parse::<i64>().is_ok()
}

fn is_number(text: &str) -> bool {
    serde_json::from_str::<serde_json::Number>(text).is_ok()
}

/// Tells whether the SDK treats this request as the start of a conversation, in either era. After
/// pings, discovery and requests that it rejects, the SDK still waits for one.
pub(crate) fn starts_session(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let version = meta.protocol_version();
            version.is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
                && meta.client_capabilities().is_some()
        }
    }
}
