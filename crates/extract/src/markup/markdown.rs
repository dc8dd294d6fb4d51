//! Markdown: headings by `#` and by underlines, everything else as written. Fenced code holds
//! no headings; the block of YAML at the head is what the file says of itself.

use super::charset::decoded;
use super::front::front_matter;
use super::writer::{Writer, complete};
use crate::{Document, ExtractError};

/// Reads a Markdown file.
pub(crate) fn markdown(bytes: &[u8]) -> Result<Document, ExtractError> {
    let text = decoded(bytes)
        .replace("\r\n", "\n")
        .replace(['\r', '\u{c}'], "\n");
    let mut document = Document {
        extractor: "markdown".to_owned(),
        ..Document::default()
    };
    let mut writer = Writer::flow(1);
    let mut body = text.as_str();
    if let Some((front, rest)) = front_matter(&text) {
        document.meta = front.meta;
        body = rest;
        if let Some(summary) = front.summary {
            writer.heading(2, "Abstract");
            writer.paragraph(&summary, false);
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
        } else if let Some((level, title)) = hashed(line) {
            flush(&mut block, &mut writer);
            writer.heading(level, title);
        } else if let (Some(level), [only]) = (underline(line), block.as_slice()) {
            let title = *only;
            block.clear();
            writer.heading(level, title);
        } else if line.trim().is_empty() {
            flush(&mut block, &mut writer);
        } else {
            block.push(line);
        }
    }
    flush(&mut block, &mut writer);
    if writer.len() == 0 {
        return Err(ExtractError::NoText { pages: 0 });
    }
    writer.finish(&mut document);
    complete(&mut document);
    Ok(document)
}

fn flush(block: &mut Vec<&str>, writer: &mut Writer) {
    let text = block.join("\n");
    block.clear();
    writer.paragraph(&text, false);
}

/// The level and words of a `#` heading.
fn hashed(line: &str) -> Option<(u8, &str)> {
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

fn underline(line: &str) -> Option<u8> {
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
