//! A server that requires tokens and its authorization server at one address, and a browser whose
//! user agrees at once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use deliberate_mcp_client::{
    config::ServerLimits,
    oauth::{Browser, LoginError, OAuthClient, OAuthClientOptions},
    transport::{Connector as _, TransportError, http::HttpConnector},
};
use futures::future::BoxFuture;
use serde_json::json;
use tokio::time::Instant;
use url::Url;

use super::transport_http_support::{
    HttpTestServer, LONG, RecordedRequest, ResponseWriter, config, incoming_channel, request,
};

/// A part of every token, so that a leak is detected.
pub(crate) const SECRET: &str = "hush";

/// The behavior of the server.
#[derive(Default)]
pub(crate) struct AuthServerState {
    /// The only valid token, and its scope.
    pub(crate) valid_token: Option<(String, String)>,
    /// The only valid refresh token.
    pub(crate) refresh_token: Option<String>,
    /// The number of issued tokens.
    pub(crate) issued: u32,
    /// The lifetime of tokens.
    pub(crate) expires_in: Option<u64>,
    /// The scope that a request requires.
    pub(crate) required_scope: Option<&'static str>,
    /// Whether every token is rejected.
    pub(crate) rejects_all: bool,
    /// Another authorization server to point to.
    pub(crate) other_issuer: Option<&'static str>,
}

/// The server and its behavior.
pub(crate) struct AuthTestServer {
    pub(crate) server: HttpTestServer,
    pub(crate) state: Arc<Mutex<AuthServerState>>,
}

impl AuthTestServer {
    pub(crate) async fn new(mind: AuthServerState) -> Self {
        let mind = Arc::new(Mutex::new(mind));
        let shared = Arc::clone(&mind);
        let server = HttpTestServer::start(move |request, back| {
            let (status, headers, body) = respond(&mut shared.lock().unwrap(), &request);
            answer(back, status, headers, body)
        });
        Self {
            server: server.await,
            state: mind,
        }
    }

    pub(crate) fn revoke(&self) {
        self.state.lock().unwrap().valid_token = None;
    }

    /// Returns the number of requests with this path and body.
    pub(crate) fn count(&self, path: &str, body: &str) -> usize {
        let requests = self.server.requests();
        let fits = |it: &&RecordedRequest| it.path == path && it.body.contains(body);
        requests.iter().filter(fits).count()
    }

    pub(crate) fn auth(&self, options: OAuthClientOptions) -> OAuthClient {
        OAuthClient::new(self.server.url.clone(), options)
    }

    /// Sends this many requests at once and returns their outcomes.
    pub(crate) async fn send_requests(
        &self,
        auth: &OAuthClient,
        count: u64,
    ) -> Vec<Result<(), TransportError>> {
        let auth = Some(Arc::new(auth.clone()) as _);
        let to = config(self.server.url.clone());
        let connector = HttpConnector::new(to, &ServerLimits::default(), auth).unwrap();
        let (inbox, mut arrivals) = incoming_channel();
        let link = connector.open(inbox, Instant::now() + LONG).await.unwrap();
        for id in 1..=count {
            link.send(request(id, "tools/list")).await.unwrap();
        }
        let mut ended = Vec::new();
        for _ in 0..count {
            ended.push(arrivals.next_outcome().await);
        }
        ended
    }

    pub(crate) async fn send_request(&self, auth: &OAuthClient) -> Result<(), TransportError> {
        self.send_requests(auth, 1).await.remove(0)
    }
}

type HttpReply = (u16, Vec<(&'static str, String)>, String);

async fn answer(
    back: ResponseWriter,
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
) -> Option<ResponseWriter> {
    let json = ("content-type", "application/json");
    let headers = headers.iter().map(|(name, value)| (*name, value.as_str()));
    let headers: Vec<(&str, &str)> = headers.chain([json]).collect();
    back.answer(status, &headers, &body).await
}

fn respond(state: &mut AuthServerState, request: &RecordedRequest) -> HttpReply {
    let base = format!("http://{}", request.header("host").unwrap());
    match request.path.as_str() {
        "/.well-known/oauth-protected-resource/mcp" => json_reply(&json!({
            "resource": format!("{base}/mcp"),
            "authorization_servers": [base],
            "scopes_supported": ["read"],
        })),
        "/.well-known/oauth-authorization-server" => json_reply(&json!({
            "issuer": base,
            "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": state.other_issuer.map_or_else(|| format!("{base}/token"), str::to_owned),
            "registration_endpoint": format!("{base}/register"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        })),
        "/register" => json_reply(&json!({
            "client_id": "registered",
            "client_secret": format!("{SECRET}-client"),
            "redirect_uris": [],
        })),
        "/token" => token_reply(state, &form(&request.body)),
        "/mcp" => protected_reply(state, request, &base),
        _ => (404, Vec::new(), "{}".to_owned()),
    }
}

fn json_reply(body: &serde_json::Value) -> HttpReply {
    (200, Vec::new(), body.to_string())
}

fn token_reply(state: &mut AuthServerState, form: &HashMap<String, String>) -> HttpReply {
    let is_good = match form["grant_type"].as_str() {
        "authorization_code" => {
            form["code"].starts_with("agreed") && form.contains_key("code_verifier")
        }
        "refresh_token" => state.refresh_token.as_ref() == Some(&form["refresh_token"]),
        "client_credentials" => form.get("scope").map(String::as_str) == Some("read"),
        _ => false,
    };
    if !is_good || !form["resource"].ends_with("/mcp") {
        let error = json!({
            "error": "invalid_grant",
            "error_description": format!("{form:?} {SECRET}-client {SECRET}-configured"),
        });
        return (400, Vec::new(), error.to_string());
    }
    state.issued += 1;
    let access = format!("{SECRET}-access-{}", state.issued);
    let refresh = format!("{SECRET}-refresh-{}", state.issued);
    // The code carries the granted scope; a refresh repeats it.
    let agreed = form.get("code").and_then(|code| code.split_once(' '));
    let agreed = agreed.map(|(_, scopes)| scopes.to_owned());
    let scope = agreed.or_else(|| form.get("scope").cloned());
    let scope = scope.unwrap_or_default();
    state.valid_token = Some((access.clone(), scope));
    state.refresh_token = Some(refresh.clone());
    json_reply(&json!({
        "access_token": access,
        "refresh_token": refresh,
        "token_type": "Bearer",
        "expires_in": state.expires_in,
    }))
}

fn protected_reply(state: &AuthServerState, request: &RecordedRequest, base: &str) -> HttpReply {
    let place = format!("{base}/.well-known/oauth-protected-resource/mcp");
    let sent = request.header("authorization").unwrap_or_default();
    let good = state.valid_token.as_ref().filter(|_| !state.rejects_all);
    let Some((_, scopes)) = good.filter(|(token, _)| sent == format!("Bearer {token}")) else {
        let text = format!("Bearer resource_metadata=\"{place}\"");
        let body = json!({ "error_description": format!("bad: {sent}") });
        return (401, vec![("www-authenticate", text)], body.to_string());
    };
    match state.required_scope {
        Some(wanted) if !scopes.split(' ').any(|scope| scope == wanted) => {
            let text = format!("Bearer error=\"insufficient_scope\", scope=\"{wanted}\"");
            (403, vec![("www-authenticate", text)], "{}".to_owned())
        }
        _ => (200, Vec::new(), request.result()),
    }
}

fn form(body: &str) -> HashMap<String, String> {
    let pairs = url::form_urlencoded::parse(body.as_bytes());
    pairs.into_owned().collect()
}

/// A browser whose user agrees at once. It records the pages.
#[derive(Default)]
pub(crate) struct AutoAgreeBrowser {
    pub(crate) pages: Mutex<Vec<Url>>,
    /// What is returned in place of a code and the state.
    pub(crate) back: Option<&'static str>,
}

impl AutoAgreeBrowser {
    /// Returns the requested scopes of each page.
    pub(crate) fn scopes(&self) -> Vec<String> {
        let pages = self.pages.lock().unwrap();
        pages
            .iter()
            .map(|page| query_field(page, "scope"))
            .collect()
    }
}

pub(crate) fn query_field(page: &Url, name: &str) -> String {
    let found = page.query_pairs().find(|(key, _)| key == name);
    found
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

impl Browser for AutoAgreeBrowser {
    fn redirect_uri(&self) -> String {
        "http://127.0.0.1:9/callback".to_owned()
    }

    fn authorize<'a>(&'a self, address: &'a Url) -> BoxFuture<'a, Result<Url, LoginError>> {
        self.pages.lock().unwrap().push(address.clone());
        let mut back = Url::parse(&query_field(address, "redirect_uri")).unwrap();
        if let Some(query) = self.back {
            back.set_query(Some(query));
        } else {
            let state = query_field(address, "state");
            let code = format!("agreed {}", query_field(address, "scope"));
            back.query_pairs_mut()
                .extend_pairs([("code", &code), ("state", &state)]);
        }
        Box::pin(async move { Ok(back) })
    }
}
