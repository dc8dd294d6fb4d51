//! ZIP archives, read in memory and never written to disk. Unpacked sizes are bounded per entry and
//! in total, whatever the archive claims.

use std::io::{Cursor, Read};

use quick_xml::Reader;
use quick_xml::events::Event;
use zip::ZipArchive;

use crate::limits::check_limit;
use crate::markup::{decode_entities, decode_entity};
use crate::{ExtractError, ExtractLimits};

const MAX_ENTRIES: usize = 20_000;

/// An archive with a budget for unpacked bytes.
pub(crate) struct DocumentArchive<'b> {
    zip: ZipArchive<Cursor<&'b [u8]>>,
    remaining: u64,
    limit: u64,
}

impl<'b> DocumentArchive<'b> {
    pub(crate) fn open(bytes: &'b [u8], limits: &ExtractLimits) -> Result<Self, ExtractError> {
        let zip = ZipArchive::new(Cursor::new(bytes))
            .map_err(|error| ExtractError::broken(error.to_string()))?;
        check_limit(
            "number of packed files",
            zip.len() as u64,
            MAX_ENTRIES as u64,
        )?;
        let limit = limits.max_unpacked_bytes();
        Ok(Self {
            zip,
            remaining: limit,
            limit,
        })
    }

    /// The text of an entry; `None` if there is no such entry.
    pub(crate) fn read_text(&mut self, name: &str) -> Result<Option<String>, ExtractError> {
        let Ok(entry) = self.zip.by_name(name) else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        entry
            .take(self.remaining + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| {
                ExtractError::broken(format!("a packed part cannot be read: {error}"))
            })?;
        let used = bytes.len() as u64;
        if used > self.remaining {
            return Err(ExtractError::TooLarge {
                what: "unpacked size in bytes".to_owned(),
                size: self.limit - self.remaining + used,
                limit: self.limit,
            });
        }
        self.remaining -= used;
        Ok(Some(crate::markup::charset::decode_markup(&bytes)))
    }
}

pub(crate) enum XmlEvent<'x> {
    Open {
        name: &'x str,
        attributes: XmlAttributes<'x>,
    },
    Close {
        name: &'x str,
    },
    Text(&'x str),
}

/// The attributes of an element, by local name.
pub(crate) struct XmlAttributes<'x>(&'x [(String, String)]);

impl<'x> XmlAttributes<'x> {
    pub(crate) fn get(&self, name: &str) -> Option<&'x str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Parses XML. A document type is rejected, so that no entity can be defined; only the five built-in
/// ones and numeric references are known.
pub(crate) fn parse_xml(xml: &str, mut meet: impl FnMut(XmlEvent<'_>)) -> Result<(), ExtractError> {
    let wrong = |error: &dyn std::fmt::Display| {
        ExtractError::broken(format!("its XML is not well formed: {error}"))
    };
    let mut reader = Reader::from_str(xml);
    loop {
        match reader.read_event().map_err(|error| wrong(&error))? {
            Event::Start(start) => emit_start(&start, &mut meet),
            Event::Empty(start) => {
                emit_start(&start, &mut meet);
                meet(XmlEvent::Close {
                    name: start.local_name().as_ref(),
                });
            }
            Event::End(end) => meet(XmlEvent::Close {
                name: end.local_name().as_ref(),
            }),
            Event::Text(text) => meet(XmlEvent::Text(&text)),
            Event::CData(text) => meet(XmlEvent::Text(&text)),
            Event::GeneralRef(name) => {
                if let Some(text) = decode_entity(&name) {
                    meet(XmlEvent::Text(&text));
                }
            }
            Event::DocType(_) => {
                return Err(ExtractError::broken(
                    "its XML has a document type, which is not allowed",
                ));
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

/// Calls a function for each element that contains only text.
pub(crate) fn for_each_text_element(
    xml: &str,
    mut meet: impl FnMut(&str, &str),
) -> Result<(), ExtractError> {
    let (mut inside, mut said) = (String::new(), String::new());
    parse_xml(xml, |event| match event {
        XmlEvent::Open { name, .. } => {
            name.clone_into(&mut inside);
            said.clear();
        }
        // A reference such as `&amp;` splits a text into pieces.
        XmlEvent::Text(text) => said.push_str(text),
        XmlEvent::Close { name } => {
            if name == inside && !said.trim().is_empty() {
                meet(name, said.trim());
            }
            inside.clear();
        }
    })
}

fn emit_start(start: &quick_xml::events::BytesStart<'_>, meet: &mut impl FnMut(XmlEvent<'_>)) {
    let attributes: Vec<(String, String)> = start
        .attributes()
        .take(100)
        .flatten()
        .map(|attribute| {
            let name = attribute.key.local_name();
            (name.as_ref().to_owned(), decode_entities(&attribute.value))
        })
        .collect();
    meet(XmlEvent::Open {
        name: start.local_name().as_ref(),
        attributes: XmlAttributes(&attributes),
    });
}
