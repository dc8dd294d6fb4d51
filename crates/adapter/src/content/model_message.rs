//! Converts parts into the message content of model APIs. What an API cannot hold becomes text;
//! nothing is dropped.

use serde_json::{Value, json};

use super::{ContentPart, EmbeddedContents, EmbeddedResource, McpToolResult, Media, PartKind};

const PDF: &str = "application/pdf";

/// The image types that both APIs accept.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Converts content into the form of model APIs.
pub trait ToModelContent {
    /// Converts to the form of an `OpenAI` chat message: an array for a result, one element of it
    /// for a part.
    fn to_openai(&self) -> Value;

    /// Converts to the form of an Anthropic message or tool result: an array for a result, one
    /// element of it for a part.
    fn to_anthropic(&self) -> Value;
}

impl ToModelContent for McpToolResult {
    fn to_openai(&self) -> Value {
        map_parts(self, ContentPart::to_openai)
    }

    fn to_anthropic(&self) -> Value {
        map_parts(self, ContentPart::to_anthropic)
    }
}

impl ToModelContent for ContentPart {
    fn to_openai(&self) -> Value {
        match &self.kind {
            PartKind::Image(it) if image_type(&it.mime).is_some() => image_url(&it.mime, &it.data),
            PartKind::Audio(it) => match audio_format(it) {
                Some(format) => json!({
                    "type": "input_audio",
                    "input_audio": {"data": it.data, "format": format}
                }),
                None => text_element(&self.to_text()),
            },
            PartKind::Resource(it) => resource_to_openai(self, it),
            _ => text_element(&self.to_text()),
        }
    }

    fn to_anthropic(&self) -> Value {
        match &self.kind {
            PartKind::Image(it) => match image_type(&it.mime) {
                Some(mime) => source_element("image", mime, &it.data),
                None => text_element(&self.to_text()),
            },
            PartKind::Resource(it) => match (&it.contents, it.mime.as_deref()) {
                (EmbeddedContents::Text(text), _) => text_element(&with_uri(&it.uri, text)),
                (EmbeddedContents::Blob(blob), Some(PDF)) => {
                    let mut document = source_element("document", PDF, blob);
                    if let Some(fields) = document.as_object_mut() {
                        fields.insert("title".to_owned(), Value::String(file_name(&it.uri)));
                    }
                    document
                }
                (EmbeddedContents::Blob(blob), Some(mime)) => match image_type(mime) {
                    Some(mime) => source_element("image", mime, blob),
                    None => text_element(&self.to_text()),
                },
                _ => text_element(&self.to_text()),
            },
            _ => text_element(&self.to_text()),
        }
    }
}

fn map_parts(result: &McpToolResult, form: impl Fn(&ContentPart) -> Value) -> Value {
    if result.parts.is_empty() && result.structured.is_some() {
        return json!([text_element(&result.text())]);
    }
    result.parts.iter().map(form).collect()
}

fn resource_to_openai(part: &ContentPart, it: &EmbeddedResource) -> Value {
    match (&it.contents, it.mime.as_deref()) {
        (EmbeddedContents::Text(text), _) => text_element(&with_uri(&it.uri, text)),
        (EmbeddedContents::Blob(blob), Some(mime)) if image_type(mime).is_some() => {
            image_url(mime, blob)
        }
        (EmbeddedContents::Blob(blob), Some(PDF)) => json!({
            "type": "file",
            "file": {"filename": file_name(&it.uri), "file_data": data_uri(PDF, blob)}
        }),
        _ => text_element(&part.to_text()),
    }
}

fn text_element(text: &str) -> Value {
    // Neither API accepts an empty text.
    let text = if text.is_empty() { "(empty)" } else { text };
    json!({"type": "text", "text": text})
}

fn with_uri(uri: &str, text: &str) -> String {
    let address: String = uri
        .chars()
        .filter(|it| !it.is_control())
        .take(500)
        .collect();
    format!("[{address}]\n{text}")
}

/// Returns the media type in the spelling of the APIs, if they accept it.
pub(crate) fn image_type(mime: &str) -> Option<&'static str> {
    let mime = mime.split(';').next().unwrap_or_default().trim();
    let mime = if mime.eq_ignore_ascii_case("image/jpg") {
        "image/jpeg"
    } else {
        mime
    };
    let mut known = IMAGE_TYPES.into_iter();
    known.find(|known| known.eq_ignore_ascii_case(mime))
}

/// Returns the format name of the two audio formats that `OpenAI` accepts.
fn audio_format(media: &Media) -> Option<&'static str> {
    match media.mime.split(';').next().unwrap_or_default().trim() {
        "audio/wav" | "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => Some("wav"),
        "audio/mpeg" | "audio/mp3" => Some("mp3"),
        _ => None,
    }
}

fn data_uri(mime: &str, data: &str) -> String {
    format!("data:{mime};base64,{data}")
}

fn image_url(mime: &str, data: &str) -> Value {
    let mime = image_type(mime).unwrap_or("image/png");
    json!({"type": "image_url", "image_url": {"url": data_uri(mime, data)}})
}

fn source_element(kind: &str, mime: &str, data: &str) -> Value {
    json!({"type": kind, "source": {"type": "base64", "media_type": mime, "data": data}})
}

fn file_name(uri: &str) -> String {
    let last = uri.rsplit(['/', '\\']).find(|step| !step.is_empty());
    let clean = last.unwrap_or("document").chars();
    clean.filter(|it| !it.is_control()).take(100).collect()
}
