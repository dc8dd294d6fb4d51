//! Converts web pages to text: headings, paragraphs, lists, tables row by row. Scripts, styles and
//! hidden elements are skipped. It is a tokenizer, not a browser: it follows no links and runs
//! nothing.

pub(crate) mod entities;
pub(crate) mod meta;
pub(crate) mod tokenizer;

use super::{
    charset::decode_markup,
    document_builder::{DocumentBuilder, complete_document},
};
use crate::{DocumentMetadata, ExtractError, ExtractLimits, ExtractedDocument};
use entities::unescape;
use meta::HtmlMetadata;
use tokenizer::{HtmlTag, HtmlTokenizer};

pub(crate) fn read_html(
    bytes: &[u8],
    limits: &ExtractLimits,
) -> Result<ExtractedDocument, ExtractError> {
    let mut document = ExtractedDocument {
        extractor: "html".to_owned(),
        ..ExtractedDocument::default()
    };
    let mut writer = DocumentBuilder::paged(1);
    document.meta = write_blocks(&decode_markup(bytes), &mut writer, limits);
    if writer.len() == 0 {
        return Err(ExtractError::NoText { pages: 0 });
    }
    writer.finish(&mut document);
    complete_document(&mut document);
    Ok(document)
}

/// Elements whose content is not markup.
const RAW_ELEMENTS: [&str; 3] = ["script", "style", "iframe"];
/// Elements whose content is not shown. One that is never closed is read all the same, because
/// otherwise the rest of the page would be lost.
const HIDDEN_ELEMENTS: [&str; 8] = [
    "noscript", "template", "svg", "object", "select", "button", "nav", "canvas",
];
/// Elements that start and end a paragraph.
const BLOCK_ELEMENTS: [&str; 28] = [
    "p",
    "div",
    "section",
    "article",
    "ul",
    "ol",
    "table",
    "blockquote",
    "pre",
    "figure",
    "main",
    "aside",
    "header",
    "footer",
    "dl",
    "dt",
    "dd",
    "form",
    "hr",
    "body",
    "html",
    "address",
    "fieldset",
    "tbody",
    "thead",
    "figcaption",
    "caption",
    "details",
];

/// Writes the page's blocks and returns its metadata.
pub(super) fn write_blocks(
    text: &str,
    writer: &mut DocumentBuilder,
    limits: &ExtractLimits,
) -> DocumentMetadata {
    let mut page = HtmlReader {
        writer,
        block: String::new(),
        heading: None,
        caption: false,
        preformatted: 0,
    };
    let mut title = None;
    let mut head = HtmlMetadata::default();
    let mut tags = HtmlTokenizer::new(text);
    while let Some((before, tag)) = tags.next() {
        page.add_text(before);
        if page.writer.len() > limits.text_bytes {
            return head.to_metadata(title);
        }
        let Some(tag) = tag else {
            page.block.push('<');
            continue;
        };
        if tag.name == "meta" {
            head.add_tag(&tag);
        } else if tag.name == "title" && !tag.is_closing && !tag.is_void && title.is_none() {
            let inside = unescape(tags.take_raw_text("title"));
            let words: Vec<&str> = inside.split_whitespace().collect();
            title = Some(words.join(" ")).filter(|title| !title.is_empty());
        } else if tag.is_closing || tag.is_void {
            page.handle_tag(&tag);
        } else if RAW_ELEMENTS.contains(&tag.name.as_str()) {
            tags.take_raw_text(&tag.name);
        } else if !((tag.is_hidden || HIDDEN_ELEMENTS.contains(&tag.name.as_str()))
            && tags.skip_element(&tag))
        {
            page.handle_tag(&tag);
        }
    }
    page.add_text(tags.rest());
    page.end_block();
    head.to_metadata(title)
}

struct HtmlReader<'w> {
    writer: &'w mut DocumentBuilder,
    block: String,
    heading: Option<u8>,
    caption: bool,
    preformatted: usize,
}

impl HtmlReader<'_> {
    fn add_text(&mut self, text: &str) {
        let text = unescape(text);
        if self.preformatted > 0 {
            self.block.push_str(&text);
            return;
        }
        for letter in text.chars() {
            if !letter.is_whitespace() {
                self.block.push(letter);
            } else if !self.block.is_empty() && !self.block.ends_with([' ', '\n', '\t']) {
                self.block.push(' ');
            }
        }
    }

    fn handle_tag(&mut self, tag: &HtmlTag<'_>) {
        match tag.name.as_str() {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.end_block();
                let level = tag.name.as_bytes().get(1).map(|digit| digit - b'0');
                self.heading = if tag.is_closing { None } else { level };
            }
            "br" => self.block.push('\n'),
            "li" => {
                self.end_line();
                if !tag.is_closing {
                    self.block.push_str("- ");
                }
            }
            "tr" => self.end_line(),
            "td" | "th" if tag.is_closing => self.block.push('\t'),
            name if BLOCK_ELEMENTS.contains(&name) => {
                self.end_block();
                match (name, tag.is_closing) {
                    ("pre", false) => self.preformatted += 1,
                    ("pre", true) => self.preformatted = self.preformatted.saturating_sub(1),
                    ("figcaption" | "caption", closes) => self.caption = !closes,
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn end_line(&mut self) {
        let kept = self.block.trim_end().len();
        self.block.truncate(kept);
        if !self.block.is_empty() {
            self.block.push('\n');
        }
    }

    fn end_block(&mut self) {
        let block = std::mem::take(&mut self.block);
        match self.heading.take() {
            Some(level) => self.writer.add_heading(level, &block),
            None => self.writer.add_paragraph(&block, self.caption),
        }
    }
}
