//! Web pages to text: headings, paragraphs, lists, tables row by row. Scripts, styles and what
//! is hidden are never read. It is a tokenizer, not a browser: it follows no link and runs
//! nothing.

use super::entities::unescaped;
use super::plain::decoded;
use super::writer::{Writer, complete};
use crate::{Document, ExtractError, Limits};

/// Reads a web page.
pub(crate) fn html(bytes: &[u8], limits: &Limits) -> Result<Document, ExtractError> {
    let mut document = Document {
        extractor: "html".to_owned(),
        ..Document::default()
    };
    let mut writer = Writer::page(1);
    let title = write(&decoded(bytes), &mut writer, limits);
    document.meta.title = title;
    if writer.len() == 0 {
        return Err(ExtractError::NoText { pages: 1 });
    }
    writer.finish(&mut document);
    complete(&mut document);
    Ok(document)
}

/// Elements whose content is no text to read.
const SILENT: [&str; 12] = [
    "script", "style", "noscript", "template", "svg", "iframe", "object", "head", "select",
    "button", "nav", "canvas",
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

/// Writes the page's blocks; returns its title.
pub(super) fn write(text: &str, writer: &mut Writer, limits: &Limits) -> Option<String> {
    let mut page = Reading {
        writer,
        block: String::new(),
        heading: None,
        caption: false,
        preformatted: 0,
    };
    let mut title = None;
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        page.words(before);
        if page.writer.len() > limits.text_bytes {
            return title;
        }
        let Some(tag) = Tag::read(after) else {
            page.block.push('<');
            rest = after;
            continue;
        };
        rest = after.get(tag.length..).unwrap_or_default();
        if tag.name == "title" && !tag.closes && title.is_none() {
            let (inside, after) = until_close(rest, "title");
            title = Some(
                unescaped(inside)
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" "),
            )
            .filter(|title| !title.is_empty());
            rest = after;
        } else if SILENT.contains(&tag.name.as_str()) && !tag.closes && !tag.empty {
            // The head is stepped through for its title; its scripts are silent by themselves.
            if tag.name != "head" {
                (_, rest) = until_close(rest, &tag.name);
            }
        } else {
            page.tag(&tag);
        }
    }
    page.words(rest);
    page.end_block();
    title
}

/// What stands before the closing tag, and what after it.
fn until_close<'t>(text: &'t str, name: &str) -> (&'t str, &'t str) {
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find("</")) {
        let start = at + found;
        let after = text.get(start + 2..).unwrap_or_default();
        let same = after
            .get(..name.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(name));
        if same {
            let end = after.find('>').map_or(after.len(), |end| end + 1);
            return (
                text.get(..start).unwrap_or_default(),
                after.get(end..).unwrap_or_default(),
            );
        }
        at = start + 2;
    }
    (text, "")
}

struct Tag {
    name: String,
    closes: bool,
    empty: bool,
    /// How many bytes it takes up after its `<`.
    length: usize,
}

impl Tag {
    /// Reads a tag or comment; none if the `<` is only a sign.
    fn read(after: &str) -> Option<Self> {
        let nothing = |length| Self {
            name: String::new(),
            closes: false,
            empty: true,
            length,
        };
        if let Some(comment) = after.strip_prefix("!--") {
            return Some(nothing(
                comment.find("-->").map_or(after.len(), |end| end + 6),
            ));
        }
        if after.starts_with(['!', '?']) {
            return Some(nothing(after.find('>').map_or(after.len(), |end| end + 1)));
        }
        let (closes, named) = after
            .strip_prefix('/')
            .map_or((false, after), |named| (true, named));
        if !named.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let name: String = named
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | ':'))
            .take(40)
            .map(|c| c.to_ascii_lowercase())
            .collect();
        let end = end_of_tag(after);
        let inside = after.get(..end).unwrap_or_default();
        Some(Self {
            name,
            closes,
            empty: inside.ends_with('/'),
            length: (end + 1).min(after.len()),
        })
    }
}

/// Where a tag's `>` stands; one inside quotes does not count.
fn end_of_tag(after: &str) -> usize {
    let mut quote = None;
    for (at, byte) in after.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    after.find('>').unwrap_or(after.len())
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

    fn tag(&mut self, tag: &Tag) {
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
