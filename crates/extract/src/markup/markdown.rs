//! Reads Markdown: headings by `#` and by underlines, everything else as written. Fenced code has no
//! headings; front matter is the metadata.

use super::{
    charset::decode,
    document_builder::{DocumentBuilder, complete_document},
    front_matter::split_front_matter,
};
use crate::{ExtractError, ExtractedDocument};

pub(crate) fn read_markdown(bytes: &[u8]) -> Result<ExtractedDocument, ExtractError> {
    let text = decode(bytes)
        .replace("\r\n", "\n")
        .replace(['\r', '\u{c}'], "\n");
    let mut document = ExtractedDocument {
        extractor: "markdown".to_owned(),
        ..ExtractedDocument::default()
    };
    let mut writer = DocumentBuilder::paged(1);
    let mut body = text.as_str();
    if let Some((front, rest)) = split_front_matter(&text) {
        document.meta = front.meta;
        body = rest;
        if let Some(summary) = front.summary {
            writer.add_heading(2, "Abstract");
            writer.add_paragraph(&summary, false);
        }
    }
    let mut block: Vec<&str> = Vec::new();
    let mut fence: Option<&str> = None;
    for line in body.lines() {
        let bare = line.trim_start();
        if let Some(mark) = fence {
            block.push(line);
            if bare.starts_with(mark) {
                fence = None;
            }
        } else if let Some(mark) = ["```", "~~~"]
            .into_iter()
            .find(|mark| bare.starts_with(mark))
        {
            fence = Some(mark);
            block.push(line);
        } else if let Some((level, title)) = parse_hash_heading(line) {
            flush_block(&mut block, &mut writer);
            writer.add_heading(level, title);
        } else if let (Some(level), [only]) = (underline_level(line), block.as_slice()) {
            let title = *only;
            block.clear();
            writer.add_heading(level, title);
        } else if line.trim().is_empty() {
            flush_block(&mut block, &mut writer);
        } else {
            block.push(line);
        }
    }
    flush_block(&mut block, &mut writer);
    if writer.len() == 0 {
        return Err(ExtractError::NoText { pages: 0 });
    }
    writer.finish(&mut document);
    complete_document(&mut document);
    Ok(document)
}

fn flush_block(block: &mut Vec<&str>, writer: &mut DocumentBuilder) {
    let text = block.join("\n");
    block.clear();
    writer.add_paragraph(&text, false);
}

/// Parses level and text of a `#` heading.
fn parse_hash_heading(line: &str) -> Option<(u8, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    if !(1..=6).contains(&level) {
        return None;
    }
    let rest = line.get(level..)?;
    let title = rest
        .strip_prefix([' ', '\t'])?
        .trim()
        .trim_end_matches('#')
        .trim_end();
    (!title.is_empty()).then_some((u8::try_from(level).ok()?, title))
}

fn underline_level(line: &str) -> Option<u8> {
    let line = line.trim_end();
    if line.len() < 3 {
        None
    } else if line.bytes().all(|byte| byte == b'=') {
        Some(1)
    } else if line.bytes().all(|byte| byte == b'-') {
        Some(2)
    } else {
        None
    }
}
