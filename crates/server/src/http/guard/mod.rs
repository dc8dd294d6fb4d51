//! What stands before every route: checks who calls us what, from which page, and by what right;
//! holds each client to its share; reads the body within bounds; dresses every answer.
//!
//! It knows requests and answers, and nothing of what the routes behind it do.

mod body;
mod hosts;
mod origins;
mod rejection;
mod response_headers;

use std::{
    net::{IpAddr, Ipv4Addr},
    panic::AssertUnwindSafe,
    sync::Arc,
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::{self, Next},
    response::Response,
};
use deliberate_toolkit::Principal;
use futures::FutureExt;

pub use rejection::HttpRejection;

use super::{
    auth::{Access, metadata},
    body_guard,
    limits::{ClientLimiter, LimitOptions, RateLimitKey, RequestPermit},
    listener::ConnectionAddrs,
};
use body::BodyReader;
use hosts::AllowedHosts;
use origins::{AllowedOrigins, RequestOrigin};

/// What the guard goes by.
#[derive(Debug, Clone)]
pub struct GuardOptions {
    /// The address that is listened on.
    pub bind: IpAddr,
    /// Names this server answers to besides the address that was reached: a host, or a host and
    /// a port.
    pub allowed_hosts: Vec<String>,
    /// Origins whose pages may use this server, each exactly as a browser sends it.
    pub allowed_origins: Vec<String>,
    /// The largest body that is taken.
    pub body_bytes: usize,
    /// How long a body may take to arrive.
    pub body_time: Duration,
    /// What the bodies of all running requests may hold together.
    pub memory_bytes: usize,
    /// What one client may take.
    pub limits: LimitOptions,
}

impl Default for GuardOptions {
    fn default() -> Self {
        Self {
            bind: Ipv4Addr::LOCALHOST.into(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            body_bytes: 4 * 1024 * 1024,
            body_time: Duration::from_secs(30),
            memory_bytes: 64 * 1024 * 1024,
            limits: LimitOptions::default(),
        }
    }
}

/// How a request was let in. Routes that anyone may ask find it among the request's extensions,
/// and say little to those who are [`Admission::Public`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// They may be here: the request holds their [`Principal`].
    Authenticated,
    /// Nobody knows who it is.
    Public,
}

/// Stands before every route.
#[derive(Debug)]
pub struct HttpGuard {
    bind: IpAddr,
    hosts: AllowedHosts,
    origins: AllowedOrigins,
    access: Access,
    limits: ClientLimiter,
    reader: BodyReader,
}

impl HttpGuard {
    /// A guard for these options.
    pub fn new(options: &GuardOptions, access: Access) -> Arc<Self> {
        Arc::new(Self {
            bind: options.bind,
            hosts: AllowedHosts::new(&options.allowed_hosts),
            origins: AllowedOrigins::new(&options.allowed_origins),
            access,
            limits: ClientLimiter::new(options.limits),
            reader: BodyReader::new(
                options.body_bytes,
                options.body_time,
                options.memory_bytes.max(options.body_bytes),
            ),
        })
    }

    /// How clients are held to their share, for those who count.
    pub fn limits(&self) -> &ClientLimiter {
        &self.limits
    }

    /// Puts the guard before all routes there are, and before what has no route. Add no routes
    /// afterwards: they would stand outside.
    pub fn protect(self: &Arc<Self>, router: Router) -> Router {
        let router = match self.access.resource_server() {
            Some(server) => router.merge(metadata::routes(server)),
            None => router,
        };
        router.layer(middleware::from_fn_with_state(
            self.clone(),
            guard_middleware,
        ))
    }

    async fn admit_request(
        &self,
        parts: &mut Parts,
        body: Body,
        origin: &mut Option<RequestOrigin>,
    ) -> Result<GuardOutcome, HttpRejection> {
        let peer = parts.extensions.get::<ConnectionAddrs>().copied();
        let reached = peer.and_then(|peer| peer.local).unwrap_or(self.bind);
        let host = self
            .hosts
            .check(parts.version, &parts.uri, &parts.headers, reached)?;
        let from =
            &*origin.insert(
                self.origins
                    .check(&parts.method, &parts.headers, &host, reached)?,
            );
        if let Some(answer) =
            response_headers::preflight_response(&parts.method, &parts.headers, from)
        {
            return Ok(GuardOutcome::Respond(answer));
        }
        if parts.method == Method::OPTIONS {
            return Err(options_not_allowed());
        }
        let place = self.authenticate(parts, peer).await?;
        let read = self.reader.read(&parts.headers, body).await?;
        Ok(GuardOutcome::Forward {
            body: read,
            permit: place,
        })
    }

    /// Finds out who it is, and takes a place for them among the running requests.
    async fn authenticate(
        &self,
        parts: &mut Parts,
        peer: Option<ConnectionAddrs>,
    ) -> Result<RequestPermit, HttpRejection> {
        let address = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.remote.ip());
        let client = RateLimitKey::for_address(address);
        let principal = match self.access.admit(&parts.uri, &parts.headers).await {
            Ok(principal) => Some(principal),
            Err(_) if is_public(parts.uri.path()) => None,
            Err(refusal) => {
                // Who guesses tokens is held to a share too.
                self.limits.check_rate(&client)?;
                return Err(refusal);
            }
        };
        let client = principal
            .as_ref()
            .and_then(|principal| principal.name.clone())
            .map_or(client, RateLimitKey::for_name);
        self.limits.check_rate(&client)?;
        let place = self.limits.acquire_permit(client)?;
        parts.extensions.remove::<Principal>();
        match principal {
            Some(principal) => {
                parts.extensions.insert(principal);
                parts.extensions.insert(Admission::Authenticated);
            }
            None => {
                parts.extensions.insert(Admission::Public);
            }
        }
        Ok(place)
    }
}

/// Among the extensions of an answer: that the guard gave it, and the code of its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpRejectionCode(pub &'static str);

/// What became of a request that was not refused.
enum GuardOutcome {
    /// It was a question for the guard.
    Respond(Response),
    /// It goes on to its route.
    Forward {
        body: body::BufferedBody,
        permit: RequestPermit,
    },
}

async fn guard_middleware(
    State(guard): State<Arc<HttpGuard>>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let mut origin = None;
    let mut response = match guard.admit_request(&mut parts, body, &mut origin).await {
        Ok(GuardOutcome::Respond(answer)) => answer,
        Ok(GuardOutcome::Forward {
            body: read,
            permit: place,
        }) => {
            let body::BufferedBody { bytes, memory } = read;
            let uri = parts.uri.clone();
            let request = Request::from_parts(parts, Body::from(bytes));
            let response = run_catching_panics(next, request, uri.path()).await;
            drop(memory);
            // An answer that is still being written is a request that still runs.
            response.map(|body| body_guard::with_guard(body, place))
        }
        Err(refusal) => {
            tracing::debug!(
                status = refusal.status().as_u16(),
                code = refusal.code(),
                "a request was refused"
            );
            let code = refusal.code();
            let mut response = refusal.into_response_for(parts.uri.path());
            response.extensions_mut().insert(HttpRejectionCode(code));
            response
        }
    };
    response_headers::add_response_headers(&mut response, origin.as_ref());
    response
}

/// Runs what is behind the guard. A panic there ends the request and nothing else.
async fn run_catching_panics(next: Next, request: Request, path: &str) -> Response {
    let Ok(response) = AssertUnwindSafe(next.run(request)).catch_unwind().await else {
        tracing::error!("a request ended in a panic");
        return HttpRejection::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "Something went wrong in this server; try again, and see its log if it happens again.",
        )
        .into_response_for(path);
    };
    response
}

/// What anyone may ask: whether we are alive, how to connect, and where to get a token. Those who
/// are not known are told little.
fn is_public(path: &str) -> bool {
    matches!(path, "/" | "/health" | "/health/live" | "/health/ready")
        || metadata::is_metadata_path(path)
}

fn options_not_allowed() -> HttpRejection {
    HttpRejection::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_refused",
        "OPTIONS is answered to allowed origins only; use GET or POST.",
    )
    .with_header(header::ALLOW, HeaderValue::from_static("GET, POST, DELETE"))
}
