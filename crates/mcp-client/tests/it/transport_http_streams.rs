//! Tests of interrupted and resumed streams, and of the GET stream.

use std::sync::Arc;

use deliberate_mcp_client::transport::{DeliveryStatus, IncomingEvent, TransportError};
use serde_json::json;

use super::transport_http_support::{
    HttpTestServer, handshake, notification, request, stateless, wait_until,
};

fn result_message(id: u64) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": {}}).to_string()
}

fn notification_message(method: &str) -> String {
    json!({"jsonrpc": "2.0", "method": method}).to_string()
}

#[tokio::test]
async fn a_broken_stream_is_gone_on_with_where_it_broke() {
    let server = HttpTestServer::start(|request, back| async move {
        let back = back.begin_events().await?;
        match (request.method.as_str(), request.header("last-event-id")) {
            // A clean end.
            ("POST", _) => {
                let primer = format!(
                    "id: a\nretry: 60\ndata: \n\ndata: {}\n\n",
                    notification_message("one")
                );
                back.chunk(primer).await?.end().await
            }
            // A partial event, which does not count.
            ("GET", Some("a")) => {
                let text = format!(
                    "id: b\ndata: {}\n\nid: c\ndata: {{",
                    notification_message("two")
                );
                back.chunk(text).await?;
                None
            }
            ("GET", Some("b")) => back.event(&result_message(5)).await?.end().await,
            other => panic!("{other:?}"),
        }
    })
    .await;
    let (link, mut arrivals) = server.open_transport().await;
    link.set_protocol(&handshake());
    link.send(request(5, "tools/call")).await.unwrap();
    assert_eq!(
        arrivals.next_notification().await,
        ("one".to_owned(), Some(5))
    );
    assert_eq!(
        arrivals.next_notification().await,
        ("two".to_owned(), Some(5))
    );
    assert_eq!(arrivals.next_response().await.0, 5);
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    for get in &requests[1..] {
        assert_eq!(get.header("accept"), Some("text/event-stream"));
        assert_eq!(get.header("mcp-protocol-version"), Some("2025-11-25"));
        assert_eq!(get.header("x-key"), Some("opensesame"));
    }
}

#[tokio::test]
async fn a_stream_without_a_place_to_go_on_from_is_lost() {
    let cases = [
        (handshake(), ""),
        // The stateless era has no resuming.
        (stateless(), "id: a\n"),
    ];
    for (agreed, id) in cases {
        let server = HttpTestServer::start(move |_, back| async move {
            let back = back.begin_events().await?;
            back.chunk(format!("{id}retry: 1\ndata:\n\n")).await?;
            None
        })
        .await;
        let (link, mut arrivals) = server.open_transport().await;
        link.set_protocol(&agreed);
        link.send(request(1, "tools/call")).await.unwrap();
        let (_, error) = arrivals.next_failure().await;
        assert!(matches!(error, TransportError::Closed { .. }), "{error:?}");
        assert_eq!(error.delivery_status(), DeliveryStatus::Maybe);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn going_on_is_tried_so_often_and_not_where_there_is_none() {
    for (status, tries) in [(405, 1), (404, 1), (503, 5)] {
        let server = HttpTestServer::start(move |request, back| async move {
            if request.method == "GET" {
                return back.answer(status, &[], "").await;
            }
            let back = back.begin_events().await?;
            back.chunk("id: a\nretry: 1\ndata:\n\n").await?.end().await
        })
        .await;
        let (link, mut arrivals) = server.open_transport().await;
        link.set_protocol(&handshake());
        link.send(request(1, "tools/call")).await.unwrap();
        let (_, error) = arrivals.next_failure().await;
        assert_eq!(error.delivery_status(), DeliveryStatus::Maybe, "{error:?}");
        assert_eq!(server.requests().len(), 1 + tries, "{status}");
    }
}

#[tokio::test]
async fn what_the_server_says_unasked_comes_and_goes_on_after_a_break() {
    let server = HttpTestServer::start(|request, back| async move {
        if request.method == "POST" {
            return back.accept().await;
        }
        let back = back.begin_events().await?;
        if request.header("last-event-id") == Some("n1") {
            return back
                .event(&notification_message("second"))
                .await?
                .hang()
                .await;
        }
        let text = format!(
            "id: n1\nretry: 1\ndata: {}\n\n",
            notification_message("first")
        );
        back.chunk(text).await?;
        None
    })
    .await;
    let (link, mut arrivals) = server.open_transport().await;
    link.set_protocol(&handshake());
    link.send(notification("notifications/initialized"))
        .await
        .unwrap();
    assert_eq!(
        arrivals.next_notification().await,
        ("first".to_owned(), None)
    );
    assert_eq!(
        arrivals.next_notification().await,
        ("second".to_owned(), None)
    );
}

#[tokio::test]
async fn an_answer_on_the_servers_own_stream_ends_the_request() {
    // Each holder is answering a request that waits on its own stream.
    let waiting = Arc::new(());
    let handed_out = Arc::clone(&waiting);
    let server = HttpTestServer::start(move |recorded_request, back| {
        let waiting = Arc::clone(&handed_out);
        async move {
            if recorded_request.method == "POST" && !recorded_request.body.contains("\"id\"") {
                drop(waiting);
                return back.accept().await;
            }
            let back = back.begin_events().await?;
            if recorded_request.method == "POST" {
                return back.hang().await;
            }
            // Two references are held elsewhere.
            wait_until(|| Arc::strong_count(&waiting) > 3).await;
            drop(waiting);
            back.event(&result_message(3)).await?.hang().await
        }
    })
    .await;
    let (link, mut arrivals) = server.open_transport().await;
    link.set_protocol(&handshake());
    link.send(notification("notifications/initialized"))
        .await
        .unwrap();
    link.send(request(3, "tools/call")).await.unwrap();
    assert_eq!(arrivals.next_response().await.0, 3);
    wait_until(|| Arc::strong_count(&waiting) == 2).await;
    assert!(arrivals.is_empty());
}

#[tokio::test]
async fn garbage_on_a_stream_does_not_end_it() {
    let server = HttpTestServer::start(|request, back| async move {
        let back = back.begin_events().await?;
        let back = back.event("not json").await?;
        let back = back.chunk("event: other\ndata: skipped\n\n").await?;
        back.event(&request.result()).await?.end().await
    })
    .await;
    let (link, mut arrivals) = server.open_transport().await;
    link.send(request(1, "x")).await.unwrap();
    let first = arrivals.next().await;
    assert!(matches!(first, IncomingEvent::Garbage(_)), "{first:?}");
    assert_eq!(arrivals.next_response().await.0, 1);
}
