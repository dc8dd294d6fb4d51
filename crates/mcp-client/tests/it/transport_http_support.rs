//! An HTTP server that does exactly what a test specifies, down to the bytes, and a receiver of
//! incoming events.

use std::{
    collections::HashMap,
    future::Future,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use deliberate_mcp_client::{
    config::{HttpConfig, ServerLimits},
    jsonrpc::{self, RpcMessage},
    transport::{
        Connector, IncomingEvent, IncomingSink, McpEra, McpTransport, MessageKind,
        NegotiatedProtocol, OutgoingMessage, TransportError, http::HttpConnector,
    },
};
pub(crate) use deliberate_testkit::wait_until;
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpListener,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::mpsc,
    time::{Instant, timeout},
};
use url::Url;

/// A time limit that no test reaches.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// A request as the server received it.
#[derive(Debug, Clone)]
pub(crate) struct RecordedRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

impl RecordedRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn id(&self) -> Value {
        self.json()["id"].clone()
    }

    /// Builds an answer to the request.
    pub(crate) fn result(&self) -> String {
        json!({"jsonrpc": "2.0", "id": self.id(), "result": {"ok": true}}).to_string()
    }
}

/// Writes the response. Returning it keeps the connection open; dropping it cuts the connection.
pub(crate) struct ResponseWriter(OwnedWriteHalf);

impl ResponseWriter {
    pub(crate) async fn write(mut self, bytes: impl AsRef<[u8]>) -> Option<Self> {
        self.0.write_all(bytes.as_ref()).await.ok()?;
        Some(self)
    }

    pub(crate) async fn answer(
        self,
        status: u16,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Option<Self> {
        let mut head = format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\n", body.len());
        for &(name, value) in headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        self.write(format!("{head}\r\n{body}")).await
    }

    pub(crate) async fn json(self, body: &str) -> Option<Self> {
        let headers = [("content-type", "application/json; charset=utf-8")];
        self.answer(200, &headers, body).await
    }

    pub(crate) async fn accept(self) -> Option<Self> {
        self.answer(202, &[], "").await
    }

    pub(crate) async fn begin_events(self) -> Option<Self> {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
            transfer-encoding: chunked\r\n\r\n";
        self.write(head).await
    }

    pub(crate) async fn chunk(self, text: impl AsRef<[u8]>) -> Option<Self> {
        let text = text.as_ref();
        let mut chunk = format!("{:x}\r\n", text.len()).into_bytes();
        chunk.extend_from_slice(text);
        chunk.extend_from_slice(b"\r\n");
        self.write(chunk).await
    }

    pub(crate) async fn event(self, data: &str) -> Option<Self> {
        self.chunk(format!("event: message\ndata: {data}\n\n"))
            .await
    }

    pub(crate) async fn end(self) -> Option<Self> {
        self.write("0\r\n\r\n").await
    }

    /// Sends nothing until the client disconnects.
    pub(crate) async fn hang(self) -> Option<Self> {
        std::future::pending().await
    }
}

#[derive(Default)]
struct HttpTestState {
    requests: Mutex<Vec<RecordedRequest>>,
    open: AtomicUsize,
    connection_count: AtomicUsize,
}

pub(crate) struct HttpTestServer {
    pub(crate) url: Url,
    state: Arc<HttpTestState>,
}

impl HttpTestServer {
    /// Starts a server that handles every request with `act`.
    pub(crate) async fn start<F, A>(act: F) -> Self
    where
        F: Fn(RecordedRequest, ResponseWriter) -> A + Send + Sync + 'static,
        A: Future<Output = Option<ResponseWriter>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(HttpTestState::default());
        let (shared, act) = (Arc::clone(&state), Arc::new(act));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                let (shared, act) = (Arc::clone(&shared), Arc::clone(&act));
                tokio::spawn(async move {
                    shared.connection_count.fetch_add(1, Ordering::SeqCst);
                    shared.open.fetch_add(1, Ordering::SeqCst);
                    let (read, write) = stream.into_split();
                    serve(&shared, read, ResponseWriter(write), &*act).await;
                    shared.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        let url = Url::parse(&format!("http://{address}/mcp")).unwrap();
        Self { url, state }
    }

    pub(crate) fn requests(&self) -> Vec<RecordedRequest> {
        self.state.requests.lock().unwrap().clone()
    }

    /// Waits until this many requests arrived.
    pub(crate) async fn wait_for_requests(&self, count: usize) -> Vec<RecordedRequest> {
        wait_until(|| self.requests().len() >= count).await;
        self.requests()
    }

    /// Waits until this many connections are open.
    pub(crate) async fn wait_for_open(&self, count: usize) {
        wait_until(|| self.state.open.load(Ordering::SeqCst) == count).await;
    }

    /// Returns the number of connections that were ever opened.
    pub(crate) fn connection_count(&self) -> usize {
        self.state.connection_count.load(Ordering::SeqCst)
    }

    pub(crate) fn config(&self) -> HttpConfig {
        config(self.url.clone())
    }

    pub(crate) async fn open_transport(&self) -> (Arc<dyn McpTransport>, IncomingReceiver) {
        open(self.config(), &ServerLimits::default()).await
    }
}

async fn serve<F, A>(
    state: &HttpTestState,
    mut read: OwnedReadHalf,
    mut back: ResponseWriter,
    act: &F,
) where
    F: Fn(RecordedRequest, ResponseWriter) -> A,
    A: Future<Output = Option<ResponseWriter>>,
{
    let mut buffer = Vec::new();
    while let Some(request) = next_request(&mut read, &mut buffer).await {
        state.requests.lock().unwrap().push(request.clone());
        let mut byte = [0];
        let writer = tokio::select! {
            kept = act(request, back) => kept,
            // The client disconnected, or wrote out of turn.
            _ = read.read(&mut byte) => None,
        };
        match writer {
            Some(writer) => back = writer,
            None => return,
        }
    }
}

async fn next_request(read: &mut OwnedReadHalf, buffer: &mut Vec<u8>) -> Option<RecordedRequest> {
    loop {
        if let Some((request, used)) = parse_request(buffer) {
            buffer.drain(..used);
            return Some(request);
        }
        if read.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}

fn parse_request(buffer: &[u8]) -> Option<(RecordedRequest, usize)> {
    let end = buffer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8(buffer[..end].to_vec()).unwrap();
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers
        .get("content-length")
        .map_or(0, |length| length.parse().unwrap());
    let body = buffer.get(end + 4..end + 4 + length)?;
    let request = RecordedRequest {
        method: first.next()?.to_owned(),
        path: first.next()?.to_owned(),
        headers,
        body: String::from_utf8(body.to_vec()).unwrap(),
    };
    Some((request, end + 4 + length))
}

/// The events that arrived at the sink.
pub(crate) struct IncomingReceiver(mpsc::UnboundedReceiver<IncomingEvent>);

impl IncomingReceiver {
    pub(crate) async fn next(&mut self) -> IncomingEvent {
        let next = timeout(LONG, self.0.recv()).await;
        next.expect("nothing came").expect("the inbox is gone")
    }

    /// Expects an answer and returns its request and outcome.
    pub(crate) async fn next_response(&mut self) -> (u64, Result<Value, i64>) {
        match self.next().await {
            IncomingEvent::Message {
                message: RpcMessage::Response { id, outcome },
                ..
            } => {
                let value = outcome.map(|raw| serde_json::from_str(raw.get()).unwrap());
                (id, value.map_err(|error| error.code))
            }
            other => panic!("no answer: {other:?}"),
        }
    }

    /// Expects the failure of a request.
    pub(crate) async fn next_failure(&mut self) -> (u64, TransportError) {
        match self.next().await {
            IncomingEvent::Failed { id, error } => (id, error),
            other => panic!("no failure: {other:?}"),
        }
    }

    /// Expects the end of a request.
    #[cfg(feature = "oauth")]
    pub(crate) async fn next_outcome(&mut self) -> Result<(), TransportError> {
        match self.next().await {
            IncomingEvent::Message { .. } => Ok(()),
            IncomingEvent::Failed { error, .. } => Err(error),
            other => panic!("no end: {other:?}"),
        }
    }

    /// Expects a notification and returns the request that it arrived with.
    pub(crate) async fn next_notification(&mut self) -> (String, Option<u64>) {
        match self.next().await {
            IncomingEvent::Message {
                message: RpcMessage::Notification { method, .. },
                request_id: during,
            } => (method, during),
            other => panic!("no notification: {other:?}"),
        }
    }

    pub(crate) fn is_empty(&mut self) -> bool {
        self.0.try_recv().is_err()
    }
}

pub(crate) fn incoming_channel() -> (IncomingSink, IncomingReceiver) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let inbox = IncomingSink::new(move |incoming| {
        let _ = sender.send(incoming);
    });
    (inbox, IncomingReceiver(receiver))
}

pub(crate) fn config(url: Url) -> HttpConfig {
    HttpConfig {
        url,
        headers: [("x-key".to_owned(), SecretString::from("opensesame"))].into(),
        auth: None,
    }
}

pub(crate) async fn open(
    config: HttpConfig,
    limits: &ServerLimits,
) -> (Arc<dyn McpTransport>, IncomingReceiver) {
    let connector = HttpConnector::new(config, limits, None).unwrap();
    let (inbox, arrivals) = incoming_channel();
    let link = connector.open(inbox, Instant::now() + LONG).await.unwrap();
    (link, arrivals)
}

pub(crate) fn request(id: u64, method: &str) -> OutgoingMessage {
    outgoing(
        MessageKind::Request(id),
        Some(method),
        jsonrpc::encode_request(id, method, &json!({})),
    )
}

pub(crate) fn notification(method: &str) -> OutgoingMessage {
    let body = jsonrpc::encode_notification(method, &Value::Null);
    outgoing(MessageKind::Notification, Some(method), body)
}

pub(crate) fn outgoing(kind: MessageKind, method: Option<&str>, body: Vec<u8>) -> OutgoingMessage {
    OutgoingMessage {
        body: Bytes::from(body),
        kind,
        method: method.map(str::to_owned),
        name: None,
        param_headers: Vec::new(),
    }
}

pub(crate) fn handshake() -> NegotiatedProtocol {
    NegotiatedProtocol {
        version: "2025-11-25".to_owned(),
        era: McpEra::Handshake,
    }
}

pub(crate) fn stateless() -> NegotiatedProtocol {
    NegotiatedProtocol {
        version: "2026-07-28".to_owned(),
        era: McpEra::Stateless,
    }
}
