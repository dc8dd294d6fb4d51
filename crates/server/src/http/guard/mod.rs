//! The middleware before every route: checks host, origin and authentication, applies the client
//! limits, reads the body within bounds and adds the response headers.
//!
//! It knows requests and responses, but not what the routes do.

mod access_lease;
mod body;
mod hosts;
mod origins;
mod rejection;
mod response_headers;

use std::{
    net::{IpAddr, Ipv4Addr},
    panic::AssertUnwindSafe,
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::{self, Next},
    response::Response,
};
use deliberate_toolkit::Principal;
use futures::FutureExt;

pub(super) use access_lease::AccessLease;
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

/// The settings of the guard.
#[derive(Debug, Clone)]
pub struct GuardOptions {
    /// The address that the server listens on.
    pub bind: IpAddr,
    /// Accepted hosts besides the address of the connection: a host, or a host and a port.
    pub allowed_hosts: Vec<String>,
    /// Origins whose pages may use this server, each exactly as a browser sends it.
    pub allowed_origins: Vec<String>,
    /// The largest accepted body.
    pub body_bytes: usize,
    /// How long a body may take to arrive.
    pub body_time: Duration,
    /// The memory for the bodies of all running requests together, with that of their values.
    pub memory_bytes: usize,
    /// The limits of each client.
    pub limits: LimitOptions,
    /// The interval of checks whether the token of an open stream is still accepted.
    pub recheck_interval: Duration,
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
            recheck_interval: Duration::from_secs(20),
        }
    }
}

/// How a request was admitted. Public routes find it among the request's extensions and reveal
/// little to [`Admission::Public`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Authenticated: the request's extensions hold the [`Principal`].
    Authenticated,
    /// Not authenticated.
    Public,
}

/// The middleware that checks every request.
#[derive(Debug)]
pub struct HttpGuard {
    bind: IpAddr,
    senders: RwLock<Arc<AllowedSenders>>,
    access: Access,
    limits: ClientLimiter,
    reader: BodyReader,
    recheck_interval: Duration,
}

/// The hosts and origins that requests may name.
#[derive(Debug)]
struct AllowedSenders {
    hosts: AllowedHosts,
    origins: AllowedOrigins,
}

impl AllowedSenders {
    fn new(options: &GuardOptions) -> Arc<Self> {
        Arc::new(Self {
            hosts: AllowedHosts::new(&options.allowed_hosts),
            origins: AllowedOrigins::new(&options.allowed_origins),
        })
    }
}

impl HttpGuard {
    pub fn new(options: &GuardOptions, access: Access) -> Arc<Self> {
        Arc::new(Self {
            bind: options.bind,
            senders: RwLock::new(AllowedSenders::new(options)),
            access,
            limits: ClientLimiter::new(options.limits),
            recheck_interval: options.recheck_interval,
            reader: BodyReader::new(
                options.body_bytes,
                options.body_time,
                options.memory_bytes.max(options.body_bytes),
            ),
        })
    }

    /// Applies other hosts, origins and limits from now on; the other options stay.
    pub fn reload(&self, options: &GuardOptions) {
        let senders = AllowedSenders::new(options);
        *self.senders.write().unwrap_or_else(PoisonError::into_inner) = senders;
        self.limits.set_limits(options.limits);
    }

    /// Tells whether requests need no token.
    pub fn is_open(&self) -> bool {
        self.access.is_open()
    }

    /// The client limiter, for metrics.
    pub fn limits(&self) -> &ClientLimiter {
        &self.limits
    }

    /// Applies the guard to all routes and to the fallback. Routes that are added afterwards are
    /// not protected.
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
        let senders = self
            .senders
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let host = senders
            .hosts
            .check(parts.version, &parts.uri, &parts.headers, reached)?;
        let from = &*origin.insert(senders.origins.check(
            &parts.method,
            &parts.headers,
            &host,
            reached,
        )?);
        if let Some(answer) =
            response_headers::preflight_response(&parts.method, &parts.headers, from)
        {
            return Ok(GuardOutcome::Respond(answer));
        }
        if parts.method == Method::OPTIONS {
            return Err(options_not_allowed());
        }
        let address = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.remote.ip());
        let client = RateLimitKey::for_address(address);
        if self.access.is_open() && is_forwarded(&parts.headers) {
            self.limits.check_rate(&client)?;
            return Err(forwarded_without_token());
        }
        let place = self.authenticate(parts, client).await?;
        let read = self.reader.read(&parts.headers, body).await?;
        Ok(GuardOutcome::Forward {
            body: read,
            permit: place,
        })
    }

    /// Authenticates the request and takes a permit of the client's concurrent requests.
    async fn authenticate(
        &self,
        parts: &mut Parts,
        client: RateLimitKey,
    ) -> Result<RequestPermit, HttpRejection> {
        let principal = match self.access.admit(&parts.uri, &parts.headers).await {
            Ok(principal) => Some(principal),
            Err(_) if is_public(parts.uri.path()) => None,
            Err(refusal) => {
                // The rate limit also applies to attempts to guess tokens.
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

/// The headers that a proxy adds. A server without a token is for this machine alone, and behind a
/// proxy every request comes from this machine.
const PROXY_HEADERS: [&str; 6] = [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
];

fn is_forwarded(headers: &HeaderMap) -> bool {
    PROXY_HEADERS.iter().any(|name| headers.contains_key(*name))
}

fn forwarded_without_token() -> HttpRejection {
    HttpRejection::new(
        StatusCode::FORBIDDEN,
        "forwarded_without_token",
        "a proxy forwarded this request, and the server has no token; set http.token, \
         http.tokens_file or oauth.issuer",
    )
}

/// The code of a rejection, among the extensions of its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpRejectionCode(pub &'static str);

/// The outcome for a request that was not rejected.
enum GuardOutcome {
    /// The guard answers the request itself.
    Respond(Response),
    /// The request goes to its route.
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
            let opens_stream = opens_stream(&parts);
            let lease = if opens_stream {
                AccessLease::new(&guard, &parts.headers)
            } else {
                None
            };
            if let Some(lease) = lease.clone() {
                parts.extensions.insert(lease);
            }
            let request = Request::from_parts(parts, Body::from(bytes));
            let response = run_catching_panics(next, request, uri.path()).await;
            // A call may run on while its response is streamed. A stream that only waits for events
            // needs nothing of its request any more.
            let memory = memory.filter(|_| !opens_stream);
            // A request counts as running until its response was written.
            let response = response.map(|body| body_guard::with_guard(body, (memory, place)));
            match lease.filter(|_| is_event_stream(&response)) {
                Some(lease) => response.map(|body| lease.limit_body(body)),
                None => response,
            }
        }
        Err(refusal) => {
            tracing::debug!(
                status = refusal.status().as_u16(),
                code = refusal.code(),
                "a request was rejected"
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

/// Tells whether the response of a request may be a stream that only waits for events. Calls are
/// not: they may end normally.
fn opens_stream(parts: &Parts) -> bool {
    let method = parts.headers.get("mcp-method");
    parts.method == Method::GET || method.is_some_and(|it| it == "subscriptions/listen")
}

fn is_event_stream(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// Runs the route. A panic ends only this request.
async fn run_catching_panics(next: Next, request: Request, path: &str) -> Response {
    let Ok(response) = AssertUnwindSafe(next.run(request)).catch_unwind().await else {
        tracing::error!("a request ended in a panic");
        return HttpRejection::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "An internal error occurred; try again, and see the server's log if it happens again.",
        )
        .into_response_for(path);
    };
    response
}

/// The paths that need no authentication: health, landing page and OAuth metadata. Unauthenticated
/// clients see little there.
fn is_public(path: &str) -> bool {
    matches!(path, "/" | "/health" | "/health/live" | "/health/ready")
        || metadata::is_metadata_path(path)
}

fn options_not_allowed() -> HttpRejection {
    HttpRejection::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_refused",
        "OPTIONS is allowed only for configured origins; use GET or POST.",
    )
    .with_header(header::ALLOW, HeaderValue::from_static("GET, POST, DELETE"))
}
