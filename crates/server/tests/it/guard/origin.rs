//! Tests of Host, Origin and response headers.

use deliberate_server::http::{
    auth::{Access, StartError, check_start},
    guard::GuardOptions,
    listener::ListenerOptions,
};

use super::support::{GuardTestServer, TestHttpResponse};

/// All routes, including streams and sockets.
const ROUTES: [&str; 8] = [
    "/health",
    "/mcp",
    "/messages",
    "/metrics",
    "/sse",
    "/ws",
    "/page",
    "/none",
];

async fn start_open() -> GuardTestServer {
    GuardTestServer::start_default(Access::open()).await
}

async fn start_configured() -> GuardTestServer {
    let options = GuardOptions {
        allowed_hosts: vec![
            "mcp.example.com".to_owned(),
            "Other.example:8443".to_owned(),
        ],
        allowed_origins: vec!["https://app.example.com".to_owned()],
        ..GuardOptions::default()
    };
    GuardTestServer::start(&options, ListenerOptions::default(), Access::open()).await
}

#[tokio::test]
async fn a_foreign_host_is_refused_on_every_route() {
    let server = start_open().await;
    for route in ROUTES {
        for host in ["evil.example", "evil.example:80", "localhost.evil.example"] {
            let answer = server
                .send_raw(
                    &format!("GET {route} HTTP/1.1"),
                    &[&format!("Host: {host}")],
                    "",
                )
                .await;
            answer.assert_rejected(403, "host_refused");
        }
    }
}

#[tokio::test]
async fn a_foreign_origin_is_refused_on_every_route_though_the_host_is_good() {
    let server = start_open().await;
    for route in ROUTES {
        for origin in [
            "http://evil.example",
            "https://localhost.evil.example",
            "null",
            "file://",
            "http://localhost@evil.example",
            "http://127.0.0.1.evil.example",
            "chrome-extension://abc",
            "",
        ] {
            let origin = format!("Origin: {origin}");
            let answer = server
                .request(&format!("GET {route} HTTP/1.1"), &[&origin])
                .await;
            assert_eq!(
                (answer.status, answer.code().as_str()),
                (403, "origin_refused"),
                "{route} {origin}"
            );
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
    }
}

#[tokio::test]
async fn our_own_names_are_answered_to() {
    let server = start_open().await;
    for host in [
        "localhost",
        "localhost:1234",
        "127.0.0.1:9",
        "[::1]:80",
        "LOCALHOST",
    ] {
        let answer = server
            .send_raw("GET /mcp HTTP/1.1", &[&format!("Host: {host}")], "")
            .await;
        assert_eq!(answer.status, 200, "{host}");
    }
}

#[tokio::test]
async fn pages_of_this_machine_and_programs_are_let_in() {
    let server = start_open().await;
    let own = format!("Origin: http://{}", server.address);
    for origin in [
        own.as_str(),
        "Origin: http://localhost:6274",
        "Origin: http://127.0.0.1:3000",
        "Origin: http://[::1]:3000",
        "Accept: */*",
    ] {
        assert_eq!(server.post("/mcp", &[origin], "{}").await.status, 200);
    }
}

#[tokio::test]
async fn hosts_that_are_missing_doubled_or_rubbish_are_refused() {
    let server = start_open().await;
    let cases: [(&str, &[&str], u16); 9] = [
        ("GET /mcp HTTP/1.1", &[], 400),
        ("GET /mcp HTTP/1.0", &[], 403),
        (
            "GET /mcp HTTP/1.1",
            &["Host: localhost", "Host: localhost"],
            403,
        ),
        (
            "GET /mcp HTTP/1.1",
            &["Host: localhost", "Host: evil.example"],
            403,
        ),
        ("GET /mcp HTTP/1.1", &["Host: "], 403),
        ("GET /mcp HTTP/1.1", &["Host: a@localhost"], 403),
        ("GET /mcp HTTP/1.1", &["Host: localhost:x"], 403),
        ("GET /mcp HTTP/1.1", &["Host: local host"], 403),
        (
            "GET http://evil.example/mcp HTTP/1.1",
            &["Host: localhost"],
            403,
        ),
    ];
    for (request, lines, status) in cases {
        let answer = server.send_raw(request, lines, "").await;
        assert_eq!(answer.status, status, "{request} {lines:?}");
    }
}

#[tokio::test]
async fn doubled_origins_are_refused() {
    let server = start_open().await;
    let origins = ["Origin: http://localhost", "Origin: http://localhost"];
    assert_eq!(
        server.request("GET /mcp HTTP/1.1", &origins).await.status,
        403
    );
}

#[tokio::test]
async fn configured_names_are_answered_to_exactly() {
    let server = start_configured().await;
    for (host, status) in [
        ("mcp.example.com", 200),
        ("MCP.example.com:8443", 200),
        ("other.example:8443", 200),
        ("other.example", 403),
        ("x.mcp.example.com", 403),
    ] {
        let host = format!("Host: {host}");
        let answer = server.send_raw("GET /mcp HTTP/1.1", &[&host], "").await;
        assert_eq!(answer.status, status, "{host}");
    }
    let lines = ["Host: mcp.example.com", "Origin: https://mcp.example.com"];
    let answer = server.send_raw("GET /mcp HTTP/1.1", &lines, "").await;
    assert_eq!(answer.status, 200, "a page of our own, by a name of ours");
}

#[tokio::test]
async fn an_allowed_origin_may_ask_beforehand_and_read() {
    let server = start_configured().await;
    let origin = "Origin: https://app.example.com";
    let asked = [
        origin,
        "Access-Control-Request-Method: POST",
        "Access-Control-Request-Headers: content-type, mcp-param-city, x-evil",
    ];
    let answer = server.request("OPTIONS /mcp HTTP/1.1", &asked).await;
    assert_eq!(answer.status, 204);
    let allowed = answer.header("access-control-allow-headers").unwrap();
    assert!(allowed.contains("authorization") && allowed.contains("mcp-param-city"));
    assert!(!allowed.contains("x-evil"));
    let answer = server.post("/mcp", &[origin], "{}").await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.header("access-control-allow-origin"),
        Some("https://app.example.com")
    );
    assert!(
        answer
            .header("access-control-expose-headers")
            .unwrap()
            .contains("Mcp-Session-Id")
    );
    for near in ["https://app.example.com:444", "http://app.example.com"] {
        let answer = server
            .request("GET /mcp HTTP/1.1", &[&format!("Origin: {near}")])
            .await;
        assert_eq!(answer.status, 403);
    }
}

#[tokio::test]
async fn nobody_else_may_ask_beforehand() {
    let server = start_open().await;
    for origin in ["Origin: http://localhost:3000", "Accept: */*"] {
        let lines = [origin, "Access-Control-Request-Method: POST"];
        let answer = server.request("OPTIONS /mcp HTTP/1.1", &lines).await;
        assert_eq!(answer.status, 405);
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
}

#[tokio::test]
async fn what_a_foreign_page_embeds_is_refused_and_a_link_is_followed() {
    let server = start_open().await;
    let embedded = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"];
    assert_eq!(
        server.request("GET /page HTTP/1.1", &embedded).await.status,
        403
    );
    let followed = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"];
    assert_eq!(
        server.request("GET /page HTTP/1.1", &followed).await.status,
        200
    );
}

#[tokio::test]
async fn only_json_is_taken() {
    let server = start_open().await;
    for (kind, status) in [
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("application/json; charset=utf-8", 200),
    ] {
        let host = format!("Host: {}", server.address);
        let kind = format!("Content-Type: {kind}");
        let lines = [host.as_str(), kind.as_str(), "Content-Length: 2"];
        let answer = server.send_raw("POST /mcp HTTP/1.1", &lines, "{}").await;
        assert_eq!(answer.status, status, "{kind}");
    }
}

#[tokio::test]
async fn every_answer_is_dressed() {
    let server = start_open().await;
    let refused = server
        .send_raw("GET /mcp HTTP/1.1", &["Host: evil.example"], "")
        .await;
    let missing = server.request("GET /none HTTP/1.1", &[]).await;
    let wrong = server.request("POST /health HTTP/1.1", &[]).await;
    let good = server.request("GET /health HTTP/1.1", &[]).await;
    assert_eq!(
        [refused.status, missing.status, wrong.status, good.status],
        [403, 404, 405, 200]
    );
    for answer in [refused, missing, wrong, good] {
        assert_safe_headers(&answer);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'"));
    }
    let page = server.request("GET /page HTTP/1.1", &[]).await;
    assert_safe_headers(&page);
    assert_eq!(
        page.header("content-security-policy"),
        Some("default-src 'self'")
    );
}

fn assert_safe_headers(answer: &TestHttpResponse) {
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("x-frame-options", "DENY"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(answer.header(name), Some(value));
    }
    for absent in ["server", "x-powered-by", "access-control-allow-origin"] {
        assert_eq!(answer.header(absent), None);
    }
}

#[tokio::test]
async fn refusals_speak_the_language_of_their_path() {
    let server = start_open().await;
    let foreign = ["Origin: http://evil.example"];
    let answer = server
        .request("GET /metrics HTTP/1.1", &foreign)
        .await
        .json();
    assert_eq!(answer["error"]["code"], "origin_refused");
    for path in ["/mcp", "/messages", "/messages/?session=1"] {
        let request = format!("POST {path} HTTP/1.1");
        let answer = server.request(&request, &foreign).await.json();
        assert_eq!(answer["jsonrpc"], "2.0");
        assert!(answer["id"].is_null());
        assert_eq!(answer["error"]["code"], -32000);
        assert!(answer["error"]["message"].is_string());
    }
}

#[tokio::test]
async fn a_panic_ends_its_request_and_nothing_else() {
    let server = start_open().await;
    let mut line = server.connect().await;
    let host = format!("Host: {}", server.address);
    line.send("GET /panic HTTP/1.1", &[&host], "").await;
    let answer = line.read_response().await.unwrap();
    answer.assert_rejected(500, "internal");
    assert!(!answer.text().contains("as asked"));
    line.send("GET /mcp HTTP/1.1", &[&host], "").await;
    assert_eq!(line.read_response().await.unwrap().status, 200);
}

#[test]
fn beyond_this_machine_nobody_listens_without_tokens() {
    let open = Access::open();
    for here in ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"] {
        assert_eq!(check_start(here.parse().unwrap(), &open), Ok(()), "{here}");
    }
    for beyond in [
        "0.0.0.0",
        "::",
        "192.168.0.2",
        "::ffff:10.0.0.1",
        "2001:db8::1",
    ] {
        let error = check_start(beyond.parse().unwrap(), &open).unwrap_err();
        assert!(matches!(error, StartError::Unprotected { .. }));
        assert!(error.to_string().contains("set a token"), "{error}");
    }
}
