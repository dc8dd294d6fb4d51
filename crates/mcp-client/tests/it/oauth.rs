//! Tests of OAuth: what a rejection leads to, how often the user is asked, and that no secret is
//! ever shown.

use std::sync::Arc;

use deliberate_mcp_client::{
    ClientErrorKind, McpClient, ServerConfig,
    client::NoClientHandler,
    config::{AuthConfig, TransportConfig},
    oauth::{
        Browser as _, LoopbackRedirect, MemoryTokenStore, OAuthClientOptions, TokenStore as _,
    },
    transport::{TransportError, http::Authorizer as _},
};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use super::oauth_support::{
    AuthServerState, AuthTestServer, AutoAgreeBrowser, SECRET, query_field,
};

fn browser_options(browser: &Arc<AutoAgreeBrowser>) -> OAuthClientOptions {
    OAuthClientOptions {
        browser: Some(Arc::<AutoAgreeBrowser>::clone(browser)),
        ..OAuthClientOptions::default()
    }
}

fn secret_config() -> AuthConfig {
    AuthConfig {
        client_id: Some("us".to_owned()),
        client_secret: Some(SecretString::from(format!("{SECRET}-configured"))),
        ..AuthConfig::default()
    }
}

#[tokio::test]
async fn someone_agrees_once_and_the_token_is_used_from_then_on() {
    let server = AuthTestServer::new(AuthServerState::default()).await;
    let browser = Arc::new(AutoAgreeBrowser::default());
    let auth = server.auth(browser_options(&browser));
    for _ in 0..3 {
        server.send_request(&auth).await.unwrap();
    }
    let page = browser.pages.lock().unwrap()[0].clone();
    assert_eq!(browser.scopes(), ["read"]);
    assert_eq!(query_field(&page, "code_challenge_method"), "S256");
    assert_eq!(query_field(&page, "client_id"), "registered");
    assert_eq!(query_field(&page, "resource"), server.server.url.as_str());
    assert_eq!(server.count("/token", ""), 1);
    // One request was rejected, three were answered.
    assert_eq!(server.count("/mcp", "tools/list"), 4);
}

#[tokio::test]
async fn a_revoked_token_is_renewed_once_for_all_who_were_refused() {
    let server = AuthTestServer::new(AuthServerState::default()).await;
    let browser = Arc::new(AutoAgreeBrowser::default());
    let auth = server.auth(browser_options(&browser));
    server.send_request(&auth).await.unwrap();
    server.revoke();
    for ended in server.send_requests(&auth, 20).await {
        ended.unwrap();
    }
    assert_eq!(browser.scopes().len(), 1);
    assert_eq!(server.count("/token", "grant_type=refresh_token"), 1);
}

#[tokio::test]
async fn who_can_not_be_renewed_is_asked_again() {
    let server = AuthTestServer::new(AuthServerState::default()).await;
    let browser = Arc::new(AutoAgreeBrowser::default());
    let auth = server.auth(browser_options(&browser));
    server.send_request(&auth).await.unwrap();
    server.revoke();
    server.state.lock().unwrap().refresh_token = None;
    server.send_request(&auth).await.unwrap();
    assert_eq!(browser.scopes().len(), 2);
    // The client that was registered first is still in use.
    assert_eq!(server.count("/register", ""), 1);
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends() {
    let world = AuthTestServer::new(AuthServerState {
        expires_in: Some(0),
        ..AuthServerState::default()
    });
    let server = world.await;
    let auth = server.auth(browser_options(&Arc::default()));
    server.send_request(&auth).await.unwrap();
    server.state.lock().unwrap().expires_in = Some(3600);
    server.send_request(&auth).await.unwrap();
    server.send_request(&auth).await.unwrap();
    // Once for the token that expired immediately, once for the next.
    assert_eq!(server.count("/token", "grant_type=refresh_token"), 2);
    assert_eq!(server.count("/mcp", "tools/list"), 4);
}

#[tokio::test]
async fn more_rights_are_asked_for_beside_those_there_are_and_once() {
    let world = AuthTestServer::new(AuthServerState {
        required_scope: Some("write"),
        ..AuthServerState::default()
    });
    let test_server = world.await;
    let browser = Arc::new(AutoAgreeBrowser::default());
    let auth = test_server.auth(browser_options(&browser));
    test_server.send_request(&auth).await.unwrap();
    assert_eq!(browser.scopes(), ["read", "read write"]);
    // The authorization server never grants this scope.
    test_server
        .state
        .lock()
        .unwrap()
        .valid_token
        .as_mut()
        .unwrap()
        .1 = "read".to_owned();
    let error = test_server
        .send_request(&auth)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("more scopes"), "{error}");
    assert_eq!(browser.scopes().len(), 2);
}

#[tokio::test]
async fn a_server_that_takes_no_token_asks_nobody_twice() {
    let world = AuthTestServer::new(AuthServerState {
        rejects_all: true,
        ..AuthServerState::default()
    });
    let server = world.await;
    let browser = Arc::new(AutoAgreeBrowser::default());
    let error = server
        .send_request(&server.auth(browser_options(&browser)))
        .await;
    assert!(matches!(error, Err(TransportError::Unauthorized { .. })));
    assert_eq!(browser.scopes().len(), 1);
}

#[tokio::test]
async fn a_secret_is_enough_where_nobody_can_be_asked() {
    let test_server = AuthTestServer::new(AuthServerState::default()).await;
    let mut config = ServerConfig::http("guarded", test_server.server.url.as_str()).unwrap();
    let TransportConfig::Http(http) = &mut config.transport else {
        panic!("no HTTP");
    };
    http.auth = Some(secret_config());
    let client = McpClient::new(config, Arc::new(NoClientHandler)).unwrap();
    // The server's answers are meaningless, but they arrived.
    let error = client.server_info().await.unwrap_err();
    assert!(
        matches!(error.kind, ClientErrorKind::Malformed { .. }),
        "{error}"
    );
    assert_eq!(
        test_server.count("/token", "grant_type=client_credentials"),
        1
    );
}

#[tokio::test]
async fn without_anyone_to_ask_the_error_says_what_to_do() {
    let server = AuthTestServer::new(AuthServerState::default()).await;
    let auth = server.auth(OAuthClientOptions::default());
    let error = server.send_request(&auth).await.unwrap_err().to_string();
    assert!(error.contains("log in to it first"), "{error}");
    assert_eq!(
        server.count("/token", "") + server.count("/register", ""),
        0
    );
}

#[tokio::test]
async fn a_login_is_kept_for_its_server_and_no_other() {
    let server = AuthTestServer::new(AuthServerState::default()).await;
    let store = Arc::new(MemoryTokenStore::default());
    let browser = Arc::new(AutoAgreeBrowser::default());
    let auth = server.auth(OAuthClientOptions {
        store: store.clone(),
        ..browser_options(&browser)
    });
    auth.login().await.unwrap();
    let later = OAuthClientOptions {
        store: store.clone(),
        ..OAuthClientOptions::default()
    };
    server
        .send_request(&server.auth(later.clone()))
        .await
        .unwrap();
    assert_eq!(server.count("/mcp", "tools/list"), 1);
    // A token that another program refreshed is adopted.
    let early = server.auth(later.clone());
    assert!(early.is_logged_in().await.unwrap());
    server.revoke();
    auth.login().await.unwrap();
    server.send_request(&early).await.unwrap();
    assert_eq!(server.count("/token", "grant_type=refresh_token"), 0);

    let other = AuthTestServer::new(AuthServerState::default()).await;
    let error = other.send_request(&other.auth(later)).await;
    assert!(matches!(error, Err(TransportError::Unauthorized { .. })));
    for request in other.server.requests() {
        assert_eq!(request.header("authorization"), None);
    }
    auth.logout().await.unwrap();
    assert!(store.load().await.unwrap().is_none());
    assert!(auth.token().await.unwrap().is_none());
}

#[tokio::test]
async fn no_secret_is_told() {
    let server = AuthTestServer::new(AuthServerState::default()).await;
    let browser = Arc::new(AutoAgreeBrowser {
        back: Some("code=wrong&state=wrong"),
        ..AutoAgreeBrowser::default()
    });
    let wrong_state = server.auth(browser_options(&browser));
    let refused = OAuthClientOptions {
        auth: AuthConfig {
            scopes: vec!["everything".to_owned()],
            ..secret_config()
        },
        ..OAuthClientOptions::default()
    };
    let not_allowed = server.auth(refused);
    for auth in [wrong_state, not_allowed] {
        let error = server.send_request(&auth).await.unwrap_err();
        let text = format!("{error} {error:?} {auth:?}");
        assert!(text.contains("the login failed"), "{text}");
        assert!(!text.contains(SECRET), "{text}");
    }
    let auth = server.auth(browser_options(&Arc::default()));
    server.send_request(&auth).await.unwrap();
    let token = auth.token().await.unwrap().unwrap();
    assert!(token.expose_secret().contains(SECRET));
    server.state.lock().unwrap().rejects_all = true;
    let error = server.send_request(&auth).await.unwrap_err();
    let text = format!(
        "{error} {error:?} {auth:?} {:?}",
        browser_options(&Arc::default())
    );
    assert!(!text.contains(SECRET), "{text}");
}

#[tokio::test]
async fn a_person_who_refuses_is_heard() {
    let server = AuthTestServer::new(AuthServerState::default()).await;
    let browser = Arc::new(AutoAgreeBrowser {
        back: Some("error=access_denied&state=x"),
        ..AutoAgreeBrowser::default()
    });
    let error = server
        .send_request(&server.auth(browser_options(&browser)))
        .await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("access_denied"), "{error}");
    assert_eq!(server.count("/token", ""), 0);
}

#[tokio::test]
async fn tokens_come_over_safe_connections_only() {
    for elsewhere in ["http://tokens.example/token", "file:///etc/passwd"] {
        let world = AuthTestServer::new(AuthServerState {
            other_issuer: Some(elsewhere),
            ..AuthServerState::default()
        });
        let server = world.await;
        let auth = server.auth(OAuthClientOptions {
            auth: secret_config(),
            ..OAuthClientOptions::default()
        });
        let error = server.send_request(&auth).await.unwrap_err().to_string();
        assert!(error.contains("not safe"), "{error}");
    }
}

#[tokio::test]
async fn a_secret_goes_to_none_but_whom_it_is_for() {
    let server = AuthTestServer::new(AuthServerState::default()).await;
    let told = |issuer: &str| AuthConfig {
        issuer: Some(issuer.to_owned()),
        ..secret_config()
    };
    let base = server.server.url.origin().ascii_serialization();
    for (issuer, fine) in [("https://tokens.example", false), (base.as_str(), true)] {
        let auth = server.auth(OAuthClientOptions {
            auth: told(issuer),
            ..OAuthClientOptions::default()
        });
        let ended = server.send_request(&auth).await;
        assert_eq!(ended.is_ok(), fine, "{ended:?}");
        assert_eq!(server.count("/token", "") == 1, fine);
    }
}

#[test]
fn a_login_that_can_not_be_is_named() {
    let half = AuthConfig {
        client_secret: Some(SecretString::from("x")),
        ..AuthConfig::default()
    };
    let mut config = ServerConfig::http("half", "https://one.example/mcp").unwrap();
    let TransportConfig::Http(http) = &mut config.transport else {
        panic!("no HTTP");
    };
    http.auth = Some(half);
    let mut socket = http.clone();
    let error = config.check().unwrap_err().to_string();
    assert!(error.contains("no `client_id`"), "{error}");
    socket.url = Url::parse("wss://one.example/mcp").unwrap();
    let config =
        ServerConfig::with_transport("socket".to_owned(), TransportConfig::WebSocket(socket));
    let error = config.check().unwrap_err().to_string();
    assert!(error.contains("servers.socket.auth"), "{error}");
}

#[tokio::test]
async fn a_browser_comes_back_to_a_port_of_this_machine() {
    let (sender, mut pages) = tokio::sync::mpsc::unbounded_channel();
    let show = Arc::new(move |page: &Url| {
        sender.send(page.clone()).unwrap();
        Ok(())
    });
    let browser = LoopbackRedirect::bind(show).await.unwrap();
    let redirect = browser.redirect_uri();
    let page = Url::parse("https://login.example/authorize?client_id=x").unwrap();
    let user = async {
        assert_eq!(pages.recv().await.unwrap(), page);
        let stray = Url::parse(&redirect).unwrap().join("/favicon.ico").unwrap();
        assert_eq!(reqwest::get(stray).await.unwrap().status(), 404);
        let back = reqwest::get(format!("{redirect}?code=1&state=2")).await;
        assert_eq!(back.unwrap().status(), 200);
    };
    // An HTTP client needs a TLS provider, even without encryption.
    deliberate_http_client::install_crypto();
    let (back, ()) = tokio::join!(browser.authorize(&page), user);
    let back = back.unwrap();
    assert_eq!(
        (query_field(&back, "code"), query_field(&back, "state")),
        ("1".into(), "2".into())
    );
}
