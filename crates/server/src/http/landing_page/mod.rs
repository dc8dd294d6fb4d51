//! The page at `/`: that the server runs, how to connect a client, how it is.
//!
//! One self-contained document, made once. It loads nothing from anywhere else, and its policy
//! lets a browser run the one script and the one style that are in it. What changes is read by
//! the script from `/health` and shown as text.

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

/// The page, ready to be sent.
struct LandingPage {
    /// For those who were let in.
    full: Bytes,
    /// For those who were not.
    public: Bytes,
    policy: HeaderValue,
}

/// `GET /`. `token` says whether clients need one, so that the page can tell them.
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

/// For programs that came to the wrong door.
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
    // Style and script last: what they hold must not be taken for a place to fill.
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

/// Text that is only text, in an element and in an attribute.
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

/// Nothing but what is in the page, and questions to this server.
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
