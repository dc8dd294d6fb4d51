//! Reads a resource through the dispatcher.

use deliberate_toolkit::{ResourceBody, ResourceContext, ResourceData, ToolError};
use serde_json::{Value, json};

use super::uri::{
    ReasoningResourceFormat, ReasoningResourceKind, ReasoningUri, ReasoningUriTarget,
    resource_not_found,
};

/// Sessions per page of the list.
const PAGE_SIZE: u32 = 100;

pub(super) async fn read(
    uri: &str,
    address: ReasoningUri,
    context: ResourceContext<'_>,
) -> Result<Vec<ResourceData>, ToolError> {
    let (form, text) = match address.target {
        ReasoningUriTarget::Sessions => (
            ReasoningResourceFormat::Json,
            read_sessions(uri, address.offset, context).await?,
        ),
        ReasoningUriTarget::Entity {
            kind: what,
            id,
            format: form,
        } => {
            let part = ReasoningPageRequest {
                uri,
                kind: what,
                id: &id,
                format: form,
                offset: address.offset,
            };
            (form, part.read(context).await?)
        }
    };
    Ok(vec![ResourceData {
        uri: uri.to_owned(),
        mime_type: Some(form.mime_type().to_owned()),
        body: ResourceBody::Text(text),
        meta: None,
    }])
}

async fn read_sessions(
    uri: &str,
    offset: u32,
    context: ResourceContext<'_>,
) -> Result<String, ToolError> {
    let arguments = json!({ "limit": PAGE_SIZE, "offset": offset });
    let mut answer = context.call("reasoning_sessions", arguments).await?;
    if let Some(fields) = answer.as_object_mut()
        && let Some(next) = fields.shift_remove("next_offset")
    {
        fields.insert("next".to_owned(), next_page_uri(uri, &next).into());
    }
    to_pretty_json(&answer)
}

/// A request for one page of a resource.
struct ReasoningPageRequest<'a> {
    uri: &'a str,
    kind: ReasoningResourceKind,
    id: &'a str,
    format: ReasoningResourceFormat,
    offset: u32,
}

impl ReasoningPageRequest<'_> {
    async fn read(&self, context: ResourceContext<'_>) -> Result<String, ToolError> {
        let format = match self.format {
            ReasoningResourceFormat::Json => "data",
            ReasoningResourceFormat::Markdown => "markdown",
        };
        let arguments = json!({ "id": self.id, "format": format, "offset": self.offset });
        let answer = context.call("reasoning_get", arguments).await;
        let mut answer = match answer {
            Ok(answer) => answer,
            // The only possible faults of these arguments are an id that does not exist and an
            // offset beyond the end.
            Err(ToolError::Invalid(_)) => return Err(resource_not_found(self.uri)),
            Err(error) => return Err(error),
        };
        if answer.get("kind").and_then(Value::as_str) != Some(self.kind.name()) {
            return Err(self.not_found());
        }
        let next = answer
            .get("next_offset")
            .map(|it| next_page_uri(self.uri, it));
        match self.format {
            ReasoningResourceFormat::Json => {
                let mut data = answer.get_mut("data").map(Value::take).unwrap_or_default();
                if let (Some(next), Some(fields)) = (next, data.as_object_mut()) {
                    fields.insert("next".to_owned(), next.into());
                }
                to_pretty_json(&data)
            }
            ReasoningResourceFormat::Markdown => {
                let text = answer.get("text").and_then(Value::as_str);
                let text = text.unwrap_or_default();
                Ok(match next {
                    Some(next) => format!("{text}\n*The next page is at `{next}`.*\n"),
                    None => text.to_owned(),
                })
            }
        }
    }

    fn not_found(&self) -> ToolError {
        ToolError::NotFound {
            what: self.kind.entity_kind(),
            id: deliberate_core::truncate_chars(self.id, 80),
        }
    }
}

/// The URI of the page that begins at `offset`.
fn next_page_uri(uri: &str, offset: &Value) -> String {
    let whole = uri.split_once('?').map_or(uri, |(whole, _)| whole);
    format!("{whole}?offset={offset}")
}

fn to_pretty_json(value: &Value) -> Result<String, ToolError> {
    serde_json::to_string_pretty(value).map_err(|_| ToolError::Internal)
}
