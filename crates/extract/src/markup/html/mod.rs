//! Converts web pages to text: headings, paragraphs, lists, tables row by row. Scripts, styles and
//! hidden elements are skipped. It reads tokens and is no browser: it follows no links and runs
//! nothing.

pub(crate) mod meta;
pub(crate) mod tokenizer;

use super::{
    charset::decode_markup,
    document_builder::{DocumentBuilder, complete_document},
};
use crate::{DocumentMetadata, ExtractError, ExtractLimits, ExtractedDocument};
use meta::HtmlMetadata;
use tokenizer::{HtmlTag, HtmlToken, HtmlTokenizer};

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

/// Elements whose content is no text, even if they are never closed.
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
    let mut head = HtmlMetadata::default();
    let mut title: Option<String> = None;
    let mut in_title = false;
    let mut skipped: Option<SkippedElement> = None;
    let mut may_skip = true;
    let mut tokens = HtmlTokenizer::new(text);
    loop {
        let start = tokens.position();
        let Some(token) = tokens.next() else {
            match skipped.take() {
                // It was never closed: the page is read on from its tag, and nothing is skipped.
                Some(element) if !RAW_ELEMENTS.contains(&element.name.as_str()) => {
                    tokens.rewind(element.start);
                    may_skip = false;
                    continue;
                }
                _ => break,
            }
        };
        if let Some(element) = &mut skipped {
            if element.ends_with(&token) {
                skipped = None;
            }
            continue;
        }
        match token {
            HtmlToken::Text(text) if in_title => {
                title = Some(collapse_space(&text)).filter(|title| !title.is_empty());
            }
            HtmlToken::Text(text) => {
                page.add_text(&text);
                if page.writer.len() > limits.text_bytes {
                    return head.to_metadata(title);
                }
            }
            HtmlToken::Tag(tag) => match tag.name.as_str() {
                "meta" => head.add_tag(&tag),
                "title" => in_title = !tag.is_closing && !tag.is_void && title.is_none(),
                _ if tag.is_closing || tag.is_void => page.handle_tag(&tag),
                name if RAW_ELEMENTS.contains(&name) || (may_skip && is_skipped(&tag)) => {
                    skipped = Some(SkippedElement {
                        name: tag.name,
                        depth: 1,
                        start,
                    });
                }
                _ => page.handle_tag(&tag),
            },
        }
    }
    page.end_block();
    head.to_metadata(title)
}

fn is_skipped(tag: &HtmlTag) -> bool {
    HIDDEN_ELEMENTS.contains(&tag.name.as_str()) || tag.is_hidden()
}

fn collapse_space(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An element that is not read.
struct SkippedElement {
    name: String,
    /// The elements of its name that are open.
    depth: usize,
    /// The position of its tag.
    start: usize,
}

impl SkippedElement {
    /// Whether the token closes the element.
    fn ends_with(&mut self, token: &HtmlToken) -> bool {
        if let HtmlToken::Tag(tag) = token
            && tag.name == self.name
            && !tag.is_void
        {
            if tag.is_closing {
                self.depth -= 1;
            } else {
                self.depth += 1;
            }
        }
        self.depth == 0
    }
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
        if self.preformatted > 0 {
            self.block.push_str(text);
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

    fn handle_tag(&mut self, tag: &HtmlTag) {
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
