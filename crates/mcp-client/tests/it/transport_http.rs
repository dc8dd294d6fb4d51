//! Tests of streamable HTTP without failures: headers in each era, JSON and streams, concurrency,
//! and a clean end.

use std::sync::Arc;

use deliberate_mcp_client::{
    config::ServerLimits,
    transport::{Connector as _, IncomingEvent, MessageKind, http::HttpConnector},
};
use serde_json::json;
use tokio::{sync::Barrier, time::Instant};

use super::transport_http_support::{
    HttpTestServer, LONG, handshake, incoming_channel, notification, outgoing, request, stateless,
};

#[tokio::test]
async fn opening_sends_nothing() {
    let server = HttpTestServer::start(|_, back| async { back.accept().await }).await;
    let (link, mut arrivals) = server.open_transport().await;
    link.close().await;
    assert!(matches!(arrivals.next().await, IncomingEvent::Closed(None)));
    drop(link);
    assert!(arrivals.is_empty(), "closed twice");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_handshake_keeps_its_session_and_says_goodbye() {
    let server = HttpTestServer::start(|request, back| async move {
        match request.method.as_str() {
            "POST" if request.body.contains("\"initialize\"") => {
                let headers = [
                    ("content-type", "application/json"),
                    ("mcp-session-id", "abc-123"),
                ];
                back.answer(200, &headers, &request.result()).await
            }
            "POST" if request.body.contains("\"id\"") => back.json(&request.result()).await,
            "POST" => back.accept().await,
            _ => back.answer(405, &[], "").await,
        }
    })
    .await;
    let (link, mut arrivals) = server.open_transport().await;
    link.send(request(1, "initialize")).await.unwrap();
    assert_eq!(arrivals.next_response().await, (1, Ok(json!({"ok": true}))));
    link.set_protocol(&handshake());
    link.send(notification("notifications/initialized"))
        .await
        .unwrap();
    // The GET stream is requested and rejected.
    server.wait_for_requests(3).await;
    link.send(request(2, "tools/list")).await.unwrap();
    assert_eq!(arrivals.next_response().await.0, 2);
    link.close().await;

    let requests = server.wait_for_requests(5).await;
    let methods: Vec<&str> = requests
        .iter()
        .map(|request| request.method.as_str())
        .collect();
    assert_eq!(methods, ["POST", "POST", "GET", "POST", "DELETE"]);
    let [first, later @ ..] = requests.as_slice() else {
        panic!()
    };
    assert_eq!(first.header("mcp-session-id"), None);
    assert_eq!(first.header("mcp-protocol-version"), None);
    assert_eq!(first.header("content-type"), Some("application/json"));
    assert_eq!(
        first.header("accept"),
        Some("application/json, text/event-stream")
    );
    for request in later {
        assert_eq!(
            request.header("mcp-session-id"),
            Some("abc-123"),
            "{request:?}"
        );
        assert_eq!(request.header("mcp-protocol-version"), Some("2025-11-25"));
        assert_eq!(request.header("mcp-method"), None);
        assert_eq!(request.header("x-key"), Some("opensesame"));
    }
    assert_eq!(requests[2].header("accept"), Some("text/event-stream"));
}

#[tokio::test]
async fn the_stateless_era_has_its_own_headers_and_no_session() {
    let server = HttpTestServer::start(|request, back| async move {
        let headers = [
            ("content-type", "application/json"),
            ("mcp-session-id", "unwanted"),
        ];
        back.answer(200, &headers, &request.result()).await
    })
    .await;
    let (link, mut arrivals) = server.open_transport().await;
    link.set_protocol(&stateless());
    link.send(request(1, "server/discover")).await.unwrap();
    assert!(arrivals.next_response().await.1.is_ok());
    let mut call = request(2, "tools/call");
    call.name = Some("grüßen".to_owned());
    call.param_headers = vec![
        ("Region".to_owned(), "eu west".to_owned()),
        ("Note".to_owned(), " padded".to_owned()),
    ];
    link.send(call).await.unwrap();
    assert!(arrivals.next_response().await.1.is_ok());
    link.send(notification("notifications/initialized"))
        .await
        .unwrap();
    link.close().await;

    let requests = server.wait_for_requests(3).await;
    assert_eq!(requests.len(), 3, "no stream and no goodbye: {requests:?}");
    for request in &requests {
        assert_eq!(request.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(request.header("mcp-session-id"), None);
    }
    assert_eq!(requests[0].header("mcp-method"), Some("server/discover"));
    assert_eq!(requests[0].header("mcp-name"), None);
    assert_eq!(requests[1].header("mcp-method"), Some("tools/call"));
    assert_eq!(
        requests[1].header("mcp-name"),
        Some("=?base64?Z3LDvMOfZW4=?=")
    );
    assert_eq!(requests[1].header("mcp-param-region"), Some("eu west"));
    assert_eq!(
        requests[1].header("mcp-param-note"),
        Some("=?base64?IHBhZGRlZA==?=")
    );
}

#[tokio::test]
async fn events_come_as_they_are_sent_however_they_are_cut() {
    let server = HttpTestServer::start(|request, back| async move {
        let news = json!({"jsonrpc": "2.0", "method": "notifications/progress"});
        let text = format!(
            ": hi\r\nid: 1\r\ndata:\r\n\r\ndata: {news}\r\n\r\nevent: message\ndata: {}\n\n",
            request.result()
        );
        let mut back = back.begin_events().await?;
        for byte in text.as_bytes() {
            back = back.chunk([*byte]).await?;
        }
        back.end().await
    })
    .await;
    let (link, mut arrivals) = server.open_transport().await;
    for id in 1..=3 {
        link.send(request(id, "tools/call")).await.unwrap();
        let news = ("notifications/progress".to_owned(), Some(id));
        assert_eq!(arrivals.next_notification().await, news);
        assert_eq!(arrivals.next_response().await.0, id);
    }
    assert!(arrivals.is_empty());
}

#[tokio::test]
async fn a_stream_is_read_while_it_is_written() {
    let (tell, heard) = tokio::sync::watch::channel(false);
    let server = HttpTestServer::start(move |request, back| {
        let mut heard = heard.clone();
        async move {
            let news = json!({"jsonrpc": "2.0", "method": "notifications/message"});
            let back = back.begin_events().await?;
            let back = back.event(&news.to_string()).await?;
            // The answer is held back until the notification was read.
            heard.wait_for(|heard| *heard).await.ok()?;
            back.event(&request.result()).await?.end().await
        }
    })
    .await;
    let (link, mut arrivals) = server.open_transport().await;
    link.send(request(7, "tools/call")).await.unwrap();
    let news = arrivals.next_notification().await;
    assert_eq!(news, ("notifications/message".to_owned(), Some(7)));
    tell.send(true).unwrap();
    assert_eq!(arrivals.next_response().await.0, 7);
}

#[tokio::test]
async fn many_requests_are_on_their_way_at_once() {
    let all = Arc::new(Barrier::new(64));
    let server = HttpTestServer::start(move |request, back| {
        let all = Arc::clone(&all);
        async move {
            all.wait().await;
            back.json(&request.result()).await
        }
    })
    .await;
    let (link, mut arrivals) = server.open_transport().await;
    for id in 0..64 {
        link.send(request(id, "tools/call")).await.unwrap();
    }
    let mut answered = Vec::new();
    for _ in 0..64 {
        answered.push(arrivals.next_response().await.0);
    }
    answered.sort_unstable();
    assert_eq!(answered, (0..64).collect::<Vec<_>>());
}

#[tokio::test]
async fn connections_are_used_again_after_json_and_after_streams() {
    let server = HttpTestServer::start(|request, back| async move {
        if request.id().as_u64()? % 2 == 0 {
            return back.json(&request.result()).await;
        }
        let back = back.begin_events().await?.event(&request.result()).await?;
        back.end().await
    })
    .await;
    let (link, mut arrivals) = server.open_transport().await;
    for id in 0..20 {
        link.send(request(id, "ping")).await.unwrap();
        assert_eq!(arrivals.next_response().await.0, id);
        // The end of a stream arrives a little after the answer.
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert!(
        server.connection_count() <= 4,
        "{} connections",
        server.connection_count()
    );
}

#[tokio::test]
async fn answers_to_the_server_are_posted_and_taken() {
    let server = HttpTestServer::start(|_, back| async { back.accept().await }).await;
    let (link, mut arrivals) = server.open_transport().await;
    let body = br#"{"jsonrpc":"2.0","id":"s1","result":{}}"#.to_vec();
    let answer = outgoing(MessageKind::Response, None, body);
    link.send(answer).await.unwrap();
    assert!(server.requests()[0].body.contains("s1"));
    assert!(arrivals.is_empty());
}

#[tokio::test]
async fn what_is_abandoned_is_no_longer_read() {
    let server = HttpTestServer::start(|_, back| async {
        let back = back.begin_events().await?;
        back.hang().await
    })
    .await;
    for (agreed, told) in [(stateless(), true), (handshake(), false)] {
        let (link, mut arrivals) = server.open_transport().await;
        link.set_protocol(&agreed);
        let before = server.requests().len();
        link.send(request(1, "tools/call")).await.unwrap();
        server.wait_for_requests(before + 1).await;
        assert_eq!(link.abandon(1), told);
        server.wait_for_open(0).await;
        assert!(!link.abandon(1), "nothing is left to abandon");
        assert!(arrivals.is_empty());
    }
}

#[tokio::test]
async fn nothing_outlives_the_link() {
    let server = HttpTestServer::start(|request, back| async move {
        match request.method.as_str() {
            "POST" if !request.body.contains("\"id\"") => back.accept().await,
            _ => back.begin_events().await?.hang().await,
        }
    })
    .await;
    for close in [true, false] {
        let connector =
            HttpConnector::new(server.config(), &ServerLimits::default(), None).unwrap();
        let (inbox, mut arrivals) = incoming_channel();
        let link = connector.open(inbox, Instant::now() + LONG).await.unwrap();
        link.set_protocol(&handshake());
        let before = server.requests().len();
        link.send(notification("notifications/initialized"))
            .await
            .unwrap();
        for id in 0..10 {
            link.send(request(id, "tools/call")).await.unwrap();
        }
        server.wait_for_requests(before + 12).await;
        if close {
            link.close().await;
        }
        drop(link);
        drop(connector);
        server.wait_for_open(0).await;
        assert!(matches!(arrivals.next().await, IncomingEvent::Closed(None)));
    }
}
