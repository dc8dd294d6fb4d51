//! Plain text: form feeds part its pages, if it has any; headings are told by their number or name.

use super::charset::decoded;
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
