//! Sessions of the SSE transport: opening, answers, owners and rejections.

use std::sync::atomic::Ordering;

use deliberate_server::http::sse::SseOptions;
use serde_json::{Value, json};

use crate::sse_support::{SseTestServer, read_line, wait_until, with_timeout};

async fn start_server() -> SseTestServer {
    SseTestServer::start(SseOptions::default()).await
}

#[tokio::test]
async fn the_stream_opens_with_the_place_to_post_to() {
    let server = start_server().await;
    let client = server.open_stream(&[]).await;
    let (path, session) = client.endpoint.split_once("?session_id=").unwrap();
    assert_eq!(path, "/messages");
    assert!(session.len() >= 32, "{session}");
    assert_eq!(client.headers["content-type"], "text/event-stream");
    assert_eq!(client.headers["cache-control"], "no-store");
    assert_eq!(client.headers["x-accel-buffering"], "no");
    let other = server.open_stream(&[]).await;
    assert_ne!(other.endpoint, client.endpoint);
    assert_eq!(server.control.active(), 2);
}

#[tokio::test]
async fn only_a_get_opens_a_stream() {
    let server = start_server().await;
    assert_eq!(server.send("HEAD /sse", &[], b"").await.0, 405);
    assert_eq!(server.post("/sse", &[], b"{}").await.status, 405);
    assert_eq!(server.control.active(), 0);
}

#[tokio::test]
async fn a_silent_stream_shows_that_it_is_alive() {
    let options = SseOptions {
        keep_alive: std::time::Duration::from_millis(20),
        ..SseOptions::default()
    };
    let server = SseTestServer::start(options).await;
    let mut client = server.open_stream(&[]).await;
    let comment = with_timeout("a comment", read_line(&mut client.reader)).await;
    assert!(comment.unwrap().starts_with(':'));
    client.call_echo(1, "x").await;
}

#[tokio::test]
async fn calls_are_answered_on_the_stream() {
    let server = start_server().await;
    let mut client = server.connect(None).await;
    client.call_echo(1, "one\ntwo \u{2028}").await;
    assert_eq!(
        client.next_text().await,
        (json!(1), "one\ntwo \u{2028}".to_owned())
    );
    client.request(json!("p"), "ping", json!({})).await;
    assert_eq!(client.next_message().await["id"], "p");
    client.request(json!(-3), "made/up", json!({})).await;
    assert_eq!(client.next_message().await["error"]["code"], -32601);
}

#[tokio::test]
async fn the_stateless_revision_is_spoken_too() {
    let server = start_server().await;
    let mut client = server.open_stream(&[]).await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"}
    });
    client
        .request(json!(1), "server/discover", json!({"_meta": meta}))
        .await;
    let found = client.next_message().await;
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{found}");
    let params = json!({"name": "echo", "arguments": {"text": "hi"}, "_meta": meta});
    client.request(json!(2), "tools/call", params).await;
    let answer = client.next_message().await;
    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(answer["result"]["content"][0]["text"], "hi");
}

#[tokio::test]
async fn what_comes_before_the_beginning_does_no_harm() {
    let server = start_server().await;
    let mut client = server.open_stream(&[]).await;
    for early in [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
    ] {
        assert_eq!(client.post(&early).await.status, 202);
    }
    client.request(json!(1), "tools/list", json!({})).await;
    assert_eq!(client.next_message().await["error"]["code"], -32602);
    client.request(json!(2), "ping", json!({})).await;
    assert_eq!(client.next_message().await["id"], 2);
}

#[tokio::test]
async fn clients_with_the_same_ids_see_their_own_answers_only() {
    let server = start_server().await;
    let mut clients = Vec::new();
    for _ in 0..4 {
        clients.push(server.connect(None).await);
    }
    for round in 0..10 {
        for (who, client) in clients.iter().enumerate() {
            client.call_echo(round, &format!("{who}/{round}")).await;
        }
    }
    for (who, client) in clients.iter_mut().enumerate() {
        let mut seen = Vec::new();
        for _ in 0..10 {
            let (id, text) = client.next_text().await;
            assert_eq!(text, format!("{who}/{id}"));
            seen.push(id.as_i64().unwrap());
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..10).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_session_is_its_owners_alone() {
    let server = start_server().await;
    let mut ann = server.connect(Some("ann")).await;
    ann.call_tool(1, "who", json!({})).await;
    assert_eq!(ann.next_text().await.1, "ann");

    let call = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let unknown = server.post("/messages?session_id=0", &[], call).await;
    assert_eq!(unknown.status, 404);
    for headers in [vec![("x-name", "bob")], vec![]] {
        let posted = server.post(&ann.endpoint, &headers, call).await;
        assert_eq!((posted.status, &posted.body), (404, &unknown.body));
    }
    for path in ["/messages", "/messages?session_id=", "/messages?session=1"] {
        assert_eq!(server.post(path, &[], call).await.status, 404, "{path}");
    }

    let mut local = server.connect(None).await;
    local.call_tool(1, "who", json!({})).await;
    assert_eq!(local.next_text().await.1, "nobody");
    let posted = server
        .post(&local.endpoint, &[("x-name", "ann")], call)
        .await;
    assert_eq!(posted.status, 404);
}

#[tokio::test]
async fn a_cancelled_call_stops_and_its_id_is_free_again() {
    let server = start_server().await;
    let mut client = server.connect(None).await;
    client.call_held(5).await;
    let twice = json!({"jsonrpc": "2.0", "id": 5, "method": "ping"});
    let refused = client.post(&twice).await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["id"], 5);
    assert_eq!(refused.json()["error"]["code"], -32600);
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}
    });
    assert_eq!(client.post(&cancel).await.status, 202);
    let cancelled = || server.probe.cancelled.load(Ordering::SeqCst) == 1;
    wait_until("the call to stop", cancelled).await;
    client.call_echo(5, "again").await;
    assert_eq!(client.next_text().await, (json!(5), "again".to_owned()));
}

#[tokio::test]
async fn what_is_no_message_is_answered_where_it_was_posted() {
    let server = start_server().await;
    let mut client = server.connect(None).await;
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{{"name":"x","arguments":{{"a":{}1{}}}}}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let cases: &[(&[u8], i64, Value)] = &[
        (b"", -32700, json!(null)),
        (b" \r\n", -32700, json!(null)),
        (b"hello", -32700, json!(null)),
        (br#"{"id":1,"#, -32700, json!(1)),
        (b"{\"id\":4,\"method\":\"\xFF\"}", -32700, json!(4)),
        (deep.as_bytes(), -32700, json!(9)),
        (b"5", -32600, json!(null)),
        (
            br#"{"jsonrpc":"1.0","id":3,"method":"ping"}"#,
            -32600,
            json!(3),
        ),
        (
            br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            -32600,
            json!(null),
        ),
        (
            br#"{"jsonrpc":"2.0","id":3,"method":"ping","params":[1]}"#,
            -32602,
            json!(3),
        ),
        (
            br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":"x"}"#,
            -32600,
            json!(null),
        ),
        (b"[]", -32600, json!(null)),
        (
            br#"[{"jsonrpc":"2.0","id":7,"method":"ping"}]"#,
            -32600,
            json!(7),
        ),
    ];
    for (body, code, id) in cases {
        let shown = String::from_utf8_lossy(body.get(..80).unwrap_or(body));
        let posted = client.post_bytes(body).await;
        assert_eq!(posted.status, 400, "{shown}: {posted:?}");
        assert_eq!(posted.headers["content-type"], "application/json");
        let answer = posted.json();
        assert_eq!(
            (&answer["error"]["code"], &answer["id"]),
            (&json!(code), id),
            "{shown}"
        );
    }
    let several: &[&[u8]] = &[
        br#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#,
        br#"{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
    ];
    for body in several {
        let answers = client.post_bytes(body).await.json();
        let ids: Vec<_> = answers
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["id"])
            .collect();
        assert_eq!(ids, [&json!(1), &json!(2)]);
    }
    // A byte order mark is accepted, and none of the above appeared on the stream.
    let marked = b"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    assert_eq!(client.post_bytes(marked).await.status, 202);
    assert_eq!(client.next_message().await["id"], 1);
}

#[tokio::test]
async fn a_client_that_disconnects_leaves_nothing_behind() {
    let server = start_server().await;
    let client = server.connect(None).await;
    client.call_held(1).await;
    client.call_held(2).await;
    let silent = server.open_stream(&[]).await;
    assert_eq!(server.control.active(), 2);
    drop(silent);
    let endpoint = client.endpoint.clone();
    drop(client);
    wait_until("the sessions to end", || server.control.active() == 0).await;
    let cancelled = || server.probe.cancelled.load(Ordering::SeqCst) == 2;
    wait_until("the calls to stop", cancelled).await;
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert_eq!(server.post(&endpoint, &[], ping).await.status, 404);
}
