//! One block of content, typed. A block that is unknown or malformed is kept as it is, so that
//! one odd block never costs the whole result. Whatever a block holds comes out again, in order.

use serde_json::{Map, Value};

use super::data::{self, DataError};

/// A piece of what a tool, a prompt or a resource gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// What it is.
    pub body: Body,
    /// The block's other fields: annotations, `_meta` and unknown ones.
    pub extra: Map<String, Value>,
    /// The order of the block's fields, so that it is written as it was read.
    order: Vec<String>,
}

/// What a part is.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// Words.
    Text(String),
    /// A picture.
    Image(Media),
    /// A sound.
    Audio(Media),
    /// A resource with its contents.
    Resource(Resource),
    /// A resource told by its address.
    Link(Link),
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
pub struct Resource {
    /// Its address.
    pub uri: String,
    /// Its media type, if told.
    pub mime: Option<String>,
    /// What it holds.
    pub contents: Contents,
    /// Its other fields.
    pub extra: Map<String, Value>,
    order: Vec<String>,
}

/// What a resource holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// Words.
    Text(String),
    /// Data in base64.
    Blob(String),
}

/// A resource told by its address.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Link {
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
    /// The bytes, up to [`MOST_BYTES`](super::MOST_BYTES).
    pub fn decoded(&self) -> Result<Vec<u8>, DataError> {
        data::decoded(&self.data)
    }
}

impl Resource {
    /// The bytes: decoded if they are data, as they are if they are words.
    pub fn decoded(&self) -> Result<Vec<u8>, DataError> {
        match &self.contents {
            Contents::Text(text) => Ok(text.as_bytes().to_vec()),
            Contents::Blob(blob) => data::decoded(blob),
        }
    }
}

impl From<Body> for Part {
    fn from(body: Body) -> Self {
        Self {
            body,
            extra: Map::new(),
            order: Vec::new(),
        }
    }
}

/// Takes typed fields out of a block; it must hold each once, with the right type.
struct Block {
    fields: Map<String, Value>,
    order: Vec<String>,
}

impl Block {
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

impl Part {
    /// Words alone.
    pub fn text(text: impl Into<String>) -> Self {
        Body::Text(text.into()).into()
    }

    /// Reads one block. It never fails: an unknown or malformed one is kept as it is.
    pub fn from_value(block: &Value) -> Self {
        let typed = block.as_object().and_then(Self::typed);
        typed.unwrap_or_else(|| Body::Opaque(block.clone()).into())
    }

    fn typed(fields: &Map<String, Value>) -> Option<Self> {
        let mut block = Block::new(fields);
        let body = match block.text("type")?.as_str() {
            "text" => Body::Text(block.text("text")?),
            "image" => Body::Image(media(&mut block)?),
            "audio" => Body::Audio(media(&mut block)?),
            "resource" => match block.fields.shift_remove("resource")? {
                Value::Object(inner) => Body::Resource(Resource::read(&inner)?),
                _ => return None,
            },
            "resource_link" => Body::Link(Link {
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
            body,
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
        match &self.body {
            Body::Opaque(block) => return block.clone(),
            Body::Text(text) => {
                put("type", "text".into());
                put("text", text.as_str().into());
            }
            Body::Image(media) | Body::Audio(media) => {
                let image = matches!(self.body, Body::Image(_));
                put("type", if image { "image" } else { "audio" }.into());
                put("data", media.data.as_str().into());
                put("mimeType", media.mime.as_str().into());
            }
            Body::Resource(resource) => {
                put("type", "resource".into());
                put("resource", resource.write());
            }
            Body::Link(link) => link.write(&mut put),
        }
        in_order(known, &self.extra, &self.order)
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

fn media(block: &mut Block) -> Option<Media> {
    Some(Media {
        data: block.text("data")?,
        mime: block.text("mimeType")?,
    })
}

impl Resource {
    /// A resource with no more than an address, a type and what it holds.
    pub fn new(uri: impl Into<String>, mime: Option<String>, contents: Contents) -> Self {
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
        let mut block = Block::new(fields);
        let uri = block.text("uri")?;
        let contents = match block.text("text") {
            Some(text) => Contents::Text(text),
            None => Contents::Blob(block.text("blob")?),
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
            Contents::Text(text) => ("text", text),
            Contents::Blob(blob) => ("blob", blob),
        };
        known.insert(key.to_owned(), held.as_str().into());
        in_order(known, &self.extra, &self.order)
    }
}

impl Link {
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
pub(super) fn in_order(
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
