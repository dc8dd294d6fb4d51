//! Reads plain text: form feeds separate pages; headings are recognized by their number or name.

use super::{
    charset::decode,
    document_builder::{DocumentBuilder, complete_document},
};
use crate::limits::check_limit;
use crate::structure::is_known_section;
use crate::{ExtractError, ExtractLimits, ExtractedDocument};

/// A longer text between two form feeds is not a page.
const MAX_PAGE_CHARS: usize = 30_000;

/// Reads a plain text file. Bytes that are not UTF-8 are taken as Windows-1252.
pub(crate) fn read_plain_text(
    bytes: &[u8],
    limits: &ExtractLimits,
) -> Result<ExtractedDocument, ExtractError> {
    let text = decode(bytes);
    let pages: Vec<String> = text.split('\u{c}').map(str::to_owned).collect();
    check_limit(
        "number of pages",
        pages.len() as u64,
        u64::from(limits.pages),
    )?;
    let has_pages = pages.len() > 1 && pages.iter().all(|page| page.len() <= MAX_PAGE_CHARS);
    let document = if has_pages {
        document_from_pages(pages, "text")
    } else {
        document_without_pages(&pages)
    };
    if document.pages.iter().all(|page| page.text.is_empty()) {
        return Err(ExtractError::NoText { pages: 0 });
    }
    Ok(document)
}

/// A document of text pages.
pub(crate) fn document_from_pages(pages: Vec<String>, extractor: &str) -> ExtractedDocument {
    let mut document = ExtractedDocument {
        extractor: extractor.to_owned(),
        ..ExtractedDocument::default()
    };
    for (number, page) in (1..).zip(pages) {
        let mut writer = DocumentBuilder::single_page(number);
        write_text(&page, &mut writer);
        writer.finish(&mut document);
    }
    complete_document(&mut document);
    document
}

/// A document of a text without pages; form feeds only separate blocks.
fn document_without_pages(parts: &[String]) -> ExtractedDocument {
    let mut document = ExtractedDocument {
        extractor: "text".to_owned(),
        ..ExtractedDocument::default()
    };
    let mut writer = DocumentBuilder::paged(1);
    for part in parts {
        write_text(part, &mut writer);
    }
    writer.finish(&mut document);
    complete_document(&mut document);
    document
}

fn write_text(text: &str, writer: &mut DocumentBuilder) {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    for block in text.split("\n\n") {
        write_block(block, writer);
    }
}

/// Writes a block and its heading, if its first line is one.
fn write_block(block: &str, writer: &mut DocumentBuilder) {
    let block = block.trim_matches('\n');
    let (first, rest) = block.split_once('\n').unwrap_or((block, ""));
    if first.trim().len() < 80 && is_known_section(first) {
        writer.add_heading(1, first);
        write_paragraphs(rest, writer);
    } else {
        write_paragraphs(block, writer);
    }
}

fn write_paragraphs(block: &str, writer: &mut DocumentBuilder) {
    if !block.trim().is_empty() {
        writer.add_paragraph(block, false);
    }
}
