//! Security headers for every response, and CORS headers for pages of configured origins.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::Response,
};

use super::origins::RequestOrigin;

/// The headers that a page of a configured origin may send, besides any that begin with `mcp-`.
const ALLOWED_HEADERS: [&str; 5] = [
    "accept",
    "authorization",
    "content-type",
    "last-event-id",
    "traceparent",
];

/// Set unless the response has its own value.
const DEFAULT_HEADERS: [(HeaderName, &str); 2] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; frame-ancestors 'none'",
    ),
    (header::CACHE_CONTROL, "no-store"),
];

/// Always set.
const FORCED_HEADERS: [(HeaderName, &str); 3] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
];

const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// Adds the security and CORS headers and removes headers that reveal the implementation.
pub(super) fn add_response_headers(response: &mut Response, origin: Option<&RequestOrigin>) {
    let headers = response.headers_mut();
    for (name, value) in DEFAULT_HEADERS {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    for (name, value) in FORCED_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    headers.remove(header::SERVER);
    headers.remove("x-powered-by");
    if let Some(RequestOrigin::Configured(origin)) = origin {
        add_cors_headers(headers, origin);
    }
}

fn add_cors_headers(headers: &mut HeaderMap, origin: &HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static(
            "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After",
        ),
    );
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
}

/// The response to a CORS preflight request; `None` for any other request.
pub(super) fn preflight_response(
    method: &Method,
    headers: &HeaderMap,
    origin: &RequestOrigin,
) -> Option<Response> {
    let asks = method == Method::OPTIONS
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
        && matches!(origin, RequestOrigin::Configured(_));
    if !asks {
        return None;
    }
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let answer = response.headers_mut();
    answer.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, POST, DELETE"),
    );
    answer.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from(600));
    if let Ok(taken) = HeaderValue::from_str(&allowed_headers(headers)) {
        answer.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, taken);
    }
    Some(response)
}

/// The headers to allow: the fixed ones, and requested ones with the prefix of the protocol.
fn allowed_headers(headers: &HeaderMap) -> String {
    let asked = headers
        .get_all(header::ACCESS_CONTROL_REQUEST_HEADERS)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .filter(|name| name.starts_with("mcp-") && HeaderName::from_bytes(name.as_bytes()).is_ok());
    ALLOWED_HEADERS
        .into_iter()
        .map(str::to_owned)
        .chain(asked)
        .collect::<Vec<_>>()
        .join(", ")
}
