//! Plain text: form feeds part its pages, if it has any; headings are told by their number or name.

use super::writer::{Writer, complete};
use crate::limits::over;
use crate::structure::known_name;
use crate::{Document, ExtractError, Limits};

/// What is longer than this between two form feeds is no page.
const LONGEST_PAGE: usize = 30_000;

/// Reads a plain text file. Bytes that are not UTF-8 are taken as Windows' Latin letters.
pub(crate) fn text(bytes: &[u8], limits: &Limits) -> Result<Document, ExtractError> {
    let text = decoded(bytes);
    let pages: Vec<String> = text.split('\u{c}').map(str::to_owned).collect();
    over(
        "number of pages",
        pages.len() as u64,
        u64::from(limits.pages),
    )?;
    let has_pages = pages.len() > 1 && pages.iter().all(|page| page.len() <= LONGEST_PAGE);
    let document = if has_pages {
        plain_pages(pages, "text")
    } else {
        flowing(&pages)
    };
    if document.pages.iter().all(|page| page.text.is_empty()) {
        return Err(ExtractError::NoText { pages: 0 });
    }
    Ok(document)
}

/// The text of bytes: UTF-8 or UTF-16 by their mark, UTF-8 if they are, else Latin letters as
/// Windows writes them, which is what most of what calls itself Latin-1 is.
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
                Err(_) => bytes.iter().map(|byte| latin(*byte)).collect(),
            }
        }
    }
}

/// A letter of Windows-1252. Without its upper controls, quotes and dashes would be lost.
fn latin(byte: u8) -> char {
    const UPPER: [char; 32] = [
        '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}',
        '\u{2021}', '\u{2c6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}',
        '\u{8f}', '\u{90}', '\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}',
        '\u{2014}', '\u{2dc}', '\u{2122}', '\u{161}', '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}',
        '\u{178}',
    ];
    let upper = byte
        .checked_sub(0x80)
        .and_then(|at| UPPER.get(usize::from(at)));
    upper.copied().unwrap_or_else(|| char::from(byte))
}

/// A document of pages that are only text.
pub(crate) fn plain_pages(pages: Vec<String>, extractor: &str) -> Document {
    let mut document = Document {
        extractor: extractor.to_owned(),
        ..Document::default()
    };
    for (number, page) in (1..).zip(pages) {
        let mut writer = Writer::page(number);
        write(&page, &mut writer);
        writer.finish(&mut document);
    }
    complete(&mut document);
    document
}

/// A document of a text that has no pages; what form feeds part is only set apart.
fn flowing(parts: &[String]) -> Document {
    let mut document = Document {
        extractor: "text".to_owned(),
        ..Document::default()
    };
    let mut writer = Writer::flow(1);
    for part in parts {
        write(part, &mut writer);
    }
    writer.finish(&mut document);
    complete(&mut document);
    document
}

fn write(text: &str, writer: &mut Writer) {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    for block in text.split("\n\n") {
        blocks(block, writer);
    }
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
