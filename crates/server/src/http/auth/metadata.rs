//! The protected resource metadata, which tells clients where to get a token (RFC 9728).

use axum::{Json, Router, routing::get};
use serde_json::{Value, json};
use url::Url;

use super::ResourceServer;

const WELL_KNOWN_PATH: &str = "/.well-known/oauth-protected-resource";

/// Serves the document for the server and for every path. The rest of the path is the public path
/// of the resource, which cannot be checked behind a proxy.
pub(crate) fn routes(server: &ResourceServer) -> Router {
    let document = server.document();
    let give = get(async move || Json(document));
    Router::new()
        .route(WELL_KNOWN_PATH, give.clone())
        .route("/.well-known/oauth-protected-resource/{*path}", give)
}

/// Tells whether a path is one of the document.
pub(crate) fn is_metadata_path(path: &str) -> bool {
    path.strip_prefix(WELL_KNOWN_PATH)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The URL of the document: the well-known segment between the host and the path of the resource.
pub(super) fn metadata_url(resource: &Url) -> String {
    let mut url = resource.clone();
    let path = resource.path().trim_end_matches('/');
    url.set_path(&format!("{WELL_KNOWN_PATH}{path}"));
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

pub(super) fn metadata_document(resource: &str, issuer: &str, scope: Option<&str>) -> Value {
    let mut document = json!({
        "resource": resource,
        "authorization_servers": [issuer],
        "bearer_methods_supported": ["header"],
        "resource_name": "Deliberate",
    });
    if let (Some(scope), Some(document)) = (scope, document.as_object_mut()) {
        document.insert("scopes_supported".to_owned(), json!([scope]));
    }
    document
}
