//! An SSE server on a real socket, with a handler whose tools wait for the test, and a client that
//! sees every byte.

use std::{
    collections::HashMap,
    fmt::Write,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{extract::Request, middleware};
use deliberate_server::http::sse::{self, ConnectionCloser, SseControl, SseOptions};
use deliberate_toolkit::Principal;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerCapabilities,
        ServerConfig,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};

/// Longer than any step takes on a busy machine.
const TEST_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) async fn with_timeout<T>(what: &str, wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(TEST_TIMEOUT, wait)
        .await
        .unwrap_or_else(|_| panic!("waited too long for {what}"))
}

pub(crate) async fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    with_timeout(what, wait).await;
}

/// Controls and observes the calls of the tools.
#[derive(Default)]
pub(crate) struct CallProbe {
    pub(crate) started: AtomicUsize,
    pub(crate) cancelled: AtomicUsize,
}

#[derive(Clone)]
struct SseTestHandler {
    probe: Arc<CallProbe>,
    gate: Arc<Semaphore>,
}

impl ServerHandler for SseTestHandler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let text = match request.name.as_ref() {
            "echo" => arguments["text"].as_str().unwrap().to_owned(),
            "who" => {
                let parts = context.extensions.get::<http::request::Parts>().unwrap();
                let principal = parts.extensions.get::<Principal>().unwrap();
                principal.name.as_deref().unwrap_or("nobody").to_owned()
            }
            "big" => "x".repeat(usize::try_from(arguments["bytes"].as_u64().unwrap()).unwrap()),
            "hold" => {
                self.probe.started.fetch_add(1, Ordering::SeqCst);
                tokio::select! {
                    permit = self.gate.acquire() => permit.unwrap().forget(),
                    () = context.ct.cancelled() => {
                        self.probe.cancelled.fetch_add(1, Ordering::SeqCst);
                    }
                }
                "held".to_owned()
            }
            _ => return Err(ErrorData::invalid_params("no such tool", None)),
        };
        let result = CallToolResult::success(vec![ContentBlock::text(text)]);
        Ok(CallToolResponse::Complete(result))
    }
}

pub(crate) struct SseTestServer {
    pub(crate) address: SocketAddr,
    pub(crate) control: SseControl,
    pub(crate) probe: Arc<CallProbe>,
    /// Each permit ends one `hold` call.
    pub(crate) gate: Arc<Semaphore>,
    /// The connection closer of every request.
    pub(crate) closer: ConnectionCloser,
}

/// Replaces the guard: adds the principal.
async fn add_principal(mut request: Request) -> Request {
    if let Some(name) = request.headers().get("x-name") {
        let name = name.to_str().unwrap().into();
        let principal = Principal {
            name: Some(name),
            ..Principal::default()
        };
        request.extensions_mut().insert(principal);
    }
    request
}

impl SseTestServer {
    pub(crate) async fn start(options: SseOptions) -> Self {
        let probe = Arc::new(CallProbe::default());
        let gate = Arc::new(Semaphore::new(0));
        let handler = SseTestHandler {
            probe: probe.clone(),
            gate: gate.clone(),
        };
        Self::serve(handler, probe, gate, options).await
    }

    /// Serves another handler.
    pub(crate) async fn start_with_handler(handler: impl ServerHandler + Clone) -> Self {
        let (probe, gate) = (Arc::default(), Arc::new(Semaphore::new(0)));
        Self::serve(handler, probe, gate, SseOptions::default()).await
    }

    async fn serve(
        handler: impl ServerHandler + Clone,
        probe: Arc<CallProbe>,
        gate: Arc<Semaphore>,
        options: SseOptions,
    ) -> Self {
        let (router, control) = sse::routes(move || handler.clone(), options);
        let hang_up = ConnectionCloser::default();
        let router = router
            .layer(middleware::map_request(add_principal))
            .layer(axum::Extension(hang_up.clone()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            address,
            control,
            probe,
            gate,
            closer: hang_up,
        }
    }

    /// Sends a request; the body of the response follows. HTTP/1.0 avoids chunked encoding.
    pub(crate) async fn send(
        &self,
        line: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> (u16, HashMap<String, String>, BufReader<TcpStream>) {
        let mut socket = TcpStream::connect(self.address).await.unwrap();
        let mut head = format!("{line} HTTP/1.0\r\nhost: {}\r\n", self.address);
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").unwrap();
        }
        if !body.is_empty() {
            write!(head, "content-length: {}\r\n", body.len()).unwrap();
        }
        head += "\r\n";
        socket.write_all(head.as_bytes()).await.unwrap();
        // A server that rejects early may not read the whole body.
        drop(socket.write_all(body).await);
        let mut reader = BufReader::new(socket);
        let status = with_timeout("a status", read_line(&mut reader))
            .await
            .unwrap();
        let status = status.split(' ').nth(1).unwrap().parse().unwrap();
        let mut found = HashMap::new();
        loop {
            let line = with_timeout("a header", read_line(&mut reader))
                .await
                .unwrap();
            let Some((name, value)) = line.split_once(": ") else {
                break;
            };
            found.insert(name.to_owned(), value.to_owned());
        }
        (status, found, reader)
    }

    pub(crate) async fn post(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> PostResponse {
        let mut all = vec![("content-type", "application/json")];
        all.extend(headers);
        let (status, headers, mut reader) = self.send(&format!("POST {path}"), &all, body).await;
        let mut body = String::new();
        let read = reader.read_to_string(&mut body);
        with_timeout("a body", read).await.unwrap();
        PostResponse {
            status,
            headers,
            body,
        }
    }

    /// Opens a stream and reads its first event.
    pub(crate) async fn open_stream(&self, headers: &[(&str, &str)]) -> SseTestClient<'_> {
        let mut all = vec![("accept", "text/event-stream")];
        all.extend(headers);
        let (status, answer, reader) = self.send("GET /sse", &all, b"").await;
        assert_eq!(status, 200);
        let name = headers.iter().find(|(name, _)| *name == "x-name");
        let mut client = SseTestClient {
            server: self,
            name: name.map(|(_, name)| (*name).to_owned()),
            headers: answer,
            endpoint: String::new(),
            reader,
        };
        let first = client.next_event().await.unwrap();
        assert_eq!(first.name, "endpoint");
        client.endpoint = first.data;
        client
    }

    /// Opens a stream as that principal and initializes the session.
    pub(crate) async fn connect(&self, name: Option<&str>) -> SseTestClient<'_> {
        let headers: Vec<_> = name.map(|name| ("x-name", name)).into_iter().collect();
        let mut client = self.open_stream(&headers).await;
        client.initialize().await;
        client
    }

    /// The status of an attempt to open a stream.
    pub(crate) async fn open_status(&self, headers: &[(&str, &str)]) -> u16 {
        self.send("GET /sse", headers, b"").await.0
    }
}

#[derive(Debug)]
pub(crate) struct PostResponse {
    pub(crate) status: u16,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

impl PostResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }
}

#[derive(Debug)]
pub(crate) struct SseTestEvent {
    pub(crate) name: String,
    pub(crate) data: String,
}

pub(crate) struct SseTestClient<'a> {
    server: &'a SseTestServer,
    name: Option<String>,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) endpoint: String,
    pub(crate) reader: BufReader<TcpStream>,
}

impl SseTestClient<'_> {
    async fn initialize(&mut self) {
        let params = json!({
            "protocolVersion": "2024-11-05", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}
        });
        self.request(json!("hello"), "initialize", params).await;
        let answer = self.next_message().await;
        assert_eq!(answer["id"], "hello");
        assert_eq!(answer["result"]["protocolVersion"], "2024-11-05");
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.post(&initialized).await.status, 202);
    }

    /// The next event; `None` when the stream has ended. Comments are skipped.
    pub(crate) async fn next_event(&mut self) -> Option<SseTestEvent> {
        with_timeout("an event", self.read_event()).await
    }

    async fn read_event(&mut self) -> Option<SseTestEvent> {
        let mut event = SseTestEvent {
            name: String::new(),
            data: String::new(),
        };
        loop {
            let line = read_line(&mut self.reader).await?;
            match line.split_once(": ") {
                Some(("event", name)) => name.clone_into(&mut event.name),
                Some(("data", data)) => data.clone_into(&mut event.data),
                _ if line.is_empty() && !event.name.is_empty() => break,
                _ => {}
            }
        }
        Some(event)
    }

    pub(crate) async fn next_message(&mut self) -> Value {
        let event = self.next_event().await.expect("the stream has ended");
        assert_eq!(event.name, "message");
        serde_json::from_str(&event.data).unwrap()
    }

    /// The id and the text of the next message.
    pub(crate) async fn next_text(&mut self) -> (Value, String) {
        let message = self.next_message().await;
        let text = &message["result"]["content"][0]["text"];
        let text = text
            .as_str()
            .unwrap_or_else(|| panic!("no text: {message}"));
        (message["id"].clone(), text.to_owned())
    }

    pub(crate) async fn post(&self, message: &Value) -> PostResponse {
        self.post_bytes(message.to_string().as_bytes()).await
    }

    pub(crate) async fn post_bytes(&self, body: &[u8]) -> PostResponse {
        let name = self.name.as_deref().map(|name| ("x-name", name));
        let headers: Vec<_> = name.into_iter().collect();
        self.server.post(&self.endpoint, &headers, body).await
    }

    pub(crate) async fn request(&self, id: Value, method: &str, params: Value) {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let posted = self.post(&request).await;
        assert_eq!(posted.status, 202, "{posted:?}");
    }

    pub(crate) async fn call_tool(&self, id: i64, tool: &str, arguments: Value) {
        let params = json!({"name": tool, "arguments": arguments});
        self.request(json!(id), "tools/call", params).await;
    }

    pub(crate) async fn call_echo(&self, id: i64, text: &str) {
        self.call_tool(id, "echo", json!({"text": text})).await;
    }

    /// Starts a call that runs until the test releases it.
    pub(crate) async fn call_held(&self, id: i64) {
        let started = self.server.probe.started.load(Ordering::SeqCst);
        self.call_tool(id, "hold", json!({})).await;
        let now = || self.server.probe.started.load(Ordering::SeqCst);
        wait_until("the call to start", || now() > started).await;
    }
}

/// A line without its terminator; `None` at the end of the stream.
pub(crate) async fn read_line(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    match reader.read_line(&mut line).await {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line.trim_end_matches(['\r', '\n']).to_owned()),
    }
}
