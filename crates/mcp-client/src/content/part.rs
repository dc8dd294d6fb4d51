//! One block of content, typed. A block that is unknown or malformed is kept as it is, so that
//! one odd block never costs the whole result. Whatever a block holds comes out again, in order.

use serde_json::{Map, Value};

use super::base64_data::{self, DataError};

/// A piece of what a tool, a prompt or a resource gave.
#[derive(Debug, Clone, PartialEq)]
pub struct ContentPart {
    /// What it is.
    pub kind: PartKind,
    /// The block's other fields: annotations, `_meta` and unknown ones.
    pub extra: Map<String, Value>,
    /// The order of the block's fields, so that it is written as it was read.
    order: Vec<String>,
}

/// What a part is.
#[derive(Debug, Clone, PartialEq)]
pub enum PartKind {
    /// Words.
    Text(String),
    /// A picture.
    Image(Media),
    /// A sound.
    Audio(Media),
    /// A resource with its contents.
    Resource(EmbeddedResource),
    /// A resource told by its address.
    Link(ResourceLink),
    /// Something unknown or malformed, as it came.
    Opaque(Value),
}

/// Data in base64, not decoded unless asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// The data, in base64.
    pub data: String,
    /// Its media type.
    pub mime: String,
}

/// A resource with its contents.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddedResource {
    /// Its address.
    pub uri: String,
    /// Its media type, if told.
    pub mime: Option<String>,
    /// What it holds.
    pub contents: EmbeddedContents,
    /// Its other fields.
    pub extra: Map<String, Value>,
    order: Vec<String>,
}

/// What a resource holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EmbeddedContents {
    /// Words.
    Text(String),
    /// Data in base64.
    Blob(String),
}

/// A resource told by its address.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResourceLink {
    /// Its address.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Its media type.
    pub mime: Option<String>,
    /// Its size in bytes.
    pub size: Option<u64>,
}

impl Media {
    /// The bytes, up to [`MAX_DECODED_BYTES`](super::MOST_BYTES).
    pub fn decode(&self) -> Result<Vec<u8>, DataError> {
        base64_data::decode_base64(&self.data)
    }
}

impl EmbeddedResource {
    /// The bytes: decoded if they are data, as they are if they are words.
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

/// Takes typed fields out of a block; it must hold each once, with the right type.
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
    /// Words alone.
    pub fn text(text: impl Into<String>) -> Self {
        PartKind::Text(text.into()).into()
    }

    /// Reads one block. It never fails: an unknown or malformed one is kept as it is.
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

    /// The block as the protocol writes it: the very one that was read, if it was read.
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

    /// The block's annotations, if it has any.
    pub fn annotations(&self) -> Option<&Map<String, Value>> {
        self.extra.get("annotations").and_then(Value::as_object)
    }

    /// What the block's server says to programs (`_meta`).
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
    /// A resource with no more than an address, a type and what it holds.
    pub fn new(uri: impl Into<String>, mime: Option<String>, contents: EmbeddedContents) -> Self {
        Self {
            uri: uri.into(),
            mime,
            contents,
            extra: Map::new(),
            order: Vec::new(),
        }
    }

    /// Reads the inside of a resource block, or one of the contents of `resources/read`.
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

    /// The inside of a resource block.
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

/// Known and other fields as one object, in the order they were read; new ones at the end.
pub(super) fn merge_in_order(
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
