//! A typed block of content. An unknown or malformed block is kept as it is, so that it never
//! invalidates the whole result. A block is written as it was read, with all fields in their order.

use serde_json::{Map, Value};

use super::base64_data::{self, DataError};

/// A block of content from a tool, a prompt or a resource.
#[derive(Debug, Clone, PartialEq)]
pub struct ContentPart {
    /// The typed content.
    pub kind: PartKind,
    /// The block's other fields: annotations, `_meta` and unknown ones.
    pub extra: Map<String, Value>,
    /// The order of the block's fields, so that the block is written as it was read.
    order: Vec<String>,
}

/// The typed content of a part.
#[derive(Debug, Clone, PartialEq)]
pub enum PartKind {
    /// Text.
    Text(String),
    /// An image.
    Image(Media),
    /// Audio.
    Audio(Media),
    /// A resource with its contents.
    Resource(EmbeddedResource),
    /// A link to a resource.
    Link(ResourceLink),
    /// An unknown or malformed block, unchanged.
    Opaque(Value),
}

/// Base64 data, decoded only on request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// The data, in base64.
    pub data: String,
    /// The media type.
    pub mime: String,
}

/// A resource with its contents.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddedResource {
    /// The resource's URI.
    pub uri: String,
    /// The media type, if the server gives one.
    pub mime: Option<String>,
    /// The contents of the resource.
    pub contents: EmbeddedContents,
    /// The resource's other fields.
    pub extra: Map<String, Value>,
    order: Vec<String>,
}

/// The contents of an embedded resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmbeddedContents {
    /// Text.
    Text(String),
    /// Base64 data.
    Blob(String),
}

/// A link to a resource.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourceLink {
    /// The resource's URI.
    pub uri: String,
    /// The resource's name.
    pub name: String,
    /// The resource's display name.
    pub title: Option<String>,
    /// The resource's description.
    pub description: Option<String>,
    /// The resource's media type.
    pub mime: Option<String>,
    /// The resource's size in bytes.
    pub size: Option<u64>,
}

impl Media {
    /// Decodes the data, up to [`MAX_DECODED_BYTES`](super::MAX_DECODED_BYTES).
    pub fn decode(&self) -> Result<Vec<u8>, DataError> {
        base64_data::decode_base64(&self.data)
    }
}

impl EmbeddedResource {
    /// Returns the bytes: decoded data, or the bytes of the text.
    pub fn decode(&self) -> Result<Vec<u8>, DataError> {
        match &self.contents {
            EmbeddedContents::Text(text) => Ok(text.as_bytes().to_vec()),
            EmbeddedContents::Blob(blob) => base64_data::decode_base64(blob),
        }
    }
}

impl From<PartKind> for ContentPart {
    fn from(body: PartKind) -> Self {
        Self {
            kind: body,
            extra: Map::new(),
            order: Vec::new(),
        }
    }
}

/// Takes typed fields out of a block; each must be present once and have the right type.
struct BlockReader {
    fields: Map<String, Value>,
    order: Vec<String>,
}

impl BlockReader {
    fn new(fields: &Map<String, Value>) -> Self {
        Self {
            order: fields.keys().cloned().collect(),
            fields: fields.clone(),
        }
    }

    fn text(&mut self, key: &str) -> Option<String> {
        match self.fields.shift_remove(key) {
            Some(Value::String(text)) => Some(text),
            Some(other) => {
                self.fields.insert(key.to_owned(), other);
                None
            }
            None => None,
        }
    }

    fn size(&mut self) -> Option<u64> {
        let size = self.fields.get("size").and_then(Value::as_u64)?;
        self.fields.shift_remove("size");
        Some(size)
    }
}

impl ContentPart {
    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> Self {
        PartKind::Text(text.into()).into()
    }

    /// Reads a block. It never fails: an unknown or malformed block becomes an opaque part.
    pub fn from_value(block: &Value) -> Self {
        let typed = block.as_object().and_then(Self::parse_block);
        typed.unwrap_or_else(|| PartKind::Opaque(block.clone()).into())
    }

    fn parse_block(fields: &Map<String, Value>) -> Option<Self> {
        let mut block = BlockReader::new(fields);
        let body = match block.text("type")?.as_str() {
            "text" => PartKind::Text(block.text("text")?),
            "image" => PartKind::Image(read_media(&mut block)?),
            "audio" => PartKind::Audio(read_media(&mut block)?),
            "resource" => match block.fields.shift_remove("resource")? {
                Value::Object(inner) => PartKind::Resource(EmbeddedResource::read(&inner)?),
                _ => return None,
            },
            "resource_link" => PartKind::Link(ResourceLink {
                uri: block.text("uri")?,
                name: block.text("name")?,
                title: block.text("title"),
                description: block.text("description"),
                mime: block.text("mimeType"),
                size: block.size(),
            }),
            _ => return None,
        };
        Some(Self {
            kind: body,
            extra: block.fields,
            order: block.order,
        })
    }

    /// Writes the block in the protocol's form; a block that was read is written unchanged.
    pub fn to_value(&self) -> Value {
        let mut known = Map::new();
        let mut put = |key: &str, value: Value| {
            known.insert(key.to_owned(), value);
        };
        match &self.kind {
            PartKind::Opaque(block) => return block.clone(),
            PartKind::Text(text) => {
                put("type", "text".into());
                put("text", text.as_str().into());
            }
            PartKind::Image(media) | PartKind::Audio(media) => {
                let image = matches!(self.kind, PartKind::Image(_));
                put("type", if image { "image" } else { "audio" }.into());
                put("data", media.data.as_str().into());
                put("mimeType", media.mime.as_str().into());
            }
            PartKind::Resource(resource) => {
                put("type", "resource".into());
                put("resource", resource.write());
            }
            PartKind::Link(link) => link.write(&mut put),
        }
        merge_in_order(known, &self.extra, &self.order)
    }

    /// Returns the block's annotations.
    pub fn annotations(&self) -> Option<&Map<String, Value>> {
        self.extra.get("annotations").and_then(Value::as_object)
    }

    /// Returns the block's `_meta`, which is meant for programs.
    pub fn meta(&self) -> Option<&Map<String, Value>> {
        self.extra.get("_meta").and_then(Value::as_object)
    }
}

fn read_media(block: &mut BlockReader) -> Option<Media> {
    Some(Media {
        data: block.text("data")?,
        mime: block.text("mimeType")?,
    })
}

impl EmbeddedResource {
    /// Creates a resource from its URI, media type and contents.
    pub fn new(uri: impl Into<String>, mime: Option<String>, contents: EmbeddedContents) -> Self {
        Self {
            uri: uri.into(),
            mime,
            contents,
            extra: Map::new(),
            order: Vec::new(),
        }
    }

    /// Reads the `resource` field of a block, or one of the contents of `resources/read`.
    pub fn read(fields: &Map<String, Value>) -> Option<Self> {
        let mut block = BlockReader::new(fields);
        let uri = block.text("uri")?;
        let contents = match block.text("text") {
            Some(text) => EmbeddedContents::Text(text),
            None => EmbeddedContents::Blob(block.text("blob")?),
        };
        Some(Self {
            uri,
            mime: block.text("mimeType"),
            contents,
            extra: block.fields,
            order: block.order,
        })
    }

    /// Writes the `resource` field of a block.
    pub fn write(&self) -> Value {
        let mut known = Map::new();
        known.insert("uri".to_owned(), self.uri.as_str().into());
        if let Some(mime) = &self.mime {
            known.insert("mimeType".to_owned(), mime.as_str().into());
        }
        let (key, held) = match &self.contents {
            EmbeddedContents::Text(text) => ("text", text),
            EmbeddedContents::Blob(blob) => ("blob", blob),
        };
        known.insert(key.to_owned(), held.as_str().into());
        merge_in_order(known, &self.extra, &self.order)
    }
}

impl ResourceLink {
    fn write(&self, put: &mut impl FnMut(&str, Value)) {
        put("type", "resource_link".into());
        put("uri", self.uri.as_str().into());
        put("name", self.name.as_str().into());
        for (key, text) in [
            ("title", &self.title),
            ("description", &self.description),
            ("mimeType", &self.mime),
        ] {
            if let Some(text) = text {
                put(key, text.as_str().into());
            }
        }
        if let Some(size) = self.size {
            put("size", size.into());
        }
    }
}

/// Merges known and other fields into one object, in the order in which they were read; new fields
/// come last.
#[doc(hidden)]
pub fn merge_in_order(
    mut known: Map<String, Value>,
    extra: &Map<String, Value>,
    order: &[String],
) -> Value {
    let mut out = Map::new();
    for key in order {
        let value = known.shift_remove(key).or_else(|| extra.get(key).cloned());
        if let Some(value) = value {
            out.insert(key.clone(), value);
        }
    }
    out.extend(known);
    for (key, value) in extra {
        if !out.contains_key(key) {
            out.insert(key.clone(), value.clone());
        }
    }
    Value::Object(out)
}
