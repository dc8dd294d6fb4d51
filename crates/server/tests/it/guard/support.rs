//! A guarded server on its own socket, and a client that sends exactly the bytes of a test.

use std::{
    net::{Ipv4Addr, SocketAddr},
    ops::Deref,
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
use deliberate_testkit::raw_http::{RawHttp, RawResponse};
use deliberate_toolkit::Principal;
use futures::StreamExt as _;
use serde_json::{Value, json};
use tokio::{
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

    /// Asserts the status of a `GET /mcp` with these headers.
    pub(crate) async fn assert_status(&self, lines: &[&str], status: u16) {
        let answer = self.request("GET /mcp HTTP/1.1", lines).await;
        assert_eq!(answer.status, status, "{lines:?}");
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
        RawConnection(RawHttp::connect(self.address).await.unwrap())
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

pub(crate) struct RawConnection(RawHttp);

impl RawConnection {
    pub(crate) async fn send(&mut self, request: &str, lines: &[&str], body: &str) {
        let lines = [&[request], lines].concat();
        self.0.send_lines(&lines, body).await.unwrap();
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.try_write(bytes).await.unwrap();
    }

    pub(crate) async fn try_write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.0.write(bytes).await
    }

    /// The next response; `None` if the connection ends first.
    pub(crate) async fn read_response(&mut self) -> Option<TestHttpResponse> {
        self.0.read_response().await.unwrap().map(TestHttpResponse)
    }

    /// Reads until the text arrives.
    pub(crate) async fn read_until(&mut self, text: &[u8]) {
        self.0.read_until(text).await.unwrap();
    }

    /// Waits until the server closes the connection.
    pub(crate) async fn wait_closed(&mut self) {
        self.0.wait_closed().await.unwrap();
    }
}

#[derive(Debug)]
pub(crate) struct TestHttpResponse(RawResponse);

impl Deref for TestHttpResponse {
    type Target = RawResponse;

    fn deref(&self) -> &RawResponse {
        &self.0
    }
}

impl TestHttpResponse {
    pub(crate) fn json(&self) -> Value {
        self.0.json().unwrap()
    }

    #[track_caller]
    pub(crate) fn assert_rejected(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.code().as_str()), (status, code));
    }

    /// The code of a rejection in either format.
    pub(crate) fn code(&self) -> String {
        let body = self.json();
        let error = &body["error"];
        let code = error["data"]["code"].as_str().or(error["code"].as_str());
        code.unwrap().to_owned()
    }
}
