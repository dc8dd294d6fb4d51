//! Tests of HTTP with server-sent events: the endpoint, the stream, and its end.

use std::{sync::Arc, time::Duration};

use deliberate_mcp_client::{
    config::ServerLimits,
    transport::{
        Connector as _, DeliveryStatus, IncomingEvent, IncomingSink, McpTransport, TransportError,
        sse::SseConnector,
    },
};
use serde_json::json;
use tokio::{sync::broadcast, time::Instant};

use super::transport_http_support::{
    HttpTestServer, LONG, RecordedRequest, ResponseWriter, handshake, incoming_channel,
    notification, request,
};

async fn connect(
    server: &HttpTestServer,
    inbox: IncomingSink,
) -> Result<Arc<dyn McpTransport>, TransportError> {
    let limits = ServerLimits {
        message_bytes: 10_000,
        ..ServerLimits::default()
    };
    let connector = SseConnector::new(server.config(), &limits, None).unwrap();
    connector.open(inbox, Instant::now() + LONG).await
}

/// A server that answers on its stream what is posted to `/post`.
async fn echo() -> HttpTestServer {
    let (said, _) = broadcast::channel::<String>(100);
    HttpTestServer::start(move |request: RecordedRequest, back: ResponseWriter| {
        let said = said.clone();
        async move {
            if request.method == "POST" {
                if request.path != "/post?session=1" {
                    return back.answer(404, &[], "").await;
                }
                if request.body.contains("\"id\"") {
                    said.send(request.result()).ok()?;
                }
                let headers = [("content-type", "text/plain")];
                return back.answer(202, &headers, "Accepted").await;
            }
            let mut heard = said.subscribe();
            let back = back.begin_events().await?;
            let text = "event: endpoint\ndata: /post?session=1\n\n";
            let mut back = back.chunk(text).await?;
            while let Ok(answer) = heard.recv().await {
                back = back.event(&answer).await?;
                if answer.contains("\"id\":13") {
                    return back.end().await;
                }
            }
            Some(back)
        }
    })
    .await
}

#[tokio::test]
async fn messages_go_to_the_address_and_answers_come_on_the_stream() {
    let server = echo().await;
    let (inbox, mut arrivals) = incoming_channel();
    let link = connect(&server, inbox).await.unwrap();
    for id in 1..=10 {
        link.send(request(id, "ping")).await.unwrap();
    }
    let mut answered = Vec::new();
    for _ in 0..10 {
        answered.push(arrivals.next_response().await.0);
    }
    answered.sort_unstable();
    assert_eq!(answered, (1..=10).collect::<Vec<_>>());
    link.set_protocol(&handshake());
    link.send(notification("x")).await.unwrap();
    let last = server.requests().pop().unwrap();
    assert_eq!(last.header("mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!(last.header("x-key"), Some("opensesame"));
    assert!(!link.abandon(1));

    // The stream ends with this request.
    link.send(request(13, "ping")).await.unwrap();
    assert_eq!(arrivals.next_response().await.0, 13);
    let end = arrivals.next().await;
    assert!(
        matches!(
            end,
            IncomingEvent::Closed(Some(TransportError::Closed { .. }))
        ),
        "{end:?}"
    );
    let refused = link.send(request(14, "ping")).await;
    assert_eq!(refused.unwrap_err().delivery_status(), DeliveryStatus::No);
    link.close().await;
    drop(link);
    assert!(arrivals.is_empty());
}

#[tokio::test]
async fn an_address_elsewhere_is_refused() {
    for (text, fine) in [
        ("http://example.com/post", false),
        ("//example.com/post", false),
        ("http://127.0.0.1:1/post", false),
        ("javascript:alert(1)", false),
        ("http://[", false),
        ("../post?x=1", true),
        ("", true),
    ] {
        let server = HttpTestServer::start(move |_, back| async move {
            let back = back.begin_events().await?;
            back.chunk(format!("event: endpoint\ndata: {text}\n\n"))
                .await?
                .hang()
                .await
        })
        .await;
        let (inbox, _arrivals) = incoming_channel();
        match connect(&server, inbox).await {
            Ok(_) => assert!(fine, "{text}"),
            Err(error) => {
                assert!(!fine, "{text}: {error}");
                assert!(matches!(error, TransportError::Garbage { .. }), "{error:?}");
            }
        }
        server.wait_for_open(0).await;
    }
}

#[tokio::test]
async fn a_stream_that_cannot_be_opened_says_why() {
    for (status, kind, expected) in [
        (404, "text/plain", "Http"),
        (401, "text/plain", "Unauthorized"),
        (200, "text/html", "Garbage"),
    ] {
        let server = HttpTestServer::start(move |_, back| async move {
            back.answer(status, &[("content-type", kind)], "").await
        })
        .await;
        let (inbox, _arrivals) = incoming_channel();
        let error = connect(&server, inbox).await.err().unwrap();
        assert!(format!("{error:?}").starts_with(expected), "{error:?}");
    }
    let server = HttpTestServer::start(|_, _| async { None }).await;
    let (cut, _arrivals) = incoming_channel();
    let error = connect(&server, cut).await.err().unwrap();
    assert_eq!(error.delivery_status(), DeliveryStatus::No, "{error:?}");

    let silent =
        HttpTestServer::start(|_, back| async { back.begin_events().await?.hang().await }).await;
    let connector = SseConnector::new(silent.config(), &ServerLimits::default(), None).unwrap();
    let (waits, _arrivals) = incoming_channel();
    let soon = Instant::now() + Duration::from_millis(100);
    let error = connector.open(waits, soon).await.err().unwrap();
    assert!(matches!(error, TransportError::ConnectTimeout { .. }));
    silent.wait_for_open(0).await;
}

#[tokio::test]
async fn an_answer_in_the_post_counts_and_a_refusal_fails_the_request() {
    let server = HttpTestServer::start(|request, back| async move {
        if request.method == "GET" {
            let back = back.begin_events().await?;
            let back = back.chunk("event: endpoint\ndata: /post\n\n").await?;
            return back.hang().await;
        }
        match request.id().as_u64()? {
            1 => back.json(&request.result()).await,
            2 => back.answer(500, &[], "").await,
            3 => {
                let body = json!({"error": {"code": -32602, "message": "x"}}).to_string();
                let headers = [("content-type", "application/json")];
                back.answer(400, &headers, &body).await
            }
            _ => back.answer(404, &[], "").await,
        }
    })
    .await;
    let (inbox, mut arrivals) = incoming_channel();
    let link = connect(&server, inbox).await.unwrap();
    link.send(request(1, "x")).await.unwrap();
    assert_eq!(arrivals.next_response().await.0, 1);
    link.send(request(2, "x")).await.unwrap();
    assert_eq!(arrivals.next_failure().await.0, 2);
    link.send(request(3, "x")).await.unwrap();
    assert_eq!(arrivals.next_response().await, (3, Err(-32602)));
    link.send(request(4, "x")).await.unwrap();
    assert!(matches!(arrivals.next().await, IncomingEvent::SessionLost));
    assert_eq!(
        arrivals.next_failure().await.1.delivery_status(),
        DeliveryStatus::No
    );
    drop(link);
    server.wait_for_open(0).await;
}

#[tokio::test]
async fn too_large_an_event_ends_the_connection() {
    let server = HttpTestServer::start(|_, back| async move {
        let back = back.begin_events().await?;
        let mut back = back.chunk("event: endpoint\ndata: /post\n\ndata: ").await?;
        loop {
            back = back.chunk("x".repeat(1000)).await?;
        }
    })
    .await;
    let (inbox, mut arrivals) = incoming_channel();
    let _link = connect(&server, inbox).await.unwrap();
    let end = arrivals.next().await;
    let limit = 10_000;
    assert!(
        matches!(&end, IncomingEvent::Closed(Some(error)) if *error == TransportError::TooLarge { limit }),
        "{end:?}"
    );
    server.wait_for_open(0).await;
}
