//! A guarded server on its own socket, and a client that sends exactly the bytes of a test.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{
    Extension, Json, Router,
    body::{Body, Bytes},
    extract::{
        Request,
        ws::{WebSocket, WebSocketUpgrade},
    },
    http::header,
    response::{IntoResponse, Response},
    routing::{any, get},
};
use deliberate_server::http::{
    ProgressHub, ProgressOptions,
    auth::Access,
    guard::{Admission, GuardOptions, HttpGuard},
    listener::{self, Connections, ListenerOptions},
    progress_routes,
};
use deliberate_toolkit::Principal;
use futures::StreamExt as _;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::{Notify, Semaphore},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

/// Longer than any step takes on a busy machine; only a hang exceeds it.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) struct GuardTestServer {
    pub(crate) address: SocketAddr,
    pub(crate) stop: CancellationToken,
    pub(crate) connections: Connections,
    pub(crate) task: JoinHandle<()>,
    /// Notified when a request for `/slow` arrives.
    pub(crate) arrived: Arc<Notify>,
    /// Each permit ends one request for `/slow`.
    pub(crate) release: Arc<Semaphore>,
    pub(crate) guard: Arc<HttpGuard>,
}

impl GuardTestServer {
    /// Starts a server with default options.
    pub(crate) async fn start_default(access: Access) -> Self {
        Self::start(&GuardOptions::default(), ListenerOptions::default(), access).await
    }

    pub(crate) async fn start(
        options: &GuardOptions,
        listening: ListenerOptions,
        access: Access,
    ) -> Self {
        let socket = listener::bind((Ipv4Addr::LOCALHOST, 0).into())
            .await
            .unwrap();
        let address = socket.local_addr().unwrap();
        let guard = HttpGuard::new(options, access);
        let stop = CancellationToken::new();
        let connections = listening.open_connections.clone();
        let arrived = Arc::new(Notify::new());
        let release = Arc::new(Semaphore::new(0));
        let router = guard.protect(routes(arrived.clone(), release.clone()));
        let task = tokio::spawn(listener::serve(socket, router, listening, stop.clone()));
        Self {
            address,
            stop,
            connections,
            task,
            arrived,
            release,
            guard,
        }
    }

    /// Sends one request on a new connection. `lines` are headers besides `Host`.
    pub(crate) async fn request(&self, request: &str, lines: &[&str]) -> TestHttpResponse {
        let host = format!("Host: {}", self.address);
        self.send_raw(request, &[&[host.as_str()], lines].concat(), "")
            .await
    }

    /// Sends a JSON body to a path.
    pub(crate) async fn post(&self, path: &str, lines: &[&str], body: &str) -> TestHttpResponse {
        let host = format!("Host: {}", self.address);
        let length = format!("Content-Length: {}", body.len());
        let own = [
            host.as_str(),
            length.as_str(),
            "Content-Type: application/json",
        ];
        let request = format!("POST {path} HTTP/1.1");
        self.send_raw(&request, &[&own, lines].concat(), body).await
    }

    /// Sends exactly these lines.
    pub(crate) async fn send_raw(
        &self,
        request: &str,
        lines: &[&str],
        body: &str,
    ) -> TestHttpResponse {
        let mut line = self.connect().await;
        line.send(request, lines, body).await;
        line.read_response().await.expect("an answer")
    }

    pub(crate) async fn connect(&self) -> RawConnection {
        RawConnection {
            stream: TcpStream::connect(self.address).await.unwrap(),
            read: Vec::new(),
        }
    }
}

impl Drop for GuardTestServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn routes(arrived: Arc<Notify>, release: Arc<Semaphore>) -> Router {
    let slow = move || async move {
        arrived.notify_one();
        release.acquire().await.unwrap().forget();
        "at last"
    };
    Router::new()
        .route("/health", get(get_health))
        .route("/mcp", any(get_principal))
        .route("/messages", any(get_principal))
        .route("/metrics", get(get_principal))
        .route("/page", get(get_page))
        .route("/sse", get(get_stream))
        .route("/ws", get(upgrade))
        .route("/slow", any(slow))
        .route("/panic", get(get_panic))
        .merge(progress_routes(
            ProgressHub::new(ProgressOptions::default()),
        ))
}

async fn get_health(Extension(admission): Extension<Admission>) -> Json<Value> {
    Json(json!({"known": admission == Admission::Authenticated}))
}

async fn get_principal(Extension(principal): Extension<Principal>, body: Bytes) -> Json<Value> {
    Json(json!({
        "name": principal.name,
        "linear": principal.scope.allows("reasoning_linear"),
        "get": principal.scope.allows("session_get"),
        "bytes": body.len(),
    }))
}

async fn get_page() -> Response {
    let policy = (header::CONTENT_SECURITY_POLICY, "default-src 'self'");
    let maker = (header::SERVER, "somebody");
    ([policy, maker], "a page").into_response()
}

async fn get_stream() -> Response {
    let first = futures::stream::iter([Ok::<_, std::io::Error>("event: endpoint\n\n")]);
    let body = Body::from_stream(first.chain(futures::stream::pending()));
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

async fn upgrade(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(async |mut socket: WebSocket| {
        while let Some(Ok(message)) = socket.recv().await {
            if socket.send(message).await.is_err() {
                return;
            }
        }
    })
}

async fn get_panic(_: Request) -> Response {
    panic!("as asked")
}

pub(crate) struct RawConnection {
    pub(crate) stream: TcpStream,
    read: Vec<u8>,
}

impl RawConnection {
    pub(crate) async fn send(&mut self, request: &str, lines: &[&str], body: &str) {
        let mut text = format!("{request}\r\n");
        for line in lines {
            text.push_str(line);
            text.push_str("\r\n");
        }
        text.push_str("\r\n");
        text.push_str(body);
        self.write(text.as_bytes()).await;
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// The next response; `None` if the connection ends first.
    pub(crate) async fn read_response(&mut self) -> Option<TestHttpResponse> {
        let head = loop {
            if let Some(end) = self.read.windows(4).position(|four| four == b"\r\n\r\n") {
                break self.read.drain(..end + 4).collect::<Vec<_>>();
            }
            self.read_more().await?;
        };
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.lines();
        let status = lines.next()?.split(' ').nth(1)?.parse().unwrap();
        let headers = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
            .collect();
        let mut answer = TestHttpResponse {
            status,
            headers,
            body: String::new(),
        };
        let length = answer
            .header("content-length")
            .map_or(0, |length| length.parse::<usize>().unwrap());
        while self.read.len() < length {
            self.read_more().await?;
        }
        answer.body = String::from_utf8(self.read.drain(..length).collect()).unwrap();
        Some(answer)
    }

    /// Reads until the text arrives.
    pub(crate) async fn read_until(&mut self, text: &[u8]) {
        while !self.read.windows(text.len()).any(|part| part == text) {
            self.read_more().await.expect("more to read");
        }
    }

    /// Waits until the server closes the connection.
    pub(crate) async fn wait_closed(&mut self) {
        while self.read_more().await.is_some() {}
    }

    async fn read_more(&mut self) -> Option<()> {
        let mut chunk = [0; 4096];
        let read = tokio::time::timeout(TEST_TIMEOUT, self.stream.read(&mut chunk))
            .await
            .expect("bytes or an end");
        match read {
            Ok(0) | Err(_) => None,
            Ok(count) => {
                self.read.extend_from_slice(&chunk[..count]);
                Some(())
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct TestHttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl TestHttpResponse {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter().filter(|(own, _)| own == name);
        let (_, value) = all.next()?;
        assert!(all.next().is_none(), "{name} comes twice");
        Some(value)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// The code of a rejection in either format.
    pub(crate) fn code(&self) -> String {
        let body = self.json();
        let error = &body["error"];
        let code = error["data"]["code"].as_str().or(error["code"].as_str());
        code.unwrap().to_owned()
    }
}
