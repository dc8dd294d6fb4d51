//! Progress over a WebSocket: visibility of calls, and watchers that do not read.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{extract::Request, middleware};
use deliberate_core::ModelUsage;
use deliberate_server::http::{ProgressHub, ProgressOptions, progress_routes};
use deliberate_toolkit::{CallEvent, CallInfo, CallListener, CallProgress, Principal};
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Error, Message, client::IntoClientRequest},
};

use crate::sse_support::{wait_until, with_timeout};

type TestSocket = WebSocketStream<MaybeTlsStream<TcpStream>>;

struct ProgressTestServer {
    address: SocketAddr,
    hub: Arc<ProgressHub>,
}

fn principal_named(name: Option<&str>) -> Principal {
    Principal {
        name: name.map(Into::into),
        ..Principal::default()
    }
}

async fn add_principal(mut request: Request) -> Request {
    let name = request.headers().get("x-name");
    let who = principal_named(name.map(|name| name.to_str().unwrap()));
    request.extensions_mut().insert(who);
    request
}

impl ProgressTestServer {
    async fn start(options: ProgressOptions) -> Self {
        let hub = ProgressHub::new(options);
        let router = progress_routes(hub.clone()).layer(middleware::map_request(add_principal));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, hub }
    }

    async fn try_connect(&self, query: &str, name: Option<&str>) -> Result<TestSocket, Error> {
        let url = format!("ws://{}/ws/progress{query}", self.address);
        let mut request = url.into_client_request().unwrap();
        if let Some(name) = name {
            let name = name.parse().unwrap();
            request.headers_mut().insert("x-name", name);
        }
        let connecting = connect_async(request);
        with_timeout("a socket", Box::pin(connecting))
            .await
            .map(|(socket, _)| socket)
    }

    async fn connect(&self, query: &str, name: Option<&str>) -> TestSocket {
        self.try_connect(query, name).await.unwrap()
    }

    fn emit_began(&self, id: u64, tool: &'static str, name: Option<&str>) {
        let principal = principal_named(name);
        let call = CallInfo {
            id,
            tool,
            principal: &principal,
        };
        self.hub.on_event(CallEvent::Started(&call));
    }
}

async fn next_message(socket: &mut TestSocket) -> Option<Value> {
    loop {
        match with_timeout("a message", socket.next()).await? {
            Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
            Ok(Message::Ping(_) | Message::Pong(_)) => {}
            Ok(_) | Err(_) => return None,
        }
    }
}

#[tokio::test]
async fn a_call_is_told_from_beginning_to_end() {
    let server = ProgressTestServer::start(ProgressOptions::default()).await;
    let mut socket = server.connect("", None).await;
    let mut second = server.connect("", None).await;
    let principal = principal_named(None);
    let call = CallInfo {
        id: 7,
        tool: "think",
        principal: &principal,
    };
    let progress = CallProgress {
        done: 1.0,
        total: Some(4.0),
        message: "step 1".to_owned(),
    };
    let long = CallProgress {
        done: 2.0,
        total: None,
        message: "ä".repeat(10_000),
    };
    server.hub.on_event(CallEvent::Started(&call));
    server.hub.on_event(CallEvent::Progress(&call, &progress));
    server.hub.on_event(CallEvent::Progress(&call, &long));
    server.hub.on_event(CallEvent::Panicked { tool: "think" });
    server.hub.on_event(CallEvent::Ended {
        call: &call,
        elapsed: Duration::from_millis(12),
        error: Some("timeout"),
        usage: &ModelUsage::default(),
    });
    for socket in [&mut socket, &mut second] {
        let mut told = Vec::new();
        for _ in 0..4 {
            told.push(next_message(socket).await.unwrap());
        }
        assert_eq!(
            told[0],
            json!({"type": "began", "call": 7, "tool": "think"})
        );
        assert_eq!(
            told[1],
            json!({
                "type": "progress", "call": 7, "tool": "think",
                "done": 1.0, "total": 4.0, "message": "step 1"
            })
        );
        assert_eq!(told[2]["message"], "ä".repeat(1_000));
        assert_eq!(told[2]["total"], json!(null));
        assert_eq!(
            told[3],
            json!({
                "type": "ended", "call": 7, "tool": "think", "error": "timeout", "took_ms": 12
            })
        );
    }
}

#[tokio::test]
async fn everyone_sees_their_own_calls_only() {
    let server = ProgressTestServer::start(ProgressOptions::default()).await;
    let mut ann = server.connect("", Some("ann")).await;
    let mut bob = server.connect("", Some("bob")).await;
    let mut local = server.connect("", None).await;
    server.emit_began(1, "a", Some("ann"));
    server.emit_began(2, "a", Some("bob"));
    server.emit_began(3, "a", None);
    server.emit_began(4, "a", Some("ann"));
    server.emit_began(5, "a", Some("bob"));
    server.emit_began(6, "a", None);
    for (socket, calls) in [(&mut ann, [1, 4]), (&mut bob, [2, 5]), (&mut local, [3, 6])] {
        for call in calls {
            assert_eq!(next_message(socket).await.unwrap()["call"], call);
        }
    }
}

#[tokio::test]
async fn one_tool_can_be_watched_alone() {
    let server = ProgressTestServer::start(ProgressOptions::default()).await;
    let mut socket = server.connect("?tool=wanted", None).await;
    server.emit_began(1, "other", None);
    server.emit_began(2, "wanted", None);
    assert_eq!(next_message(&mut socket).await.unwrap()["call"], 2);
}

#[tokio::test]
async fn who_reads_too_slowly_is_told_what_was_missed() {
    let options = ProgressOptions {
        queue: 3,
        ..ProgressOptions::default()
    };
    let server = ProgressTestServer::start(options).await;
    let mut socket = server.connect("", None).await;
    // Nothing here lets the socket's task run, so that all messages are queued.
    for call in 1..=10 {
        server.emit_began(call, "a", None);
    }
    assert_eq!(
        next_message(&mut socket).await.unwrap(),
        json!({"type": "missed", "count": 7})
    );
    for call in 8..=10 {
        assert_eq!(next_message(&mut socket).await.unwrap()["call"], call);
    }
}

#[tokio::test]
async fn watchers_are_limited_and_leave_no_trace() {
    let options = ProgressOptions {
        watchers: 2,
        ..ProgressOptions::default()
    };
    let server = ProgressTestServer::start(options).await;
    let first = server.connect("", None).await;
    let mut second = server.connect("", None).await;
    match server.try_connect("", None).await {
        Err(Error::Http(answer)) => {
            assert_eq!(answer.status(), 503);
            assert!(answer.headers().contains_key("retry-after"));
        }
        other => panic!("{other:?}"),
    }
    drop(first);
    wait_until("the first to be gone", || server.hub.active() == 1).await;
    drop(server.connect("", None).await);

    // A message that is too long ends the watcher; a short one is ignored.
    second.send(Message::text("hello")).await.unwrap();
    server.emit_began(1, "a", None);
    assert_eq!(next_message(&mut second).await.unwrap()["call"], 1);
    second
        .send(Message::text("x".repeat(10_000)))
        .await
        .unwrap();
    assert_eq!(next_message(&mut second).await, None);
    wait_until("all to be gone", || server.hub.active() == 0).await;
}

#[tokio::test]
async fn who_does_not_answer_pings_is_cut_off() {
    let options = ProgressOptions {
        // Long enough that a busy machine does not disconnect the watcher that answers.
        ping_every: Duration::from_secs(2),
        ..ProgressOptions::default()
    };
    let server = ProgressTestServer::start(options).await;
    // A socket that is not read does not answer pings.
    let _dead = server.connect("", None).await;
    let mut alive = server.connect("?tool=none", None).await;
    let reading = tokio::spawn(async move { next_message(&mut alive).await });
    wait_until("the dead one to be gone", || server.hub.active() == 1).await;
    assert!(!reading.is_finished());
    server.hub.close();
    assert_eq!(with_timeout("the end", reading).await.unwrap(), None);
    assert!(
        server.try_connect("", None).await.is_err(),
        "closed for good"
    );
}
