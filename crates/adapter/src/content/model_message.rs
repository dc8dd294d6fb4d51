//! Parts as the content of a message to a model, in the form each API takes. What an API can't
//! hold is told in words, never dropped.

use serde_json::{Value, json};

use super::{
    part::{ContentPart, EmbeddedContents, EmbeddedResource, Media, PartKind},
    tool_result::McpToolResult,
};

const PDF: &str = "application/pdf";

/// The picture types that both APIs take.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

impl McpToolResult {
    /// The content array of an `OpenAI` chat message.
    pub fn to_openai(&self) -> Value {
        self.map_parts(ContentPart::to_openai)
    }

    /// The content array of an Anthropic message or tool result.
    pub fn to_anthropic(&self) -> Value {
        self.map_parts(ContentPart::to_anthropic)
    }

    fn map_parts(&self, form: impl Fn(&ContentPart) -> Value) -> Value {
        if self.parts.is_empty() && self.structured.is_some() {
            return json!([text_element(&self.text())]);
        }
        self.parts.iter().map(form).collect()
    }
}

impl ContentPart {
    /// One element of an `OpenAI` content array.
    pub fn to_openai(&self) -> Value {
        match &self.kind {
            PartKind::Image(it) if image_type(&it.mime).is_some() => image_url(&it.mime, &it.data),
            PartKind::Audio(it) => match audio_format(it) {
                Some(format) => json!({
                    "type": "input_audio",
                    "input_audio": {"data": it.data, "format": format}
                }),
                None => text_element(&self.to_text()),
            },
            PartKind::Resource(it) => self.resource_to_openai(it),
            _ => text_element(&self.to_text()),
        }
    }

    fn resource_to_openai(&self, it: &EmbeddedResource) -> Value {
        match (&it.contents, it.mime.as_deref()) {
            (EmbeddedContents::Text(text), _) => text_element(&with_uri(&it.uri, text)),
            (EmbeddedContents::Blob(blob), Some(mime)) if image_type(mime).is_some() => {
                image_url(mime, blob)
            }
            (EmbeddedContents::Blob(blob), Some(PDF)) => json!({
                "type": "file",
                "file": {"filename": file_name(&it.uri), "file_data": data_uri(PDF, blob)}
            }),
            _ => text_element(&self.to_text()),
        }
    }

    /// One element of an Anthropic content array.
    pub fn to_anthropic(&self) -> Value {
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

fn text_element(text: &str) -> Value {
    // Neither API takes an empty text.
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

/// The media type as the APIs write it, if they take it.
fn image_type(mime: &str) -> Option<&'static str> {
    let mime = mime.split(';').next().unwrap_or_default().trim();
    let mime = if mime.eq_ignore_ascii_case("image/jpg") {
        "image/jpeg"
    } else {
        mime
    };
    let mut known = IMAGE_TYPES.into_iter();
    known.find(|known| known.eq_ignore_ascii_case(mime))
}

/// The two sounds `OpenAI` takes.
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
