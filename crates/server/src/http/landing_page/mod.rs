//! The landing page at `/`: shows that the server runs, how to connect a client, and its health.
//!
//! One self-contained document, rendered once. It loads nothing from other hosts, and its content
//! security policy allows only its own script and style. The script reads the changing values from
//! `/health` and shows them as text.

use std::sync::Arc;

use axum::{
    Extension, Json, Router,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::{Html, IntoResponse, Response},
    routing::get,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use deliberate_toolkit::Registry;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::guard::Admission;

const HTML_TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The rendered page.
struct LandingPage {
    /// For authenticated clients.
    full: Bytes,
    /// For unauthenticated clients.
    public: Bytes,
    policy: HeaderValue,
}

/// `GET /`. `token` tells whether clients need a token, so that the page can say so.
pub fn routes(registry: &Registry, token: bool) -> Router {
    let pages = LandingPage {
        full: render_page(&render_tools(registry), token),
        public: render_page("", token),
        policy: content_security_policy(),
    };
    Router::new()
        .route("/", get(get_landing_page))
        .with_state(Arc::new(pages))
}

async fn get_landing_page(
    State(pages): State<Arc<LandingPage>>,
    admission: Option<Extension<Admission>>,
    headers: HeaderMap,
) -> Response {
    if !is_browser(&headers) {
        return json_overview();
    }
    let page = if matches!(admission, Some(Extension(Admission::Public))) {
        &pages.public
    } else {
        &pages.full
    };
    let headers: [(HeaderName, HeaderValue); 4] = [
        (header::CONTENT_SECURITY_POLICY, pages.policy.clone()),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
        (
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ),
        (
            header::REFERRER_POLICY,
            HeaderValue::from_static("no-referrer"),
        ),
    ];
    (headers, Html(page.clone())).into_response()
}

fn is_browser(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .any(|value| value.contains("text/html"))
}

/// The answer for programs that request the page.
fn json_overview() -> Response {
    Json(json!({
        "name": "deliberate",
        "version": env!("CARGO_PKG_VERSION"),
        "mcp": "/mcp",
        "health": "/health",
        "metrics": "/metrics",
    }))
    .into_response()
}

fn render_page(tools: &str, token: bool) -> Bytes {
    // Style and script are inserted last, so that their text is not searched for placeholders.
    let text = HTML_TEMPLATE
        .replace("{{version}}", &escape_html(env!("CARGO_PKG_VERSION")))
        .replace("{{token}}", if token { "yes" } else { "no" })
        .replace("{{tools}}", tools)
        .replace("{{style}}", STYLE)
        .replace("{{script}}", SCRIPT);
    Bytes::from(text)
}

fn render_tools(registry: &Registry) -> String {
    let mut section = "<section aria-labelledby=\"tools\">\n<h2 id=\"tools\">Tools</h2>\n\
                       <ul class=\"tools\">\n"
        .to_owned();
    for tool in registry.list() {
        let (name, title) = (escape_html(tool.meta.name), escape_html(tool.meta.title));
        for part in [
            "<li><code>",
            &name,
            "</code><span>",
            &title,
            "</span></li>\n",
        ] {
            section.push_str(part);
        }
    }
    section.push_str("</ul>\n</section>");
    section
}

/// Escapes a text for elements and attributes.
fn escape_html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(letter),
        }
    }
    safe
}

/// Allows only the page's own script and style, and requests to this server.
fn content_security_policy() -> HeaderValue {
    let hash = |text: &str| BASE64_STANDARD.encode(Sha256::digest(text.as_bytes()));
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; \
         img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        hash(SCRIPT),
        hash(STYLE)
    );
    HeaderValue::from_str(&policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}
