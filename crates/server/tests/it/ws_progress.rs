//! Watching calls over a WebSocket: who sees what, and what happens to those who do not read.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{extract::Request, middleware};
use deliberate_core::Spent;
use deliberate_server::http::{ProgressHub, ProgressOptions, progress_routes};
use deliberate_toolkit::{Event, Listener, Principal, Progress, Running};
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{Error, Message, client::IntoClientRequest},
};

use crate::sse_support::{patiently, until};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

struct Server {
    address: SocketAddr,
    hub: Arc<ProgressHub>,
}

fn principal(name: Option<&str>) -> Principal {
    Principal {
        name: name.map(Into::into),
        ..Principal::default()
    }
}

async fn name(mut request: Request) -> Request {
    let name = request.headers().get("x-name");
    let who = principal(name.map(|name| name.to_str().unwrap()));
    request.extensions_mut().insert(who);
    request
}

impl Server {
    async fn start(options: ProgressOptions) -> Self {
        let hub = ProgressHub::new(options);
        let router = progress_routes(hub.clone()).layer(middleware::map_request(name));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, hub }
    }

    async fn knock(&self, query: &str, name: Option<&str>) -> Result<Socket, Error> {
        let url = format!("ws://{}/ws/progress{query}", self.address);
        let mut request = url.into_client_request().unwrap();
        if let Some(name) = name {
            let name = name.parse().unwrap();
            request.headers_mut().insert("x-name", name);
        }
        let connecting = connect_async(request);
        patiently("a socket", Box::pin(connecting))
            .await
            .map(|(socket, _)| socket)
    }

    async fn watch(&self, query: &str, name: Option<&str>) -> Socket {
        self.knock(query, name).await.unwrap()
    }

    fn began(&self, id: u64, tool: &'static str, name: Option<&str>) {
        let principal = principal(name);
        let call = Running {
            id,
            tool,
            principal: &principal,
        };
        self.hub.hear(Event::Began(&call));
    }
}

async fn next(socket: &mut Socket) -> Option<Value> {
    loop {
        match patiently("a message", socket.next()).await? {
            Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
            Ok(Message::Ping(_) | Message::Pong(_)) => {}
            Ok(_) | Err(_) => return None,
        }
    }
}

#[tokio::test]
async fn a_call_is_told_from_beginning_to_end() {
    let server = Server::start(ProgressOptions::default()).await;
    let mut socket = server.watch("", None).await;
    let mut second = server.watch("", None).await;
    let principal = principal(None);
    let call = Running {
        id: 7,
        tool: "think",
        principal: &principal,
    };
    let progress = Progress {
        done: 1.0,
        total: Some(4.0),
        message: "step 1".to_owned(),
    };
    let long = Progress {
        done: 2.0,
        total: None,
        message: "ä".repeat(10_000),
    };
    server.hub.hear(Event::Began(&call));
    server.hub.hear(Event::Progressed(&call, &progress));
    server.hub.hear(Event::Progressed(&call, &long));
    server.hub.hear(Event::Panicked { tool: "think" });
    server.hub.hear(Event::Ended {
        call: &call,
        took: Duration::from_millis(12),
        error: Some("timeout"),
        spent: &Spent::default(),
    });
    for socket in [&mut socket, &mut second] {
        let mut told = Vec::new();
        for _ in 0..4 {
            told.push(next(socket).await.unwrap());
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
    let server = Server::start(ProgressOptions::default()).await;
    let mut ann = server.watch("", Some("ann")).await;
    let mut bob = server.watch("", Some("bob")).await;
    let mut local = server.watch("", None).await;
    server.began(1, "a", Some("ann"));
    server.began(2, "a", Some("bob"));
    server.began(3, "a", None);
    server.began(4, "a", Some("ann"));
    server.began(5, "a", Some("bob"));
    server.began(6, "a", None);
    for (socket, calls) in [(&mut ann, [1, 4]), (&mut bob, [2, 5]), (&mut local, [3, 6])] {
        for call in calls {
            assert_eq!(next(socket).await.unwrap()["call"], call);
        }
    }
}

#[tokio::test]
async fn one_tool_can_be_watched_alone() {
    let server = Server::start(ProgressOptions::default()).await;
    let mut socket = server.watch("?tool=wanted", None).await;
    server.began(1, "other", None);
    server.began(2, "wanted", None);
    assert_eq!(next(&mut socket).await.unwrap()["call"], 2);
}

#[tokio::test]
async fn who_reads_too_slowly_is_told_what_was_missed() {
    let options = ProgressOptions {
        queue: 3,
        ..ProgressOptions::default()
    };
    let server = Server::start(options).await;
    let mut socket = server.watch("", None).await;
    // Nothing here lets the socket's task run, so that all of it waits.
    for call in 1..=10 {
        server.began(call, "a", None);
    }
    assert_eq!(
        next(&mut socket).await.unwrap(),
        json!({"type": "missed", "count": 7})
    );
    for call in 8..=10 {
        assert_eq!(next(&mut socket).await.unwrap()["call"], call);
    }
}

#[tokio::test]
async fn watchers_are_limited_and_leave_no_trace() {
    let options = ProgressOptions {
        watchers: 2,
        ..ProgressOptions::default()
    };
    let server = Server::start(options).await;
    let first = server.watch("", None).await;
    let mut second = server.watch("", None).await;
    match server.knock("", None).await {
        Err(Error::Http(answer)) => {
            assert_eq!(answer.status(), 503);
            assert!(answer.headers().contains_key("retry-after"));
        }
        other => panic!("{other:?}"),
    }
    drop(first);
    until("the first to be gone", || server.hub.active() == 1).await;
    drop(server.watch("", None).await);

    // More than a watcher may say ends it; a little is passed over.
    second.send(Message::text("hello")).await.unwrap();
    server.began(1, "a", None);
    assert_eq!(next(&mut second).await.unwrap()["call"], 1);
    second
        .send(Message::text("x".repeat(10_000)))
        .await
        .unwrap();
    assert_eq!(next(&mut second).await, None);
    until("all to be gone", || server.hub.active() == 0).await;
}

#[tokio::test]
async fn who_does_not_answer_pings_is_cut_off() {
    let options = ProgressOptions {
        // Long enough that a busy machine does not cut off the one that answers.
        ping_every: Duration::from_secs(2),
        ..ProgressOptions::default()
    };
    let server = Server::start(options).await;
    // A socket that is not read does not answer pings; one that is does.
    let _dead = server.watch("", None).await;
    let mut alive = server.watch("?tool=none", None).await;
    let reading = tokio::spawn(async move { next(&mut alive).await });
    until("the dead one to be gone", || server.hub.active() == 1).await;
    assert!(!reading.is_finished());
    server.hub.close();
    assert_eq!(patiently("the end", reading).await.unwrap(), None);
    assert!(server.knock("", None).await.is_err(), "closed for good");
}
