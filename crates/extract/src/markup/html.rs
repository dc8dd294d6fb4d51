//! Web pages to text: headings, paragraphs, lists, tables row by row. Scripts, styles and what
//! is hidden are never read. It is a tokenizer, not a browser: it follows no link and runs
//! nothing.

use super::charset::decoded_markup;
use super::entities::unescaped;
use super::head::Head;
use super::tag::{Tag, Tags};
use super::writer::{Writer, complete};
use crate::{Document, ExtractError, Limits, Meta};

/// Reads a web page.
pub(crate) fn html(bytes: &[u8], limits: &Limits) -> Result<Document, ExtractError> {
    let mut document = Document {
        extractor: "html".to_owned(),
        ..Document::default()
    };
    let mut writer = Writer::flow(1);
    document.meta = write(&decoded_markup(bytes), &mut writer, limits);
    if writer.len() == 0 {
        return Err(ExtractError::NoText { pages: 0 });
    }
    writer.finish(&mut document);
    complete(&mut document);
    Ok(document)
}

/// Elements whose content is no markup, let alone text to read.
const RAW: [&str; 3] = ["script", "style", "iframe"];
/// Elements whose content is no text to read. One that is never closed is read all the same: the
/// rest of the page would be lost.
const SILENT: [&str; 8] = [
    "noscript", "template", "svg", "object", "select", "button", "nav", "canvas",
];
/// Elements that begin and end a paragraph.
const BLOCKS: [&str; 28] = [
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

/// Writes the page's blocks; returns what it says of itself.
pub(super) fn write(text: &str, writer: &mut Writer, limits: &Limits) -> Meta {
    let mut page = Reading {
        writer,
        block: String::new(),
        heading: None,
        caption: false,
        preformatted: 0,
    };
    let mut title = None;
    let mut head = Head::default();
    let mut tags = Tags::new(text);
    while let Some((before, tag)) = tags.next() {
        page.words(before);
        if page.writer.len() > limits.text_bytes {
            return head.record(title);
        }
        let Some(tag) = tag else {
            page.block.push('<');
            continue;
        };
        if tag.name == "meta" {
            head.meet(&tag);
        } else if tag.name == "title" && !tag.closes && !tag.empty && title.is_none() {
            let inside = unescaped(tags.take_raw("title"));
            let words: Vec<&str> = inside.split_whitespace().collect();
            title = Some(words.join(" ")).filter(|title| !title.is_empty());
        } else if tag.closes || tag.empty {
            page.tag(&tag);
        } else if RAW.contains(&tag.name.as_str()) {
            tags.take_raw(&tag.name);
        } else if !((tag.hidden || SILENT.contains(&tag.name.as_str())) && tags.pass_over(&tag)) {
            page.tag(&tag);
        }
    }
    page.words(tags.rest());
    page.end_block();
    head.record(title)
}

struct Reading<'w> {
    writer: &'w mut Writer,
    block: String,
    heading: Option<u8>,
    caption: bool,
    preformatted: usize,
}

impl Reading<'_> {
    fn words(&mut self, text: &str) {
        let text = unescaped(text);
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

    fn tag(&mut self, tag: &Tag<'_>) {
        match tag.name.as_str() {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.end_block();
                let level = tag.name.as_bytes().get(1).map(|digit| digit - b'0');
                self.heading = if tag.closes { None } else { level };
            }
            "br" => self.block.push('\n'),
            "li" => {
                self.end_line();
                if !tag.closes {
                    self.block.push_str("- ");
                }
            }
            "tr" => self.end_line(),
            "td" | "th" if tag.closes => self.block.push('\t'),
            name if BLOCKS.contains(&name) => {
                self.end_block();
                match (name, tag.closes) {
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
            Some(level) => self.writer.heading(level, &block),
            None => self.writer.paragraph(&block, self.caption),
        }
    }
}
