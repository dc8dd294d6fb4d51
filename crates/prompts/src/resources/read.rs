//! Reads the resource at a URI.

use deliberate_toolkit::{ResourceBody, ResourceContext, ResourceData, ToolError};
use serde_json::json;

use super::{
    markdown, run_json,
    uri::{LibraryResourceKind, LibraryUri, LibraryUriPart, not_found},
};
use crate::library::PromptLibrary;

pub(super) async fn read(
    uri: &str,
    address: LibraryUri,
    library: &PromptLibrary,
    context: ResourceContext<'_>,
) -> Result<Vec<ResourceData>, ToolError> {
    let (mime_type, text) = match address {
        LibraryUri::Problems => (
            "application/json",
            to_pretty_json(&json!(library.problems))?,
        ),
        LibraryUri::List(LibraryResourceKind::Run) => (
            "application/json",
            to_pretty_json(&run_json::list_runs(context).await?)?,
        ),
        LibraryUri::List(resource_kind) => (
            "text/markdown",
            markdown::render_list(resource_kind, library),
        ),
        LibraryUri::Item {
            kind: LibraryResourceKind::Run,
            id,
            ..
        } => {
            let found = run_json::load_run(&id, context).await?;
            let found = found.ok_or_else(|| not_found(uri))?;
            ("application/json", to_pretty_json(&found)?)
        }
        LibraryUri::Item {
            kind: resource_kind,
            id,
            part,
        } => {
            let found = markdown::render_item(resource_kind, &id, part, library);
            let found = found.ok_or_else(|| not_found(uri))?;
            let plain = part == LibraryUriPart::Text;
            (if plain { "text/plain" } else { "text/markdown" }, found)
        }
    };
    Ok(vec![ResourceData {
        uri: uri.to_owned(),
        mime_type: Some(mime_type.to_owned()),
        body: ResourceBody::Text(text),
        meta: None,
    }])
}

fn to_pretty_json(value: &serde_json::Value) -> Result<String, ToolError> {
    serde_json::to_string_pretty(value).map_err(|_| ToolError::Internal)
}
