//! Packed files, opened in memory and never written to disk. What an entry unpacks to is
//! bounded, one by one and in all, whatever the archive claims.

use std::io::{Cursor, Read};

use quick_xml::Reader;
use quick_xml::events::Event;
use zip::ZipArchive;

use crate::limits::over;
use crate::{ExtractError, Limits};

/// The most entries an archive may list.
const MOST_ENTRIES: usize = 20_000;

/// An archive with a purse for what it may unpack.
pub(super) struct Archive<'b> {
    zip: ZipArchive<Cursor<&'b [u8]>>,
    left: u64,
    limit: u64,
}

impl<'b> Archive<'b> {
    pub(super) fn open(bytes: &'b [u8], limits: &Limits) -> Result<Self, ExtractError> {
        let zip = ZipArchive::new(Cursor::new(bytes))
            .map_err(|error| ExtractError::broken(error.to_string()))?;
        over(
            "number of packed files",
            zip.len() as u64,
            MOST_ENTRIES as u64,
        )?;
        let limit = limits.unpacked();
        Ok(Self {
            zip,
            left: limit,
            limit,
        })
    }

    /// The text of an entry; none if there is no such entry.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, ExtractError> {
        let Ok(entry) = self.zip.by_name(name) else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        entry
            .take(self.left + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| {
                ExtractError::broken(format!("a packed part cannot be read: {error}"))
            })?;
        let used = bytes.len() as u64;
        if used > self.left {
            return Err(ExtractError::TooLarge {
                what: "unpacked size in bytes".to_owned(),
                size: self.limit - self.left + used,
                limit: self.limit,
            });
        }
        self.left -= used;
        Ok(Some(super::charset::decoded_markup(&bytes)))
    }
}

/// One thing met in XML.
pub(super) enum Met<'x> {
    Open {
        name: &'x str,
        attributes: Attributes<'x>,
    },
    Close {
        name: &'x str,
    },
    Text(&'x str),
}

/// The attributes of an element, looked up by their local name.
pub(super) struct Attributes<'x>(&'x [(String, String)]);

impl<'x> Attributes<'x> {
    pub(super) fn get(&self, name: &str) -> Option<&'x str> {
        self.0
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Reads XML from start to end. A document type is refused, so that no entity can be defined;
/// only the five built-in ones and numbers are known.
pub(super) fn each_in_xml(xml: &str, mut meet: impl FnMut(Met<'_>)) -> Result<(), ExtractError> {
    let wrong = |error: &dyn std::fmt::Display| {
        ExtractError::broken(format!("its XML is not well formed: {error}"))
    };
    let mut reader = Reader::from_str(xml);
    loop {
        match reader.read_event().map_err(|error| wrong(&error))? {
            Event::Start(start) => open(&start, &mut meet),
            Event::Empty(start) => {
                open(&start, &mut meet);
                meet(Met::Close {
                    name: start.local_name().as_ref(),
                });
            }
            Event::End(end) => meet(Met::Close {
                name: end.local_name().as_ref(),
            }),
            Event::Text(text) => meet(Met::Text(&text)),
            Event::CData(text) => meet(Met::Text(&text)),
            Event::GeneralRef(name) => {
                if let Some(letter) = super::entities::character(&name) {
                    meet(Met::Text(letter.encode_utf8(&mut [0; 4])));
                }
            }
            Event::DocType(_) => {
                return Err(ExtractError::broken(
                    "its XML has a document type, which is refused",
                ));
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

/// Meets the words of each element that holds nothing but words.
pub(super) fn each_said(xml: &str, mut meet: impl FnMut(&str, &str)) -> Result<(), ExtractError> {
    let (mut inside, mut said) = (String::new(), String::new());
    each_in_xml(xml, |met| match met {
        Met::Open { name, .. } => {
            name.clone_into(&mut inside);
            said.clear();
        }
        // A reference such as `&amp;` parts a text into pieces.
        Met::Text(text) => said.push_str(text),
        Met::Close { name } => {
            if name == inside && !said.trim().is_empty() {
                meet(name, said.trim());
            }
            inside.clear();
        }
    })
}

fn open(start: &quick_xml::events::BytesStart<'_>, meet: &mut impl FnMut(Met<'_>)) {
    let attributes: Vec<(String, String)> = start
        .attributes()
        .take(100)
        .flatten()
        .map(|attribute| {
            let name = attribute.key.local_name();
            (name.as_ref().to_owned(), super::unescaped(&attribute.value))
        })
        .collect();
    meet(Met::Open {
        name: start.local_name().as_ref(),
        attributes: Attributes(&attributes),
    });
}
