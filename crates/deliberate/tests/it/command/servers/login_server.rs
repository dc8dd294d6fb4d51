//! A server that needs a login, and its authorization server, at one address. Every token contains
//! [`SECRET_MARKER`], so that a leaked one is detected.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard},
};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, Uri, header},
    response::{IntoResponse as _, Response},
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use url::Url;

/// Part of every code, token and secret.
pub(super) const SECRET_MARKER: &str = "hush";

/// State of the server that a test can read and change.
#[derive(Default)]
pub(super) struct LoginServerState {
    /// The one valid token.
    pub(super) valid_token: Option<String>,
    /// The one valid refresh token.
    refresh_token: Option<String>,
    /// Number of tokens issued.
    issued_tokens: u32,
    /// Lifetime of tokens in seconds.
    pub(super) token_lifetime: u64,
    /// Whether no token is needed.
    pub(super) is_open: bool,
    /// Whether the user denies consent.
    pub(super) denies_consent: bool,
    /// Grant types of the token requests.
    pub(super) grants: Vec<String>,
    /// PKCE challenges of the issued codes.
    challenges: BTreeMap<String, String>,
}

pub(super) struct LoginTestServer {
    /// Its URL, without a path.
    pub(super) base: String,
    state: Arc<Mutex<LoginServerState>>,
}

#[derive(Clone)]
struct LoginHandlerState {
    base: String,
    state: Arc<Mutex<LoginServerState>>,
}

impl LoginTestServer {
    /// Starts a server whose tokens are valid for an hour.
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let mind = Arc::new(Mutex::new(LoginServerState {
            token_lifetime: 3600,
            ..LoginServerState::default()
        }));
        let here = LoginHandlerState {
            base: base.clone(),
            state: mind.clone(),
        };
        let router = Router::new().fallback(handle_request).with_state(here);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { base, state: mind }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, LoginServerState> {
        self.state.lock().unwrap()
    }

    /// Returns the settings for the server, with these fields beside its URL.
    pub(super) fn settings_text(&self, more: &str) -> String {
        format!("[servers.guarded]\nurl = '{}/mcp'\n{more}\n", self.base)
    }
}

async fn handle_request(
    State(here): State<LoginHandlerState>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let LoginHandlerState { base, state: mind } = here;
    let mut server_state = mind.lock().unwrap();
    match uri.path() {
        "/.well-known/oauth-protected-resource/mcp" => json_response(&json!({
            "resource": format!("{base}/mcp"),
            "authorization_servers": [base],
            "scopes_supported": ["read"],
        })),
        "/.well-known/oauth-authorization-server" => json_response(&json!({
            "issuer": base,
            "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"),
            "registration_endpoint": format!("{base}/register"),
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
            "code_challenge_methods_supported": ["S256"],
        })),
        "/register" => json_response(&json!({
            "client_id": "registered",
            "client_secret": format!("{SECRET_MARKER}-client"),
            "redirect_uris": [],
        })),
        "/authorize" => authorize_response(&mut server_state, uri.query().unwrap()),
        "/token" => token_response(&mut server_state, &parse_form(&body)),
        "/mcp" => mcp_response(&server_state, &base, &headers, &body),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn json_response(body: &Value) -> Response {
    let json = [(header::CONTENT_TYPE, "application/json")];
    (json, body.to_string()).into_response()
}

fn parse_form(body: &[u8]) -> HashMap<String, String> {
    url::form_urlencoded::parse(body).into_owned().collect()
}

/// Answers the consent page: its user agrees or denies at once.
fn authorize_response(server_state: &mut LoginServerState, query: &str) -> Response {
    let asked = parse_form(query.as_bytes());
    assert_eq!(asked["code_challenge_method"], "S256");
    let mut back = Url::parse(&asked["redirect_uri"]).unwrap();
    let code = format!("{SECRET_MARKER}-code-{}", server_state.challenges.len());
    let said = if server_state.denies_consent {
        ("error", "access_denied")
    } else {
        ("code", code.as_str())
    };
    back.query_pairs_mut()
        .extend_pairs([said, ("state", &asked["state"])]);
    server_state
        .challenges
        .insert(code, asked["code_challenge"].clone());
    let place = [(header::LOCATION, back.to_string())];
    (StatusCode::FOUND, place).into_response()
}

fn token_response(state: &mut LoginServerState, form: &HashMap<String, String>) -> Response {
    let grant = form["grant_type"].clone();
    let is_good = match grant.as_str() {
        // Each code is valid once.
        "authorization_code" => {
            form.contains_key("code_verifier") && state.challenges.remove(&form["code"]).is_some()
        }
        "refresh_token" => state.refresh_token.as_ref() == Some(&form["refresh_token"]),
        _ => grant == "client_credentials",
    };
    state.grants.push(grant);
    if !is_good {
        let error = json!({ "error": "invalid_grant", "error_description": format!("{form:?}") });
        return (StatusCode::BAD_REQUEST, json_response(&error)).into_response();
    }
    state.issued_tokens += 1;
    let (access, refresh) = (
        format!("{SECRET_MARKER}-access-{}", state.issued_tokens),
        format!("{SECRET_MARKER}-refresh-{}", state.issued_tokens),
    );
    state.valid_token = Some(access.clone());
    state.refresh_token = Some(refresh.clone());
    json_response(&json!({
        "access_token": access, "refresh_token": refresh,
        "token_type": "Bearer", "expires_in": state.token_lifetime,
    }))
}

fn mcp_response(
    state: &LoginServerState,
    base: &str,
    headers: &HeaderMap,
    body: &[u8],
) -> Response {
    let sent = headers.get(header::AUTHORIZATION);
    let sent = sent.map_or("", |it| it.to_str().unwrap());
    let is_good = |good: &String| sent == format!("Bearer {good}");
    if !state.is_open && !state.valid_token.as_ref().is_some_and(is_good) {
        let place = format!("{base}/.well-known/oauth-protected-resource/mcp");
        let said = format!("Bearer resource_metadata=\"{place}\"");
        let said = [(header::WWW_AUTHENTICATE, said)];
        let words = format!("not with {sent:?}");
        return (StatusCode::UNAUTHORIZED, said, words).into_response();
    }
    let Ok(message) = serde_json::from_slice::<Value>(body) else {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    };
    if message["id"].is_null() {
        return StatusCode::ACCEPTED.into_response();
    }
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "guarded", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [{
            "name": "greet", "description": "Says hello.", "inputSchema": { "type": "object" },
        }] }),
        "tools/call" => json!({ "content": [{ "type": "text", "text": "hello, you" }] }),
        "ping" => json!({}),
        _ => {
            let error = json!({ "code": -32601, "message": "there is no such method" });
            return json_response(
                &json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }),
            );
        }
    };
    json_response(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
}
