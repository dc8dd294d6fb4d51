//! A server that wants a login, and who gives the tokens for it, at one address. Every token holds
//! [`HUSH`], so that one that is told is seen.

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

/// What stands in every code, token and secret.
pub(super) const HUSH: &str = "hush";

/// What there is to know of the server, and to change.
#[derive(Default)]
pub(super) struct Mind {
    /// The one token that is good.
    pub(super) good: Option<String>,
    /// The one that can be turned into another.
    renewable: Option<String>,
    /// How many were given.
    given: u32,
    /// For how many seconds they are.
    pub(super) lasts: u64,
    /// Whether anybody may come in.
    pub(super) is_open: bool,
    /// Whether whoever is asked says no.
    pub(super) disagrees: bool,
    /// What tokens were asked for with.
    pub(super) grants: Vec<String>,
    /// What the agreed codes are to be proven with.
    challenges: BTreeMap<String, String>,
}

/// The server.
pub(super) struct Guarded {
    /// Where it is, without a path.
    pub(super) base: String,
    mind: Arc<Mutex<Mind>>,
}

#[derive(Clone)]
struct Here {
    base: String,
    mind: Arc<Mutex<Mind>>,
}

impl Guarded {
    /// One that gives tokens for an hour.
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let mind = Arc::new(Mutex::new(Mind {
            lasts: 3600,
            ..Mind::default()
        }));
        let here = Here {
            base: base.clone(),
            mind: mind.clone(),
        };
        let router = Router::new().fallback(answer).with_state(here);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { base, mind }
    }

    pub(super) fn mind(&self) -> MutexGuard<'_, Mind> {
        self.mind.lock().unwrap()
    }

    /// It in the settings, with this beside its address.
    pub(super) fn written(&self, more: &str) -> String {
        format!("[servers.guarded]\nurl = '{}/mcp'\n{more}\n", self.base)
    }
}

async fn answer(State(here): State<Here>, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let Here { base, mind } = here;
    let mut mind = mind.lock().unwrap();
    match uri.path() {
        "/.well-known/oauth-protected-resource/mcp" => told(&json!({
            "resource": format!("{base}/mcp"),
            "authorization_servers": [base],
            "scopes_supported": ["read"],
        })),
        "/.well-known/oauth-authorization-server" => told(&json!({
            "issuer": base,
            "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"),
            "registration_endpoint": format!("{base}/register"),
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
            "code_challenge_methods_supported": ["S256"],
        })),
        "/register" => told(&json!({
            "client_id": "registered",
            "client_secret": format!("{HUSH}-client"),
            "redirect_uris": [],
        })),
        "/authorize" => page(&mut mind, uri.query().unwrap()),
        "/token" => token(&mut mind, &form(&body)),
        "/mcp" => served(&mind, &base, &headers, &body),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn told(body: &Value) -> Response {
    let json = [(header::CONTENT_TYPE, "application/json")];
    (json, body.to_string()).into_response()
}

fn form(body: &[u8]) -> HashMap<String, String> {
    url::form_urlencoded::parse(body).into_owned().collect()
}

/// The page whose reader agrees at once, or does not.
fn page(mind: &mut Mind, query: &str) -> Response {
    let asked = form(query.as_bytes());
    assert_eq!(asked["code_challenge_method"], "S256");
    let mut back = Url::parse(&asked["redirect_uri"]).unwrap();
    let code = format!("{HUSH}-code-{}", mind.challenges.len());
    let said = if mind.disagrees {
        ("error", "access_denied")
    } else {
        ("code", code.as_str())
    };
    back.query_pairs_mut()
        .extend_pairs([said, ("state", &asked["state"])]);
    mind.challenges
        .insert(code, asked["code_challenge"].clone());
    let place = [(header::LOCATION, back.to_string())];
    (StatusCode::FOUND, place).into_response()
}

fn token(mind: &mut Mind, form: &HashMap<String, String>) -> Response {
    let grant = form["grant_type"].clone();
    let is_good = match grant.as_str() {
        // Each code once.
        "authorization_code" => {
            form.contains_key("code_verifier") && mind.challenges.remove(&form["code"]).is_some()
        }
        "refresh_token" => mind.renewable.as_ref() == Some(&form["refresh_token"]),
        _ => grant == "client_credentials",
    };
    mind.grants.push(grant);
    if !is_good {
        let error = json!({ "error": "invalid_grant", "error_description": format!("{form:?}") });
        return (StatusCode::BAD_REQUEST, told(&error)).into_response();
    }
    mind.given += 1;
    let (access, refresh) = (
        format!("{HUSH}-access-{}", mind.given),
        format!("{HUSH}-refresh-{}", mind.given),
    );
    mind.good = Some(access.clone());
    mind.renewable = Some(refresh.clone());
    told(&json!({
        "access_token": access, "refresh_token": refresh,
        "token_type": "Bearer", "expires_in": mind.lasts,
    }))
}

fn served(mind: &Mind, base: &str, headers: &HeaderMap, body: &[u8]) -> Response {
    let sent = headers.get(header::AUTHORIZATION);
    let sent = sent.map_or("", |it| it.to_str().unwrap());
    let is_good = |good: &String| sent == format!("Bearer {good}");
    if !mind.is_open && !mind.good.as_ref().is_some_and(is_good) {
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
            return told(&json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }));
        }
    };
    told(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
}
