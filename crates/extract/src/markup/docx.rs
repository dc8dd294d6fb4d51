//! A word processor's document: paragraphs with their styles, tables row by row, and the
//! record it keeps of itself.

use super::archive::{Archive, Met, each_in_xml};
use super::writer::{Writer, complete};
use crate::structure::known_name;
use crate::{Document, ExtractError, Limits, Meta};

/// Reads a DOCX.
pub(crate) fn docx(bytes: &[u8], limits: &Limits) -> Result<Document, ExtractError> {
    let mut archive = Archive::open(bytes, limits)?;
    let body = archive
        .text("word/document.xml")?
        .ok_or_else(|| ExtractError::broken("it has no main text"))?;
    let mut document = Document {
        extractor: "docx".to_owned(),
        ..Document::default()
    };
    if let Some(core) = archive.text("docProps/core.xml")? {
        document.meta = core_record(&core)?;
    }
    let mut reading = Reading::default();
    let mut writer = Writer::page(1);
    each_in_xml(&body, |met| {
        if writer.len() <= limits.text_bytes {
            reading.meet(&met, &mut writer);
        }
    })?;
    if writer.len() == 0 {
        return Err(ExtractError::NoText { pages: 1 });
    }
    writer.finish(&mut document);
    complete(&mut document);
    Ok(document)
}

#[derive(Default)]
struct Reading {
    paragraph: String,
    style: String,
    outline: Option<u8>,
    in_text: bool,
    /// The cells of the row at hand, when inside a table.
    row: Option<Vec<String>>,
    cell: Vec<String>,
    deleted: usize,
}

impl Reading {
    fn meet(&mut self, met: &Met<'_>, writer: &mut Writer) {
        match met {
            Met::Open { name, attributes } => match *name {
                "p" => {
                    self.paragraph.clear();
                    self.style.clear();
                    self.outline = None;
                }
                "pStyle" => attributes
                    .get("val")
                    .unwrap_or_default()
                    .clone_into(&mut self.style),
                "outlineLvl" => {
                    self.outline = attributes
                        .get("val")
                        .and_then(|level| level.parse::<u8>().ok())
                        .filter(|level| *level < 9);
                }
                "t" => self.in_text = true,
                "tab" => self.paragraph.push('\t'),
                "br" | "cr" => self.paragraph.push('\n'),
                "noBreakHyphen" => self.paragraph.push('-'),
                "tr" => self.row = Some(Vec::new()),
                "del" => self.deleted += 1,
                _ => {}
            },
            Met::Text(text) if self.in_text && self.deleted == 0 => self.paragraph.push_str(text),
            Met::Text(_) => {}
            Met::Close { name } => match *name {
                "t" => self.in_text = false,
                "del" => self.deleted = self.deleted.saturating_sub(1),
                "p" => self.end_paragraph(writer),
                "tc" => {
                    let cell = std::mem::take(&mut self.cell).join(" ");
                    if let Some(row) = &mut self.row {
                        row.push(cell);
                    }
                }
                "tr" => {
                    if let Some(row) = self.row.take() {
                        writer.paragraph(&row.join("\t"), false);
                    }
                }
                _ => {}
            },
        }
    }

    fn end_paragraph(&mut self, writer: &mut Writer) {
        let text = std::mem::take(&mut self.paragraph);
        if self.row.is_some() {
            self.cell.push(text);
            return;
        }
        match self.level(&text) {
            Some(level) => writer.heading(level, &text),
            None => writer.paragraph(&text, self.style.eq_ignore_ascii_case("caption")),
        }
    }

    fn level(&self, text: &str) -> Option<u8> {
        let style = self.style.to_ascii_lowercase();
        if style == "title" {
            return Some(1);
        }
        let by_style = style
            .strip_prefix("heading")
            .and_then(|number| number.trim().parse::<u8>().ok())
            .filter(|level| (1..=9).contains(level));
        by_style
            .or_else(|| self.outline.map(|level| level + 1))
            .or_else(|| (text.len() < 80 && known_name(text)).then_some(1))
    }
}

/// The record in `docProps/core.xml`.
fn core_record(xml: &str) -> Result<Meta, ExtractError> {
    let mut meta = Meta::default();
    let mut inside = String::new();
    each_in_xml(xml, |met| match met {
        Met::Open { name, .. } => name.clone_into(&mut inside),
        Met::Close { .. } => inside.clear(),
        Met::Text(text) => {
            let place = match inside.as_str() {
                "title" => &mut meta.title,
                "creator" => &mut meta.authors,
                "subject" => &mut meta.subject,
                "keywords" => &mut meta.keywords,
                "created" => &mut meta.created,
                "language" => &mut meta.language,
                _ => return,
            };
            let text = text.trim();
            if !text.is_empty() {
                place.get_or_insert_default().push_str(text);
            }
        }
    })?;
    Ok(meta)
}
