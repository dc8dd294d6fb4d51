//! Parts as the content of a message to a model, in the form each API takes. What an API can't
//! hold is told in words, never dropped.

use serde_json::{Value, json};

use super::{
    part::{Body, Contents, Media, Part, Resource},
    result::ToolResult,
};

const PDF: &str = "application/pdf";

/// The picture types that both APIs take.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

impl ToolResult {
    /// The content array of an `OpenAI` chat message.
    pub fn to_openai(&self) -> Value {
        self.each(Part::to_openai)
    }

    /// The content array of an Anthropic message or tool result.
    pub fn to_anthropic(&self) -> Value {
        self.each(Part::to_anthropic)
    }

    fn each(&self, form: impl Fn(&Part) -> Value) -> Value {
        if self.parts.is_empty() && self.structured.is_some() {
            return json!([words(&self.text())]);
        }
        self.parts.iter().map(form).collect()
    }
}

impl Part {
    /// One element of an `OpenAI` content array.
    pub fn to_openai(&self) -> Value {
        match &self.body {
            Body::Image(it) if picture(&it.mime).is_some() => image_url(&it.mime, &it.data),
            Body::Audio(it) => match sound(it) {
                Some(format) => json!({
                    "type": "input_audio",
                    "input_audio": {"data": it.data, "format": format}
                }),
                None => words(&self.told()),
            },
            Body::Resource(it) => self.resource_to_openai(it),
            _ => words(&self.told()),
        }
    }

    fn resource_to_openai(&self, it: &Resource) -> Value {
        match (&it.contents, it.mime.as_deref()) {
            (Contents::Text(text), _) => words(&with_address(&it.uri, text)),
            (Contents::Blob(blob), Some(mime)) if picture(mime).is_some() => image_url(mime, blob),
            (Contents::Blob(blob), Some(PDF)) => json!({
                "type": "file",
                "file": {"filename": file_name(&it.uri), "file_data": data_uri(PDF, blob)}
            }),
            _ => words(&self.told()),
        }
    }

    /// One element of an Anthropic content array.
    pub fn to_anthropic(&self) -> Value {
        match &self.body {
            Body::Image(it) => match picture(&it.mime) {
                Some(mime) => source("image", mime, &it.data),
                None => words(&self.told()),
            },
            Body::Resource(it) => match (&it.contents, it.mime.as_deref()) {
                (Contents::Text(text), _) => words(&with_address(&it.uri, text)),
                (Contents::Blob(blob), Some(PDF)) => {
                    let mut document = source("document", PDF, blob);
                    if let Some(fields) = document.as_object_mut() {
                        fields.insert("title".to_owned(), Value::String(file_name(&it.uri)));
                    }
                    document
                }
                (Contents::Blob(blob), Some(mime)) => match picture(mime) {
                    Some(mime) => source("image", mime, blob),
                    None => words(&self.told()),
                },
                _ => words(&self.told()),
            },
            _ => words(&self.told()),
        }
    }
}

fn words(text: &str) -> Value {
    // Neither API takes an empty text.
    let text = if text.is_empty() { "(empty)" } else { text };
    json!({"type": "text", "text": text})
}

fn with_address(uri: &str, text: &str) -> String {
    let address: String = uri
        .chars()
        .filter(|it| !it.is_control())
        .take(500)
        .collect();
    format!("[{address}]\n{text}")
}

/// The media type as the APIs write it, if they take it.
fn picture(mime: &str) -> Option<&'static str> {
    let mime = mime.split(';').next().unwrap_or_default().trim();
    let mime = if mime.eq_ignore_ascii_case("image/jpg") {
        "image/jpeg"
    } else {
        mime
    };
    let mut known = PICTURES.into_iter();
    known.find(|known| known.eq_ignore_ascii_case(mime))
}

/// The two sounds `OpenAI` takes.
fn sound(media: &Media) -> Option<&'static str> {
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
    let mime = picture(mime).unwrap_or("image/png");
    json!({"type": "image_url", "image_url": {"url": data_uri(mime, data)}})
}

fn source(kind: &str, mime: &str, data: &str) -> Value {
    json!({"type": kind, "source": {"type": "base64", "media_type": mime, "data": data}})
}

fn file_name(uri: &str) -> String {
    let last = uri.rsplit(['/', '\\']).find(|step| !step.is_empty());
    let clean = last.unwrap_or("document").chars();
    clean.filter(|it| !it.is_control()).take(100).collect()
}
