//! A word processor's document: paragraphs with their styles, tables row by row, and the
//! record it keeps of itself.

use super::archive::{Archive, Attributes, Met, each_in_xml, each_said};
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
    let mut writer = Writer::flow(1);
    read_part(&body, &mut writer, limits)?;
    let notes = notes(&mut archive, limits)?;
    if !notes.is_empty() {
        writer.heading(1, "Notes");
        writer.paragraph(&notes, false);
    }
    if writer.len() == 0 {
        return Err(ExtractError::NoText { pages: 0 });
    }
    writer.finish(&mut document);
    complete(&mut document);
    Ok(document)
}

/// Writes one part of the document.
fn read_part(xml: &str, writer: &mut Writer, limits: &Limits) -> Result<(), ExtractError> {
    let mut reading = Reading::default();
    each_in_xml(xml, |met| {
        if writer.len() <= limits.text_bytes {
            reading.meet(&met, writer);
        }
    })
}

/// The footnotes and endnotes, which are kept apart from the text.
fn notes(archive: &mut Archive<'_>, limits: &Limits) -> Result<String, ExtractError> {
    let mut writer = Writer::page(1);
    for part in ["word/footnotes.xml", "word/endnotes.xml"] {
        if let Some(xml) = archive.text(part)? {
            read_part(&xml, &mut writer, limits)?;
        }
    }
    Ok(writer.into_text())
}

/// A paragraph in the making. One can stand inside another, in a text box.
#[derive(Default)]
struct Paragraph {
    text: String,
    style: String,
    outline: Option<u8>,
}

/// A row of a table in the making. One can stand inside another, in a cell.
#[derive(Default)]
struct Row {
    cells: Vec<String>,
    cell: Vec<String>,
}

/// Paragraphs and rows stand inside each other, this deep.
const DEEPEST: usize = 64;

#[derive(Default)]
struct Reading {
    /// The paragraphs that are open, the outermost first.
    paragraphs: Vec<Paragraph>,
    /// The rows that are open, the outermost first.
    rows: Vec<Row>,
    in_text: bool,
    deleted: usize,
    /// How many runs of letters are open; one can stand inside another, in a text box.
    runs: usize,
    /// The run that is not shown, counted from the outermost.
    unseen: Option<usize>,
    /// How many copies for older programs, of what was told already, are open.
    copies: usize,
}

impl Reading {
    fn meet(&mut self, met: &Met<'_>, writer: &mut Writer) {
        match met {
            Met::Open {
                name: "Fallback", ..
            } => self.copies += 1,
            Met::Close { name: "Fallback" } => self.copies = self.copies.saturating_sub(1),
            _ if self.copies > 0 => {}
            Met::Open { name, attributes } => self.open(name, attributes),
            Met::Text(text) if self.in_text && self.deleted == 0 && self.unseen.is_none() => {
                self.add(text);
            }
            Met::Text(_) => {}
            Met::Close { name } => self.close(name, writer),
        }
    }

    fn open(&mut self, name: &str, attributes: &Attributes<'_>) {
        let value = attributes.get("val");
        match name {
            "p" if self.paragraphs.len() < DEEPEST => self.paragraphs.push(Paragraph::default()),
            "tr" if self.rows.len() < DEEPEST => self.rows.push(Row::default()),
            "t" => self.in_text = true,
            // With a value it is the place of a tab, not a tab.
            "tab" if value.is_none() => self.add("\t"),
            "br" | "cr" => self.add("\n"),
            "noBreakHyphen" => self.add("-"),
            "del" => self.deleted += 1,
            "r" => self.runs += 1,
            // Outside a run it is said of the mark that ends a paragraph.
            "vanish" if self.runs > 0 && !matches!(value, Some("0" | "false" | "off")) => {
                self.unseen.get_or_insert(self.runs);
            }
            _ => {}
        }
        let Some(paragraph) = self.paragraphs.last_mut() else {
            return;
        };
        match name {
            "pStyle" => value.unwrap_or_default().clone_into(&mut paragraph.style),
            "outlineLvl" => {
                paragraph.outline = value
                    .and_then(|level| level.parse::<u8>().ok())
                    .filter(|level| *level < 9);
            }
            _ => {}
        }
    }

    fn add(&mut self, text: &str) {
        if let Some(paragraph) = self.paragraphs.last_mut() {
            paragraph.text.push_str(text);
        }
    }

    fn close(&mut self, name: &str, writer: &mut Writer) {
        match name {
            "t" => self.in_text = false,
            "del" => self.deleted = self.deleted.saturating_sub(1),
            "r" => {
                self.unseen.take_if(|run| *run >= self.runs);
                self.runs = self.runs.saturating_sub(1);
            }
            "p" => {
                if let Some(paragraph) = self.paragraphs.pop() {
                    self.end_paragraph(&paragraph, writer);
                }
            }
            "tc" => {
                if let Some(row) = self.rows.last_mut() {
                    let cell = std::mem::take(&mut row.cell).join(" ");
                    row.cells.push(cell);
                }
            }
            "tr" => {
                let cells = self.rows.pop().map(|row| row.cells.join("\t"));
                match (cells, self.rows.last_mut()) {
                    (Some(cells), Some(outer)) => outer.cell.push(cells),
                    (Some(cells), None) => writer.paragraph(&cells, false),
                    (None, _) => {}
                }
            }
            _ => {}
        }
    }

    fn end_paragraph(&mut self, paragraph: &Paragraph, writer: &mut Writer) {
        let text = &paragraph.text;
        if let Some(row) = self.rows.last_mut() {
            row.cell.push(text.clone());
            return;
        }
        match paragraph.level() {
            Some(level) => writer.heading(level, text),
            None => writer.paragraph(text, paragraph.style.eq_ignore_ascii_case("caption")),
        }
    }
}

impl Paragraph {
    fn level(&self) -> Option<u8> {
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
            .or_else(|| (self.text.len() < 80 && known_name(&self.text)).then_some(1))
    }
}

/// The record in `docProps/core.xml`.
fn core_record(xml: &str) -> Result<Meta, ExtractError> {
    let mut meta = Meta::default();
    each_said(xml, |name, said| {
        let place = match name {
            "title" => &mut meta.title,
            "creator" => &mut meta.authors,
            "subject" => &mut meta.subject,
            "keywords" => &mut meta.keywords,
            "created" => &mut meta.created,
            "language" => &mut meta.language,
            _ => return,
        };
        place.get_or_insert_with(|| said.to_owned());
    })?;
    Ok(meta)
}
