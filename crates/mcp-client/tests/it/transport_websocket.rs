//! Tests of a server on a WebSocket.

use std::collections::BTreeMap;

use deliberate_mcp_client::{
    config::{HttpConfig, ServerLimits},
    transport::{DeliveryStatus, TransportError, websocket::WebSocketConnector},
};
use deliberate_testkit::MockServerProcess;
use serde_json::json;
use tokio::net::{TcpListener, TcpSocket};

use crate::transport_support::{TestConnection, call, limits};

fn server(faults: &[&str]) -> MockServerProcess {
    let arguments: Vec<&str> = faults.iter().flat_map(|it| ["--fault", it]).collect();
    MockServerProcess::spawn("--ws", "127.0.0.1:0", &arguments).unwrap()
}

fn connector(address: &str, limits: &ServerLimits) -> WebSocketConnector {
    let config = HttpConfig {
        url: format!("ws://{address}/mcp?key=secret").parse().unwrap(),
        headers: BTreeMap::from([("X-Key".to_owned(), "k".into())]),
        auth: None,
    };
    WebSocketConnector::new(config, limits)
}

async fn open_connection(server: &MockServerProcess, limits: &ServerLimits) -> TestConnection {
    TestConnection::open(&connector(server.address(), limits))
        .await
        .unwrap()
}

#[tokio::test]
async fn a_server_answers() {
    let server = server(&[]);
    let mut line = open_connection(&server, &limits()).await;
    for id in 0..20 {
        let text = format!("{id}:{}", "ü".repeat(50_000));
        assert_eq!(line.text(id, "echo", &json!({ "text": text })).await, text);
    }
    line.transport.close().await;
    line.transport.close().await;
    assert_eq!(line.end().await, None);
    let error = line
        .transport
        .send(call(1, "echo", &json!({})))
        .await
        .unwrap_err();
    assert_eq!(error.delivery_status(), DeliveryStatus::No);
}

#[tokio::test]
async fn a_server_that_dies_is_noticed() {
    let mut server = server(&[]);
    let mut line = open_connection(&server, &limits()).await;
    assert_eq!(line.text(1, "echo", &json!({ "text": "x" })).await, "x");
    server.kill();
    let error = line.end().await.unwrap();
    assert!(matches!(error, TransportError::Closed { .. }), "{error:?}");
    assert!(
        line.transport
            .send(call(2, "echo", &json!({})))
            .await
            .is_err()
    );
    line.transport.close().await;
}

#[tokio::test]
async fn a_frame_that_is_too_large_is_not_read() {
    let server = server(&[]);
    let mut limits = limits();
    limits.message_bytes = 10_000;
    let mut line = open_connection(&server, &limits).await;
    let big = json!({ "bytes": 20_000 });
    line.transport.send(call(1, "big", &big)).await.unwrap();
    let error = line.end().await.unwrap();
    assert_eq!(error, TransportError::TooLarge { limit: 10_000 });
}

#[tokio::test]
async fn nobody_there_is_no_connection() {
    // The port is bound and not listened on, so that nobody else listens there.
    let held = TcpSocket::new_v4().unwrap();
    held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = held.local_addr().unwrap().to_string();
    let connector = connector(&address, &limits());
    let error = TestConnection::open(&connector).await.err().unwrap();
    assert!(
        matches!(error, TransportError::Unreachable { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn an_address_shows_no_secret() {
    use deliberate_mcp_client::transport::Connector as _;

    let text = connector("127.0.0.1:1", &limits()).display_address();
    assert_eq!(text, "ws://127.0.0.1:1/mcp");
}

/// A peer that misbehaves, or that returns what it received.
mod by_hand {
    use axum::{
        Router,
        extract::{WebSocketUpgrade, ws::Message},
        http::{HeaderMap, StatusCode},
        response::{IntoResponse as _, Response},
    };
    use deliberate_mcp_client::{jsonrpc, transport::IncomingEvent};

    use super::*;

    async fn serve<F>(answer: F) -> String
    where
        F: Fn(HeaderMap, WebSocketUpgrade) -> Response + Clone + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let handler = move |headers: HeaderMap, socket: WebSocketUpgrade| async move {
            answer(headers, socket)
        };
        let router = Router::new().fallback(handler);
        tokio::spawn(async move { axum::serve(listener, router).await });
        address
    }

    #[tokio::test]
    async fn a_refusal_says_its_status() {
        for (status, unauthorized) in [(401_u16, true), (503, false)] {
            let address = serve(move |_, _| {
                (StatusCode::from_u16(status).unwrap(), "not now").into_response()
            })
            .await;
            let error = TestConnection::open(&connector(&address, &limits()))
                .await
                .err()
                .unwrap();
            let is_unauthorized = matches!(error, TransportError::Unauthorized { .. });
            assert_eq!(is_unauthorized, unauthorized, "{error:?}");
            assert!(error.to_string().contains(&status.to_string()), "{error}");
        }
    }

    #[tokio::test]
    async fn headers_go_along_and_no_subprotocol_is_no_matter() {
        let address = serve(|headers, socket| {
            assert_eq!(headers["x-key"], "k");
            // The server does not select a subprotocol.
            socket.on_upgrade(|mut socket| async move {
                let _ = socket.send(Message::Ping("p".into())).await;
                let _ = socket.send(Message::text("not JSON")).await;
                let bytes = r#"{"method":"x"}"#.as_bytes().to_vec();
                let _ = socket.send(Message::binary(bytes)).await;
                // The ping is answered even if nothing is sent.
                let answered = socket.recv().await;
                assert!(
                    matches!(answered, Some(Ok(Message::Pong(_)))),
                    "{answered:?}"
                );
                let close = axum::extract::ws::CloseFrame {
                    code: 1_011,
                    reason: "tired".into(),
                };
                let _ = socket.send(Message::Close(Some(close))).await;
            })
        })
        .await;
        let mut line = TestConnection::open(&connector(&address, &limits()))
            .await
            .unwrap();
        assert!(matches!(line.next().await, IncomingEvent::Garbage(_)));
        assert!(matches!(
            line.next().await,
            IncomingEvent::Message {
                message: jsonrpc::RpcMessage::Notification { .. },
                ..
            }
        ));
        match line.end().await {
            Some(TransportError::Closed { reason, .. }) => {
                assert!(
                    reason.contains("1011") && reason.contains("tired"),
                    "{reason}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
}
