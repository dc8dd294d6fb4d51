//! Tests of connections: limits, timeouts and shutdown.

use std::{net::Ipv4Addr, time::Duration};

use deliberate_server::http::{
    auth::Access,
    guard::GuardOptions,
    listener::{BindError, ListenerOptions, bind},
};
use deliberate_testkit::wait_until;
use tokio::net::TcpStream;

use super::support::{GuardTestServer, RawConnection, TEST_TIMEOUT};

async fn start_listener(options: ListenerOptions) -> GuardTestServer {
    GuardTestServer::start(&GuardOptions::default(), options, Access::open()).await
}

async fn wait_for_connections(server: &GuardTestServer, count: usize) {
    wait_until(|| server.connections.active() == count).await;
}

#[tokio::test]
async fn a_head_that_does_not_arrive_is_cut_off() {
    let server = start_listener(ListenerOptions {
        header_time: Duration::from_millis(100),
        ..ListenerOptions::default()
    })
    .await;
    for start in ["", "GET /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow"] {
        let mut line = server.connect().await;
        line.write(start.as_bytes()).await;
        line.wait_closed().await;
    }
    wait_for_connections(&server, 0).await;
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let server = start_listener(ListenerOptions {
        header_time: Duration::from_millis(100),
        ..ListenerOptions::default()
    })
    .await;
    let mut line = server.connect().await;
    line.send("GET /mcp HTTP/1.1", &["Host: localhost"], "")
        .await;
    assert_eq!(line.read_response().await.unwrap().status, 200);
    line.wait_closed().await;
    wait_for_connections(&server, 0).await;
}

#[tokio::test]
async fn a_connection_serves_many_requests() {
    let server = start_listener(ListenerOptions::default()).await;
    let mut line = server.connect().await;
    for _ in 0..3 {
        line.send("GET /mcp HTTP/1.1", &["Host: localhost"], "")
            .await;
        assert_eq!(line.read_response().await.unwrap().status, 200);
    }
    assert_eq!(server.connections.active(), 1);
}

#[tokio::test]
async fn a_flood_of_headers_is_refused() {
    let server = start_listener(ListenerOptions {
        header_bytes: 8 * 1024,
        ..ListenerOptions::default()
    })
    .await;
    let many: Vec<String> = (0..101).map(|number| format!("X-{number}: x")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(server.request("GET /mcp HTTP/1.1", &many).await.status, 431);
    let large = format!("X-Large: {}", "x".repeat(9 * 1024));
    assert_eq!(
        server.request("GET /mcp HTTP/1.1", &[&large]).await.status,
        431
    );
    let fitting = format!("X-Large: {}", "x".repeat(7 * 1024));
    let answer = server.request("GET /mcp HTTP/1.1", &[&fitting]).await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn heads_that_are_no_http_end_their_connection_alone() {
    let server = start_listener(ListenerOptions::default()).await;
    for rubbish in [
        &b"\x16\x03\x01\x02\x00\x01\x00"[..],
        b"\0\0\0\0\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ] {
        let mut line = server.connect().await;
        line.write(rubbish).await;
        let answer = line.read_response().await;
        assert!(answer.is_none_or(|answer| answer.status == 400));
        line.wait_closed().await;
    }
    assert_eq!(server.request("GET /mcp HTTP/1.1", &[]).await.status, 200);
}

async fn open_connection(server: &GuardTestServer) -> RawConnection {
    let mut line = server.connect().await;
    line.send("GET /mcp HTTP/1.1", &["Host: localhost"], "")
        .await;
    assert_eq!(line.read_response().await.unwrap().status, 200);
    line
}

#[tokio::test]
async fn connections_are_capped_for_all_and_for_each() {
    for options in [
        ListenerOptions {
            connections: 2,
            ..ListenerOptions::default()
        },
        ListenerOptions {
            connections_per_client: 2,
            ..ListenerOptions::default()
        },
    ] {
        let server = start_listener(options).await;
        let (first, second) = (
            open_connection(&server).await,
            open_connection(&server).await,
        );
        // The client sends nothing, because unread data would make the system drop the response.
        let answer = server.connect().await.read_response().await.unwrap();
        assert_eq!(answer.status, 503);
        assert!(answer.header("retry-after").is_some());
        assert_eq!(server.connections.active(), 2);
        drop((first, second));
        wait_for_connections(&server, 0).await;
        assert_eq!(server.request("GET /mcp HTTP/1.1", &[]).await.status, 200);
    }
}

#[tokio::test]
async fn a_socket_can_be_upgraded_and_keeps_its_place() {
    let server = start_listener(ListenerOptions::default()).await;
    let mut line = open_upgraded(&server).await;
    // A masked text frame with a zero mask, and the unmasked reply.
    line.write(b"\x81\x82\0\0\0\0hi").await;
    line.read_until(b"\x81\x02hi").await;
    assert_eq!(server.connections.active(), 1);
    drop(line);
    wait_for_connections(&server, 0).await;
}

async fn open_upgraded(server: &GuardTestServer) -> RawConnection {
    let mut line = server.connect().await;
    let lines = [
        "Host: localhost",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    line.send("GET /ws HTTP/1.1", &lines, "").await;
    assert_eq!(line.read_response().await.unwrap().status, 101);
    line
}

#[tokio::test]
async fn stopping_lets_a_running_request_end_and_takes_no_more() {
    let mut server = start_listener(ListenerOptions {
        // Neither timeout ends the idle connection.
        header_time: TEST_TIMEOUT * 10,
        grace: TEST_TIMEOUT * 10,
        ..ListenerOptions::default()
    })
    .await;
    let mut idle = open_connection(&server).await;
    let mut slow = server.connect().await;
    slow.send("GET /slow HTTP/1.1", &["Host: localhost"], "")
        .await;
    server.arrived.notified().await;
    server.stop.cancel();
    idle.wait_closed().await;
    let refused = async { while TcpStream::connect(server.address).await.is_ok() {} };
    tokio::time::timeout(TEST_TIMEOUT, refused).await.unwrap();
    assert!(!server.task.is_finished());
    server.release.add_permits(1);
    let answer = slow.read_response().await.unwrap();
    assert_eq!((answer.status, answer.text().as_str()), (200, "at last"));
    tokio::time::timeout(TEST_TIMEOUT, &mut server.task)
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn what_does_not_end_within_the_grace_is_cut_off() {
    let mut server = start_listener(ListenerOptions {
        grace: Duration::from_millis(50),
        ..ListenerOptions::default()
    })
    .await;
    let mut stream = server.connect().await;
    stream
        .send("GET /sse HTTP/1.1", &["Host: localhost"], "")
        .await;
    stream.read_until(b"event: endpoint").await;
    let mut socket = open_upgraded(&server).await;
    server.stop.cancel();
    stream.wait_closed().await;
    socket.wait_closed().await;
    tokio::time::timeout(TEST_TIMEOUT, &mut server.task)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(server.connections.active(), 0);
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_cut_off() {
    let server = start_listener(ListenerOptions {
        stall_time: Duration::from_millis(100),
        ..ListenerOptions::default()
    })
    .await;
    let mut line = server.connect().await;
    let request = b"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n";
    // Sends requests without reading until the server closes the connection.
    let asking = async {
        loop {
            let many = request.repeat(1000);
            if line.try_write(&many).await.is_err() {
                return;
            }
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, asking).await.unwrap();
    wait_for_connections(&server, 0).await;
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let taken = bind((Ipv4Addr::LOCALHOST, 0).into()).await.unwrap();
    let address = taken.local_addr().unwrap();
    let error = bind(address).await.unwrap_err();
    assert!(matches!(error, BindError::InUse { .. }));
    assert!(error.to_string().contains(&address.to_string()), "{error}");
    let strange = bind("192.0.2.1:0".parse().unwrap()).await.unwrap_err();
    assert!(matches!(strange, BindError::NotOurs { .. }));
}
