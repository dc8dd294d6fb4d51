//! The `/metrics` route and the middleware that counts requests.

use std::{sync::Arc, time::Instant};

use axum::{
    Extension, Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
    routing::get,
};
use deliberate_toolkit::{Principal, Registry};

use super::{METRICS_SCOPE, ServerMetrics, labels::route_label};
use crate::http::guard::{HttpRejection, HttpRejectionCode};

const OPENMETRICS_MIME_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PROMETHEUS_MIME_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// `GET /metrics`.
pub fn routes(metrics: Arc<ServerMetrics>, registry: Arc<Registry>) -> Router {
    Router::new()
        .route("/metrics", get(get_metrics))
        .with_state((metrics, registry))
}

/// Counts a request and its response; for [`axum::middleware::from_fn_with_state`], outside all
/// other layers, so that their rejections are counted too.
pub async fn track_request(
    State(metrics): State<Arc<ServerMetrics>>,
    request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let route = route_label(request.uri().path());
    let response = next.run(request).await;
    metrics.record_response(route, response.status(), began.elapsed());
    response
}

async fn get_metrics(
    State((metrics, registry)): State<(Arc<ServerMetrics>, Arc<Registry>)>,
    principal: Option<Extension<Principal>>,
    headers: HeaderMap,
) -> Response {
    if principal.is_some_and(|principal| !principal.scope.allows(METRICS_SCOPE)) {
        return reject_scope();
    }
    let text = metrics.render(&registry);
    let (kind, text) = if prefers_prometheus_text(&headers) {
        (PROMETHEUS_MIME_TYPE, to_prometheus_text(&text))
    } else {
        (OPENMETRICS_MIME_TYPE, text)
    };
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, text).into_response()
}

fn reject_scope() -> Response {
    let rejection = HttpRejection::new(
        StatusCode::FORBIDDEN,
        "insufficient_scope",
        "This token does not include the metrics; add \"metrics\" to its tools, or the scope \
         \"tool:metrics\" with OAuth.",
    );
    let code = HttpRejectionCode(rejection.code());
    let mut response = rejection.into_response_for("/metrics");
    response.extensions_mut().insert(code);
    response
}

/// Tells whether the client is an older scraper, or a browser, which would download the newer
/// format as a file.
fn prefers_prometheus_text(headers: &HeaderMap) -> bool {
    let mut accepted = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let (mut plain, mut open) = (false, false);
    for value in accepted.by_ref() {
        plain |= value.contains("text/plain") || value.contains("text/html");
        open |= value.contains("application/openmetrics-text");
    }
    plain && !open
}

/// Converts to the older text format, in which a counter is described by its full name, an info is
/// a gauge, and there are neither units nor a last line.
fn to_prometheus_text(open: &str) -> String {
    let mut text = String::with_capacity(open.len());
    // The older format has the description before the type, so it is kept until the type follows.
    let mut help: Option<(&str, &str)> = None;
    for line in open.lines() {
        let Some(about) = line.strip_prefix("# ") else {
            push_line(&mut text, &[line]);
            continue;
        };
        let mut words = about.splitn(3, ' ');
        match (words.next(), words.next(), words.next()) {
            (Some("HELP"), Some(name), Some(said)) => help = Some((name, said)),
            (Some("TYPE"), Some(name), Some(kind)) => {
                let (ending, kind) = match kind {
                    "counter" => ("_total", kind),
                    "info" => ("_info", "gauge"),
                    "unknown" => ("", "untyped"),
                    _ => ("", kind),
                };
                if let Some((_, said)) = help.take().filter(|(of, _)| *of == name) {
                    push_line(&mut text, &["# HELP ", name, ending, " ", said]);
                }
                push_line(&mut text, &["# TYPE ", name, ending, " ", kind]);
            }
            _ => {}
        }
    }
    text
}

fn push_line(text: &mut String, parts: &[&str]) {
    for part in parts {
        text.push_str(part);
    }
    text.push('\n');
}
