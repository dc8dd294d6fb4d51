//! Tests of operator tokens.

use std::{io::Write as _, net::Ipv4Addr};

use deliberate_server::http::auth::{Access, NewToken, Tokens, TokensError, check_start};
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
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (401, "token_missing")
        );
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
        assert!(!answer.body.contains("a-token"));
    }
}

#[tokio::test]
async fn a_token_in_the_address_is_refused_even_beside_a_good_one() {
    let server = single_token_server().await;
    let request = format!("GET /mcp?access_token={TOKEN} HTTP/1.1");
    let good = format!("Authorization: Bearer {TOKEN}");
    for lines in [&[][..], &[good.as_str()][..]] {
        let answer = server.request(&request, lines).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (401, "token_in_query")
        );
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
    let secret = "hunter2-hunter2-hunter2";
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
