//! The resources and the resource template of the fixtures.

use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use crate::content::PNG_BASE64;

/// The resource that clients of the handshake revisions subscribe to.
pub(crate) const WATCHED_URI: &str = "test://watched-resource";

const TEXT_URI: &str = "test://static-text";
const BINARY_URI: &str = "test://static-binary";

pub(crate) fn all() -> Vec<Resource> {
    [
        (TEXT_URI, "A static text", "text/plain"),
        (BINARY_URI, "A static image", "image/png"),
        (WATCHED_URI, "A text to subscribe to", "text/plain"),
    ]
    .into_iter()
    .map(|(uri, about, kind)| {
        let name = uri.trim_start_matches("test://");
        Resource::new(uri, name)
            .with_description(about)
            .with_mime_type(kind)
    })
    .collect()
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new("test://template/{id}/data", "template")
            .with_description("The data of an id")
            .with_mime_type("application/json"),
    ]
}

/// Reads a resource of the fixtures, if it is one.
pub(crate) fn read(uri: &str) -> Option<ReadResourceResult> {
    let contents = match uri {
        TEXT_URI => ResourceContents::text("This is the content of the static text resource.", uri),
        WATCHED_URI => ResourceContents::text("This is watched.", uri),
        BINARY_URI => ResourceContents::blob(PNG_BASE64, uri).with_mime_type("image/png"),
        _ => {
            let id = uri
                .strip_prefix("test://template/")?
                .strip_suffix("/data")?;
            let data = json!({
                "id": id,
                "templateTest": true,
                "data": format!("Data for ID: {id}"),
            });
            ResourceContents::text(data.to_string(), uri).with_mime_type("application/json")
        }
    };
    Some(ReadResourceResult::new(vec![contents]))
}
