//! Plain text: form feeds part its pages, and headings are told by their number or name.

use super::writer::{Writer, complete};
use crate::limits::over;
use crate::structure::known_name;
use crate::{Document, ExtractError, Limits};

/// Reads a plain text file. Bytes that are not UTF-8 are taken as Latin-1.
pub(crate) fn text(bytes: &[u8], limits: &Limits) -> Result<Document, ExtractError> {
    let text = decoded(bytes);
    let pages: Vec<String> = text.split('\u{c}').map(str::to_owned).collect();
    over(
        "number of pages",
        pages.len() as u64,
        u64::from(limits.pages),
    )?;
    let document = plain_pages(pages, "text");
    if document.pages.iter().all(|page| page.text.is_empty()) {
        return Err(ExtractError::NoText {
            pages: u32::try_from(document.pages.len()).unwrap_or(u32::MAX),
        });
    }
    Ok(document)
}

/// The text of bytes: UTF-8 or UTF-16 by their mark, UTF-8 if they are, else Latin-1.
pub(super) fn decoded(bytes: &[u8]) -> String {
    let wide = |rest: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = rest
            .as_chunks::<2>()
            .0
            .iter()
            .map(|pair| unit(*pair))
            .collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        _ => {
            let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
            match std::str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
            }
        }
    }
}

/// A document of pages that are only text.
pub(crate) fn plain_pages(pages: Vec<String>, extractor: &str) -> Document {
    let mut document = Document {
        extractor: extractor.to_owned(),
        ..Document::default()
    };
    for (number, page) in (1..).zip(pages) {
        let mut writer = Writer::page(number);
        let page = page.replace("\r\n", "\n").replace('\r', "\n");
        for block in page.split("\n\n") {
            blocks(block, &mut writer);
        }
        writer.finish(&mut document);
    }
    complete(&mut document);
    document
}

/// A block with its heading, if its first line is one.
fn blocks(block: &str, writer: &mut Writer) {
    let block = block.trim_matches('\n');
    let (first, rest) = block.split_once('\n').unwrap_or((block, ""));
    if first.trim().len() < 80 && known_name(first) {
        writer.heading(1, first);
        blocks_of(rest, writer);
    } else {
        blocks_of(block, writer);
    }
}

fn blocks_of(block: &str, writer: &mut Writer) {
    if !block.trim().is_empty() {
        writer.paragraph(block, false);
    }
}
