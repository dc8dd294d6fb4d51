//! Tests of misbehaving HTTP servers: each failure has its type, says whether the request may have
//! arrived, and contains no secret.

use std::{sync::Arc, time::Duration};

use deliberate_mcp_client::{
    config::ServerLimits,
    transport::{
        Connector as _, DeliveryStatus, IncomingEvent, TransportError,
        http::{HttpConnector, looks_like_sse_only},
    },
};
use tokio::net::TcpSocket;
use url::Url;

use super::transport_http_support::{
    HttpTestServer, RecordedRequest, ResponseWriter, config, handshake, notification, open,
    request, stateless,
};

/// Returns the error of a request to a server with this behavior.
async fn failure<F, A>(act: F) -> TransportError
where
    F: Fn(RecordedRequest, ResponseWriter) -> A + Send + Sync + 'static,
    A: Future<Output = Option<ResponseWriter>> + Send + 'static,
{
    let server = HttpTestServer::start(act).await;
    let limits = ServerLimits {
        message_bytes: 10_000,
        ..ServerLimits::default()
    };
    let (link, mut arrivals) = open(server.config(), &limits).await;
    link.send(request(1, "tools/call")).await.unwrap();
    loop {
        match arrivals.next().await {
            IncomingEvent::Failed { id: 1, error } => return error,
            IncomingEvent::Garbage(_) | IncomingEvent::Message { .. } => {}
            other => panic!("unexpected: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_refused_connection_was_never_used() {
    // The port is bound and not listened on, so that nobody else listens there.
    let held = TcpSocket::new_v4().unwrap();
    held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}/mcp?key=opensesame", held.local_addr().unwrap());
    let config = config(Url::parse(&url).unwrap());
    let (link, mut arrivals) = open(config, &ServerLimits::default()).await;
    link.send(request(1, "initialize")).await.unwrap();
    let (id, error) = arrivals.next_failure().await;
    assert_eq!(id, 1);
    assert!(
        matches!(error, TransportError::Unreachable { .. }),
        "{error:?}"
    );
    assert_eq!(error.delivery_status(), DeliveryStatus::No);
    assert!(!format!("{error} {error:?}").contains("opensesame"));

    let told = link.send(notification("notifications/initialized")).await;
    assert_eq!(told.unwrap_err().delivery_status(), DeliveryStatus::No);
}

#[tokio::test]
async fn a_cut_connection_may_have_carried_the_request() {
    let no_status = failure(|_, _| async { None }).await;
    let half_a_body = failure(|_, back| async {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n";
        back.write(format!("{head}\r\n{{\"jsonrpc\"")).await?;
        None
    })
    .await;
    let half_a_stream = failure(|_, back| async {
        back.begin_events().await?.chunk("data: {").await?;
        None
    })
    .await;
    let no_http = failure(|_, back| async {
        back.write("SSH-2.0-what\r\n\r\n").await?;
        None
    })
    .await;
    for error in [no_status, half_a_body, half_a_stream, no_http] {
        assert!(matches!(error, TransportError::Closed { .. }), "{error:?}");
        assert_eq!(error.delivery_status(), DeliveryStatus::Maybe);
    }
}

#[tokio::test]
async fn too_large_an_answer_is_not_read_to_its_end() {
    let large = "x".repeat(20_000);
    let text = large.clone();
    let announced = failure(move |_, back| {
        let body = text.clone();
        async move { back.json(&body).await }
    })
    .await;
    let chunked = failure(|_, back| async {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
        let mut back = back
            .write(format!("{head}transfer-encoding: chunked\r\n\r\n"))
            .await?;
        loop {
            back = back.chunk(" ".repeat(1000)).await?;
        }
    })
    .await;
    let event = failure(|_, back| async {
        let mut back = back.begin_events().await?.chunk("data: ").await?;
        loop {
            back = back.chunk("x".repeat(1000)).await?;
        }
    })
    .await;
    let limit = 10_000;
    for error in [announced, chunked, event] {
        assert_eq!(error, TransportError::TooLarge { limit });
    }
}

#[tokio::test]
async fn what_is_no_answer_is_called_so() {
    let texts = [
        "",
        "not json",
        r#"{"jsonrpc":"2.0","id":999,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        "[]",
    ];
    for text in texts {
        let error = failure(move |_, back| async move { back.json(text).await }).await;
        assert!(
            matches!(error, TransportError::Garbage { .. }),
            "{text}: {error:?}"
        );
    }
    let page = failure(|_, back| async {
        let headers = [("content-type", "text/html")];
        back.answer(200, &headers, "<html>Welcome</html>").await
    })
    .await;
    assert!(page.to_string().contains("`url`"), "{page}");
    let accepted = failure(|_, back| async { back.accept().await }).await;
    assert!(matches!(accepted, TransportError::Garbage { .. }));
}

#[tokio::test]
async fn a_session_that_cannot_be_sent_back_is_refused() {
    let server = HttpTestServer::start(|request, back| async move {
        let headers = [
            ("content-type", "application/json"),
            ("mcp-session-id", "two words"),
        ];
        back.answer(200, &headers, &request.result()).await
    })
    .await;
    let (link, mut arrivals) = server.open_transport().await;
    link.send(request(1, "initialize")).await.unwrap();
    let (_, error) = arrivals.next_failure().await;
    assert!(matches!(error, TransportError::Garbage { .. }), "{error:?}");
    // Only the answer to `initialize` starts a session.
    link.send(request(2, "tools/call")).await.unwrap();
    assert_eq!(arrivals.next_response().await.0, 2);
}

#[tokio::test]
async fn statuses_are_told_with_what_the_server_says_but_no_secret() {
    let busy = failure(|_, back| async {
        let headers = [("retry-after", "7"), ("content-type", "text/plain")];
        back.answer(429, &headers, "slow down,\nopensesame").await
    })
    .await;
    assert_eq!(
        busy,
        TransportError::Http {
            status: 429,
            message: Some("slow down, …".to_owned()),
            retry_after: Some(Duration::from_secs(7)),
        }
    );
    let broken = failure(|_, back| async {
        let headers = [("content-type", "text/html")];
        back.answer(502, &headers, "<html>opensesame</html>").await
    })
    .await;
    assert_eq!(broken.to_string(), "HTTP status 502");
    assert_eq!(broken.delivery_status(), DeliveryStatus::Maybe);
    for status in [400, 404, 405] {
        let error = failure(move |_, back| async move { back.answer(status, &[], "").await }).await;
        assert!(looks_like_sse_only(&error), "{error:?}");
    }
    assert!(!looks_like_sse_only(&broken));
    for status in [401, 403] {
        let error = failure(move |_, back| async move { back.answer(status, &[], "").await }).await;
        assert!(
            matches!(error, TransportError::Unauthorized { .. }),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn an_error_of_the_protocol_is_the_answer_whatever_the_status() {
    let server = HttpTestServer::start(|request, back| async move {
        let headers = [("content-type", "application/json")];
        let id = request.id();
        let (status, body) = match id.as_u64()? {
            1 => (400, r#"{"id":null,"error":{"code":-32022,"message":"x"}}"#),
            2 => (404, r#"{"id":2,"error":{"code":-32601,"message":"x"}}"#),
            3 => (500, r#"{"error":{"code":-32603,"message":"x"}}"#),
            _ => (200, r#"{"id":null,"error":{"code":-32700,"message":"x"}}"#),
        };
        back.answer(status, &headers, body).await
    })
    .await;
    let (link, mut arrivals) = server.open_transport().await;
    link.set_protocol(&stateless());
    for (id, code) in [(1, -32022), (2, -32601), (3, -32603), (4, -32700)] {
        link.send(request(id, "x")).await.unwrap();
        assert_eq!(arrivals.next_response().await, (id, Err(code)));
    }
}

#[tokio::test]
async fn a_forgotten_session_is_told_once_and_the_request_did_nothing() {
    let forgotten = [
        (404, ""),
        (
            404,
            r#"{"id":null,"error":{"code":-32001,"message":"Session not found"}}"#,
        ),
        (
            400,
            r#"{"id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#,
        ),
    ];
    for (status, body) in forgotten {
        let server = HttpTestServer::start(move |request, back| async move {
            let headers = [
                ("content-type", "application/json"),
                ("mcp-session-id", "s"),
            ];
            match request.header("mcp-session-id") {
                None => back.answer(200, &headers, &request.result()).await,
                Some(_) => back.answer(status, &headers, body).await,
            }
        })
        .await;
        let (link, mut arrivals) = server.open_transport().await;
        link.send(request(1, "initialize")).await.unwrap();
        assert_eq!(arrivals.next_response().await.0, 1);
        link.set_protocol(&handshake());
        link.send(request(2, "tools/call")).await.unwrap();
        assert!(matches!(arrivals.next().await, IncomingEvent::SessionLost));
        let (id, error) = arrivals.next_failure().await;
        assert_eq!((id, error.delivery_status()), (2, DeliveryStatus::No));
        link.send(request(3, "tools/call")).await.unwrap();
        assert_eq!(arrivals.next_failure().await.0, 3);
        let told = link.send(notification("notifications/cancelled")).await;
        assert_eq!(told.unwrap_err().delivery_status(), DeliveryStatus::No);
    }
}

#[tokio::test]
async fn redirects_stay_at_home_and_lose_nothing() {
    let other =
        HttpTestServer::start(|request, back| async move { back.json(&request.result()).await })
            .await;
    let away: Arc<str> = other.url.as_str().into();
    let server = HttpTestServer::start(move |request, back| {
        let away = Arc::clone(&away);
        async move {
            match (request.path.as_str(), request.id().as_u64()?) {
                ("/mcp", 1) => back.answer(307, &[("location", "/mcp/")], "").await,
                ("/mcp", 2) => back.answer(308, &[("location", &away)], "").await,
                ("/mcp", 3) => back.answer(302, &[("location", "/mcp/")], "").await,
                (_, 4) => back.answer(307, &[("location", "/again")], "").await,
                _ => back.json(&request.result()).await,
            }
        }
    })
    .await;
    let (link, mut arrivals) = server.open_transport().await;
    link.send(request(1, "x")).await.unwrap();
    assert_eq!(arrivals.next_response().await.0, 1);
    let requests = server.requests();
    assert_eq!(requests[1].path, "/mcp/");
    assert_eq!(
        (&requests[1].body, &requests[1].method),
        (&requests[0].body, &requests[0].method)
    );
    for id in 2..=4 {
        link.send(request(id, "x")).await.unwrap();
        let (_, error) = arrivals.next_failure().await;
        assert!(
            matches!(
                error,
                TransportError::Http {
                    status: 300..=399,
                    ..
                }
            ),
            "{error:?}"
        );
        assert_eq!(error.delivery_status(), DeliveryStatus::No);
    }
    assert!(other.requests().is_empty(), "the key went elsewhere");
}

#[tokio::test]
async fn nothing_shows_a_secret() {
    let url = "https://example.com/s/0123456789abcdef0123456789/mcp?token=opensesame";
    let config = config(Url::parse(url).unwrap());
    let connector = HttpConnector::new(config, &ServerLimits::default(), None).unwrap();
    assert_eq!(connector.display_address(), "https://example.com/s/…/mcp");
    assert_eq!(
        format!("{connector:?}"),
        "HttpConnector(https://example.com/s/…/mcp)"
    );
}

#[tokio::test]
async fn a_closed_link_sends_nothing() {
    let server = HttpTestServer::start(|_, back| async { back.accept().await }).await;
    let (link, _arrivals) = server.open_transport().await;
    link.close().await;
    link.close().await;
    let outcome = link.send(request(1, "x")).await;
    assert_eq!(outcome.unwrap_err().delivery_status(), DeliveryStatus::No);
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn an_unknown_method_is_no_lost_session() {
    let server = HttpTestServer::start(|request, back| async move {
        let headers = [
            ("content-type", "application/json"),
            ("mcp-session-id", "s"),
        ];
        if request.header("mcp-session-id").is_none() {
            return back.answer(200, &headers, &request.result()).await;
        }
        let body = r#"{"id":2,"error":{"code":-32601,"message":"unknown"}}"#;
        back.answer(404, &headers, body).await
    })
    .await;
    let (link, mut arrivals) = server.open_transport().await;
    link.send(request(1, "initialize")).await.unwrap();
    assert_eq!(arrivals.next_response().await.0, 1);
    link.send(request(2, "odd/method")).await.unwrap();
    assert_eq!(arrivals.next_response().await, (2, Err(-32601)));
}
