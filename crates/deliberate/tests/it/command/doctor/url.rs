//! Tests of `deliberate doctor --url`.

use axum::{Json, Router, http::StatusCode, routing::get};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket};

use crate::support::{TestHome, run_command};

/// Starts a server that answers at `/health` with this body.
async fn serve_health(status: StatusCode, body: Value) -> String {
    let answer = move || async move { (status, Json(body)) };
    serve(Router::new().route("/health", get(answer))).await
}

async fn serve(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

fn healthy_report() -> Value {
    json!({
        "status": "degraded", "live": true, "ready": true, "version": "9.9.9",
        "uptime_seconds": 61, "tools": 24,
        "transports": [
            { "name": "http", "state": "serving", "address": "127.0.0.1:8484" },
            { "name": "sse", "state": "failed", "reason": "the port is \u{1b}[31mtaken" }
        ],
        "store": { "state": "ok", "location": "/data/x.db", "schema_version": 6,
                   "sessions": 3, "thoughts": 14, "latency_ms": 2 },
        "provider": { "state": "client", "description": "the client's own model" },
        "calls": { "running": 1, "waiting": 0 }
    })
}

#[tokio::test]
async fn the_health_of_a_server_is_shown_to_people_and_to_programs() {
    let (home, url) = (
        TestHome::new(),
        serve_health(StatusCode::OK, healthy_report()).await,
    );
    // The URL for MCP clients works too.
    for url in [url.clone(), format!("{url}/"), format!("{url}/mcp")] {
        let output = home.run(&["doctor", "--url", &url]).await;
        assert_eq!(
            (output.code, output.stderr.as_str()),
            (Some(0), ""),
            "{output:?}"
        );
        for text in [
            "degraded",
            "9.9.9",
            "24 tools",
            "127.0.0.1:8484",
            "14 thought(s)",
            "1 running",
        ] {
            assert!(output.stdout.contains(text), "{text}: {}", output.stdout);
        }
        assert!(
            !output.stdout.contains('\u{1b}'),
            "it can't command the terminal"
        );
    }
    let output = home.run(&["doctor", "--url", &url, "--json"]).await;
    assert_eq!(
        serde_json::from_str::<Value>(&output.stdout).unwrap(),
        healthy_report()
    );
}

#[tokio::test]
async fn a_server_that_is_not_ready_is_a_failure() {
    let body = json!({ "status": "draining", "live": true, "ready": false, "version": "1.0.0" });
    let url = serve_health(StatusCode::SERVICE_UNAVAILABLE, body).await;
    let output = TestHome::new().run(&["doctor", "--url", &url]).await;
    assert_eq!(output.code, Some(1));
    assert!(output.stdout.contains("draining"), "{}", output.stdout);
    assert!(output.stdout.contains("--token-env"), "{}", output.stdout);
}

#[tokio::test]
async fn nobody_there_and_somebody_else_are_told_apart() {
    let home = TestHome::new();
    // Bound but not listening, so that no other process listens there.
    let held = TcpSocket::new_v4().unwrap();
    held.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let nobody = format!("http://{}", held.local_addr().unwrap());
    let stranger = serve(Router::new()).await;
    let page = serve(Router::new().route("/health", get(|| async { "all is well" }))).await;
    let other = serve_health(StatusCode::OK, json!({ "status": "UP" })).await;
    for (url, text) in [
        (&nobody, "nothing listens at"),
        (&stranger, "not a deliberate server"),
        (&page, "not a deliberate server"),
        (&other, "not a deliberate server"),
        (&"not an address".to_owned(), "--url is not valid"),
        (&"ftp://127.0.0.1".to_owned(), "neither http nor https"),
    ] {
        let output = home.run(&["doctor", "--url", url]).await;
        assert_eq!(output.code, Some(1), "{output:?}");
        assert!(output.stdout.contains(text), "{text}: {}", output.stdout);
        let output = home.run(&["doctor", "--url", url, "--json"]).await;
        assert_eq!(output.code, Some(1), "{output:?}");
        let told: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(
            (&told["live"], &told["ready"]),
            (&json!(false), &json!(false))
        );
        assert!(told["reason"].as_str().unwrap().contains(text), "{told}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let output = TestHome::new().run(&["doctor", "--url", &url]).await;
    assert_eq!(output.code, Some(1));
    assert!(
        output.stdout.contains("did not answer within"),
        "{}",
        output.stdout
    );
}

#[tokio::test]
async fn a_token_comes_from_the_environment_and_is_not_shown() {
    use axum::http::HeaderMap;
    const TOKEN: &str = "token-of-silver";
    let answer = |headers: HeaderMap| async move {
        let given = headers.get("authorization").and_then(|it| it.to_str().ok());
        if given == Some("Bearer token-of-silver") {
            (StatusCode::OK, Json(healthy_report()))
        } else {
            (StatusCode::UNAUTHORIZED, Json(json!({})))
        }
    };
    let url = serve(Router::new().route("/health", get(answer))).await;
    let home = TestHome::new();
    let output = home.run(&["doctor", "--url", &url]).await;
    assert!(output.stdout.contains("requires a token"), "{output:?}");
    let with = |token: &str| {
        let mut command = home.command();
        command
            .env("THE_TOKEN", token)
            .env("LOG_LEVEL", "trace")
            .args(["doctor", "--url", &url, "--token-env", "THE_TOKEN"]);
        command
    };
    let output = run_command(&mut with(TOKEN)).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(!format!("{output:?}").contains(TOKEN));
    let output = run_command(&mut with("wrong-token")).await;
    assert_eq!(output.code, Some(1));
    assert!(
        output.stdout.contains("does not accept this token"),
        "{output:?}"
    );
    let output = home
        .run(&["doctor", "--url", &url, "--token-env", "UNSET_TOKEN"])
        .await;
    assert!(
        output.stdout.contains("UNSET_TOKEN is not set"),
        "{output:?}"
    );
    let mut far = home.command();
    far.env("THE_TOKEN", TOKEN).args([
        "doctor",
        "--url",
        "http://far.example",
        "--token-env",
        "THE_TOKEN",
    ]);
    let output = run_command(&mut far).await;
    assert!(output.stdout.contains("without encryption"), "{output:?}");
}
