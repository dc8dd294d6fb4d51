//! Tests of the landing page.

use axum::{Router, http::StatusCode};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use sha2::{Digest as _, Sha256};

use super::http_fixtures::{get, registry, with_accept};
use deliberate_server::http::{guard::Admission, landing_page};

const BROWSER: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

fn landing_page_router(token: bool) -> Router {
    let folder = tempfile::tempdir().unwrap();
    landing_page::routes(&registry(&folder.path().join("store.db")), token)
}

fn text_between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let rest = text.split_once(start).unwrap().1;
    rest.split_once(end).unwrap().0
}

#[tokio::test]
async fn a_browser_gets_one_small_page_that_needs_nothing_else() {
    let got = get(&landing_page_router(false), "/", with_accept(BROWSER)).await;
    assert_eq!(got.status, StatusCode::OK);
    assert!(got.header("content-type").starts_with("text/html"));
    assert!(got.text.len() < 15_000, "{}", got.text.len());
    assert!(!got.text.contains("{{"), "every place is filled");
    let outside = [
        "src=\"",
        "<link rel=\"stylesheet",
        "@import",
        "url(",
        "https://",
    ];
    for word in outside {
        assert!(!got.text.contains(word), "{word}");
    }
    // The one URL is the namespace of the icon, which is never loaded.
    assert_eq!(got.text.matches("http://").count(), 1);
    assert!(got.text.contains(env!("CARGO_PKG_VERSION")));
    assert!(got.text.contains("lang=\"en\"") && got.text.contains("role=\"status\""));
}

#[tokio::test]
async fn its_policy_lets_run_what_is_in_it_and_nothing_else() {
    let got = get(&landing_page_router(false), "/", with_accept(BROWSER)).await;
    let policy = got.header("content-security-policy");
    for (start, end, rule) in [
        ("<script>", "</script>", "script-src"),
        ("<style>", "</style>", "style-src"),
    ] {
        let inside = text_between(&got.text, start, end);
        let hash = BASE64_STANDARD.encode(Sha256::digest(inside));
        assert!(
            policy.contains(&format!("{rule} 'sha256-{hash}'")),
            "{policy}"
        );
    }
    assert!(policy.starts_with("default-src 'none'"));
    assert!(!policy.contains("unsafe"));
    assert!(!got.text.contains(" style=\"") && !got.text.contains(" onclick"));
    assert!(
        !got.text.contains("innerHTML"),
        "what changes is shown as text"
    );
}

#[tokio::test]
async fn names_are_text_and_who_was_not_let_in_does_not_see_them() {
    let router = landing_page_router(true);
    let got = get(&router, "/", with_accept(BROWSER)).await;
    assert!(got.text.contains("<code>ponder</code>"));
    assert!(got.text.contains("Ponder &amp; &lt;b&gt;wonder&lt;/b&gt;"));
    assert!(got.text.contains("data-token=\"yes\""));
    let got = get(&router, "/", |request| {
        with_accept(BROWSER)(request);
        request.extensions_mut().insert(Admission::Public);
    })
    .await;
    assert_eq!(got.status, StatusCode::OK);
    assert!(!got.text.contains("ponder"));
}

#[tokio::test]
async fn a_program_is_shown_the_way() {
    let got = get(&landing_page_router(false), "/", |_| {}).await;
    assert_eq!(got.json()["mcp"], "/mcp");
    assert_eq!(got.json()["name"], "deliberate");
}
