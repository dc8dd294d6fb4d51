//! Tests of operator tokens.

use std::{io::Write as _, net::Ipv4Addr, time::Duration};

use deliberate_server::http::{
    auth::{Access, NewToken, SharedTokens, Tokens, TokensError, check_start},
    guard::GuardOptions,
    listener::ListenerOptions,
};
use secrecy::SecretString;
use serde_json::json;

use super::support::GuardTestServer;

const TOKEN: &str = "a-token-of-sixteen-or-more";

/// A temporary tokens file.
struct TokensFile(tempfile::NamedTempFile);

impl TokensFile {
    fn new(text: &str) -> Self {
        let mut file = tempfile::Builder::new()
            .prefix("deliberate-tokens")
            .tempfile()
            .unwrap();
        file.write_all(text.as_bytes()).unwrap();
        Self(file)
    }

    fn read(&self) -> Result<Tokens, TokensError> {
        Tokens::from_file(self.0.path())
    }
}

async fn single_token_server() -> GuardTestServer {
    let tokens = Tokens::single(&SecretString::from(TOKEN)).unwrap();
    GuardTestServer::start_default(Access::open().with_tokens(tokens)).await
}

#[tokio::test]
async fn every_route_wants_the_token_but_those_that_say_little() {
    let server = single_token_server().await;
    for route in [
        "/mcp",
        "/messages",
        "/metrics",
        "/sse",
        "/ws",
        "/page",
        "/none",
        "/health/other",
    ] {
        let answer = server.request(&format!("GET {route} HTTP/1.1"), &[]).await;
        answer.assert_rejected(401, "token_missing");
        let challenge = answer.header("www-authenticate").unwrap();
        assert!(challenge.starts_with("Bearer "), "{challenge}");
        assert!(!challenge.contains("error="), "{challenge}");
    }
    let health = server.request("GET /health HTTP/1.1", &[]).await;
    assert_eq!(
        (health.status, health.json()),
        (200, json!({"known": false}))
    );
}

#[tokio::test]
async fn the_token_opens_everything() {
    let server = single_token_server().await;
    let good = format!("Authorization: bearer {TOKEN}");
    let answer = server.request("GET /mcp HTTP/1.1", &[&good]).await;
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.json(),
        json!({"name": "token", "linear": true, "get": true, "bytes": 0})
    );
    let health = server.request("GET /health HTTP/1.1", &[&good]).await;
    assert_eq!(health.json(), json!({"known": true}));
}

#[tokio::test]
async fn what_is_not_exactly_the_token_is_refused() {
    let server = single_token_server().await;
    let bearer = format!("Authorization: Bearer {TOKEN}");
    let longer = format!("{bearer}x");
    let basic = format!("Authorization: Basic {TOKEN}");
    let bare = format!("Authorization: {TOKEN}");
    let cases: [&[&str]; 7] = [
        &[&longer],
        &["Authorization: Bearer a-token-of-sixteen-or-mor"],
        &["Authorization: Bearer "],
        &["Authorization: Bearer wrong wrong"],
        &[&basic],
        &[&bare],
        &[&bearer, &bearer],
    ];
    for lines in cases {
        let answer = server.request("GET /mcp HTTP/1.1", lines).await;
        assert_eq!(answer.status, 401, "{lines:?}");
        assert!(
            answer
                .header("www-authenticate")
                .unwrap()
                .contains("error=")
        );
        assert!(!answer.text().contains("a-token"));
    }
}

#[tokio::test]
async fn a_token_in_the_address_is_refused_even_beside_a_good_one() {
    let server = single_token_server().await;
    let request = format!("GET /mcp?access_token={TOKEN} HTTP/1.1");
    let good = format!("Authorization: Bearer {TOKEN}");
    for lines in [&[][..], &[good.as_str()][..]] {
        let answer = server.request(&request, lines).await;
        answer.assert_rejected(401, "token_in_query");
    }
}

#[tokio::test]
async fn a_wrong_token_on_health_says_only_that_we_live() {
    let server = single_token_server().await;
    let wrong = ["Authorization: Bearer not-the-right-token"];
    let health = server.request("GET /health HTTP/1.1", &wrong).await;
    assert_eq!(
        (health.status, health.json()),
        (200, json!({"known": false}))
    );
}

#[tokio::test]
async fn each_holder_has_a_name_and_their_tools() {
    let fresh = NewToken::new().unwrap();
    let lines = fresh
        .to_toml(
            "bob.b",
            &["reasoning_*".to_owned(), "other".to_owned()],
            None,
        )
        .unwrap();
    let file = TokensFile::new(&format!("[alice]\ntoken = \"{TOKEN}\"\n\n{lines}"));
    let tokens = file.read().unwrap();
    assert_eq!(tokens.names().collect::<Vec<_>>(), ["alice", "bob.b"]);
    let server = GuardTestServer::start_default(Access::open().with_tokens(tokens)).await;
    for (token, wanted) in [
        (
            TOKEN,
            json!({"name": "alice", "linear": true, "get": true, "bytes": 0}),
        ),
        (
            fresh.expose(),
            json!({"name": "bob.b", "linear": true, "get": false, "bytes": 0}),
        ),
    ] {
        let line = format!("Authorization: Bearer {token}");
        assert_eq!(
            server.request("GET /mcp HTTP/1.1", &[&line]).await.json(),
            wanted
        );
    }
}

#[test]
fn mistakes_in_the_file_are_named_and_secrets_are_not() {
    let secret = "hunter2-is-a-known-secret";
    let digest = "ab".repeat(32);
    let cases = [
        (
            "[alice]\ntoken = \"hunter2\"".to_owned(),
            "[alice]",
            "`token`",
        ),
        (
            "[alice]\nsha256 = \"hunter2\"".to_owned(),
            "[alice]",
            "`sha256`",
        ),
        (
            format!("[alice]\ntoken = \"{secret}\"\nsha256 = \"{digest}\""),
            "[alice]",
            "either",
        ),
        ("[alice]\ntools = [\"a\"]".to_owned(), "[alice]", "either"),
        (
            format!("[alice]\ntoken = \"{secret}\"\ntools = []"),
            "[alice]",
            "`tools`",
        ),
        (
            format!("[alice]\ntoken = \"{secret}\"\ntools = \"a\""),
            "[alice]",
            "`tools`",
        ),
        (
            format!("[alice]\ntoken = \"{secret}\"\ntools = [\"a*b\"]"),
            "[alice]",
            "`tools`",
        ),
        (
            format!("[alice]\ntoken = \"{secret}\"\ntool = [\"a\"]"),
            "[alice]",
            "`tool`",
        ),
        ("[alice]\ntoken = 4".to_owned(), "[alice]", "`token`"),
        (
            format!("[alice]\n{secret} = 1\nsha256 = \"{digest}\""),
            "[alice]",
            "is unknown",
        ),
        (format!("alice = \"{secret}\""), "[alice]", "table"),
        (format!("[\"a b\"]\ntoken = \"{secret}\""), "[a b]", "name"),
        (
            format!("[a]\ntoken = \"{secret}\"\n[b]\ntoken = \"{secret}\""),
            "[b]",
            "[a]",
        ),
        (format!("[alice]\ntoken = {secret}"), "line 2", "TOML"),
        (
            format!("[a]\ntoken = \"{secret}\"\n[a]\n"),
            "line 3",
            "TOML",
        ),
        (String::new(), "no token", "deliberate token new"),
    ];
    for (text, place, problem) in cases {
        let file = TokensFile::new(&text);
        let error = file.read().unwrap_err();
        let said = format!("{error} {error:?}");
        assert!(said.contains("deliberate-tokens"), "{said}");
        assert!(error.to_string().contains(place), "{error} lacks {place}");
        assert!(
            error.to_string().contains(problem),
            "{error} lacks {problem}"
        );
        assert!(!said.contains("hunter2"), "{said}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = Tokens::from_file("no/such/tokens.toml".as_ref()).unwrap_err();
    assert!(error.to_string().contains("no/such/tokens.toml"), "{error}");
}

#[test]
fn tokens_are_not_shown() {
    let access = Access::open().with_tokens(Tokens::single(&SecretString::from(TOKEN)).unwrap());
    assert!(!format!("{access:?}").contains("a-token"));
    assert!(check_start(Ipv4Addr::UNSPECIFIED.into(), &access).is_ok());
    let fresh = NewToken::new().unwrap();
    assert!(!format!("{fresh:?}").contains(fresh.expose()));
}

#[test]
fn short_tokens_are_refused() {
    let error = Tokens::single(&SecretString::from("fifteen-letters")).unwrap_err();
    assert!(error.to_string().contains("16"), "{error}");
    assert!(!format!("{error} {error:?}").contains("fifteen-"));
}

#[tokio::test]
async fn open_streams_of_a_removed_token_end() {
    let tokens = SharedTokens::from(Tokens::single(&SecretString::from(TOKEN)).unwrap());
    let options = GuardOptions {
        recheck_interval: Duration::from_millis(20),
        ..GuardOptions::default()
    };
    let access = Access::open().with_tokens(tokens.clone());
    let server = GuardTestServer::start(&options, ListenerOptions::default(), access).await;
    let host = format!("Host: {}", server.address);
    let good = format!("Authorization: Bearer {TOKEN}");
    let (mut stream, mut socket) = (server.connect().await, server.connect().await);
    stream.send("GET /sse HTTP/1.1", &[&host, &good], "").await;
    stream.read_until(b"event: endpoint").await;
    let upgrade = [
        host.as_str(),
        good.as_str(),
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    socket.send("GET /ws/progress HTTP/1.1", &upgrade, "").await;
    socket.read_until(b"101 Switching").await;
    // The token is checked several times before it is removed.
    tokio::time::sleep(Duration::from_millis(100)).await;
    tokens.replace(Tokens::default());
    stream.read_until(b"\r\n0\r\n\r\n").await;
    socket.read_until(b"the token is no longer accepted").await;
}

#[test]
fn guessable_tokens_are_refused() {
    for token in [
        "aaaaaaaaaaaaaaaa",
        "abababababababababab",
        "secret-secret-secret-",
        "password1password1",
        "0123456789abcdef",
        "zyxwvutsrqponmlk",
        "aaaaaaabbbbbbbccccccc",
    ] {
        let error = Tokens::single(&SecretString::from(token)).unwrap_err();
        assert!(
            error.to_string().contains("deliberate token new"),
            "{error}"
        );
        assert!(!format!("{error} {error:?}").contains(token));
    }
    for token in ["9f86d081884c7d65", "31415926535897932384", TOKEN] {
        assert!(
            Tokens::single(&SecretString::from(token)).is_ok(),
            "{token}"
        );
    }
    for _ in 0..200 {
        let token = NewToken::new().unwrap();
        assert!(Tokens::single(&SecretString::from(token.expose())).is_ok());
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_others_can_read_or_change_is_refused() {
    use std::os::unix::fs::PermissionsExt;

    let file = TokensFile::new(&format!("[alice]\ntoken = \"{TOKEN}\"\n"));
    let path = file.0.path();
    for (mode, is_read) in [
        (0o640, true),
        (0o440, true),
        (0o604, false),
        (0o620, false),
        (0o602, false),
        (0o600, true),
        (0o400, true),
    ] {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        let read = file.read();
        assert_eq!(read.is_ok(), is_read, "{mode:o}");
        if let Err(error) = read {
            let fix = format!("chmod 600 {}", path.display());
            assert!(error.to_string().contains(&fix), "{error}");
        }
    }
}

#[test]
fn fresh_tokens_differ_and_their_lines_hold_the_digest_alone() {
    let (one, other) = (NewToken::new().unwrap(), NewToken::new().unwrap());
    assert_ne!(one.expose(), other.expose());
    assert!(one.expose().starts_with("dlb_") && one.expose().len() == 4 + 43);
    let lines = one.to_toml("alice", &[], None).unwrap();
    assert!(!lines.contains(one.expose()) && !lines.contains("tools"));
    assert!(one.to_toml("al ice", &[], None).is_err());
    assert!(one.to_toml("alice", &["\"".to_owned()], None).is_err());
}
