//! Reads DOCX: paragraphs with their styles, tables row by row, and the metadata.

use super::zip_archive::{
    DocumentArchive, XmlAttributes, XmlEvent, for_each_text_element, parse_xml,
};
use crate::{
    DocumentMetadata, ExtractError, ExtractLimits, ExtractedDocument,
    markup::document_builder::{DocumentBuilder, complete_document},
    structure::is_known_section,
};

pub(crate) fn read_docx(
    bytes: &[u8],
    limits: &ExtractLimits,
) -> Result<ExtractedDocument, ExtractError> {
    let mut archive = DocumentArchive::open(bytes, limits)?;
    let body = archive
        .read_text("word/document.xml")?
        .ok_or_else(|| ExtractError::broken("it has no main text"))?;
    let mut document = ExtractedDocument {
        extractor: "docx".to_owned(),
        ..ExtractedDocument::default()
    };
    if let Some(core) = archive.read_text("docProps/core.xml")? {
        document.meta = read_core_properties(&core)?;
    }
    let mut writer = DocumentBuilder::paged(1);
    read_part(&body, &mut writer, limits)?;
    let notes = read_notes(&mut archive, limits)?;
    if !notes.is_empty() {
        writer.add_heading(1, "Notes");
        writer.add_paragraph(&notes, false);
    }
    if writer.len() == 0 {
        return Err(ExtractError::NoText { pages: 0 });
    }
    writer.finish(&mut document);
    complete_document(&mut document);
    Ok(document)
}

/// Writes one part of the document.
fn read_part(
    xml: &str,
    writer: &mut DocumentBuilder,
    limits: &ExtractLimits,
) -> Result<(), ExtractError> {
    let mut reading = DocxReader::default();
    parse_xml(xml, |event| {
        if writer.len() <= limits.text_bytes {
            reading.handle_event(&event, writer);
        }
    })
}

/// Reads footnotes and endnotes, which are stored apart from the text.
fn read_notes(
    archive: &mut DocumentArchive<'_>,
    limits: &ExtractLimits,
) -> Result<String, ExtractError> {
    let mut writer = DocumentBuilder::single_page(1);
    for part in ["word/footnotes.xml", "word/endnotes.xml"] {
        if let Some(xml) = archive.read_text(part)? {
            read_part(&xml, &mut writer, limits)?;
        }
    }
    Ok(writer.into_text())
}

/// A paragraph that is being read. Paragraphs nest in text boxes.
#[derive(Default)]
struct DocxParagraph {
    text: String,
    style: String,
    outline: Option<u8>,
}

/// A table row that is being read. Rows nest in cells.
#[derive(Default)]
struct DocxRow {
    cells: Vec<String>,
    cell: Vec<String>,
}

/// Nesting depth of paragraphs and rows.
const MAX_DEPTH: usize = 64;

#[derive(Default)]
struct DocxReader {
    /// The open paragraphs, the outermost first.
    paragraphs: Vec<DocxParagraph>,
    /// The open rows, the outermost first.
    rows: Vec<DocxRow>,
    in_text: bool,
    deleted: usize,
    /// The number of open text runs, which nest in text boxes.
    runs: usize,
    /// The hidden run, counted from the outermost.
    hidden_run: Option<usize>,
    /// The number of open fallback copies for older programs.
    copies: usize,
}

impl DocxReader {
    fn handle_event(&mut self, event: &XmlEvent<'_>, writer: &mut DocumentBuilder) {
        match event {
            XmlEvent::Open {
                name: "Fallback", ..
            } => self.copies += 1,
            XmlEvent::Close { name: "Fallback" } => self.copies = self.copies.saturating_sub(1),
            _ if self.copies > 0 => {}
            XmlEvent::Open { name, attributes } => self.open_element(name, attributes),
            XmlEvent::Text(text)
                if self.in_text && self.deleted == 0 && self.hidden_run.is_none() =>
            {
                self.add_text(text);
            }
            XmlEvent::Text(_) => {}
            XmlEvent::Close { name } => self.close_element(name, writer),
        }
    }

    fn open_element(&mut self, name: &str, attributes: &XmlAttributes<'_>) {
        let value = attributes.get("val");
        match name {
            "p" if self.paragraphs.len() < MAX_DEPTH => {
                self.paragraphs.push(DocxParagraph::default());
            }
            "tr" if self.rows.len() < MAX_DEPTH => self.rows.push(DocxRow::default()),
            "t" => self.in_text = true,
            // With a value it is a tab stop, not a tab.
            "tab" if value.is_none() => self.add_text("\t"),
            "br" | "cr" => self.add_text("\n"),
            "noBreakHyphen" => self.add_text("-"),
            "del" => self.deleted += 1,
            "r" => self.runs += 1,
            // Outside a run it applies to the paragraph mark.
            "vanish" if self.runs > 0 && !matches!(value, Some("0" | "false" | "off")) => {
                self.hidden_run.get_or_insert(self.runs);
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

    fn add_text(&mut self, text: &str) {
        if let Some(paragraph) = self.paragraphs.last_mut() {
            paragraph.text.push_str(text);
        }
    }

    fn close_element(&mut self, name: &str, writer: &mut DocumentBuilder) {
        match name {
            "t" => self.in_text = false,
            "del" => self.deleted = self.deleted.saturating_sub(1),
            "r" => {
                self.hidden_run.take_if(|run| *run >= self.runs);
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
                    (Some(cells), None) => writer.add_paragraph(&cells, false),
                    (None, _) => {}
                }
            }
            _ => {}
        }
    }

    fn end_paragraph(&mut self, paragraph: &DocxParagraph, writer: &mut DocumentBuilder) {
        let text = &paragraph.text;
        if let Some(row) = self.rows.last_mut() {
            row.cell.push(text.clone());
            return;
        }
        match paragraph.heading_level() {
            Some(level) => writer.add_heading(level, text),
            None => writer.add_paragraph(text, paragraph.style.eq_ignore_ascii_case("caption")),
        }
    }
}

impl DocxParagraph {
    fn heading_level(&self) -> Option<u8> {
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
            .or_else(|| (self.text.len() < 80 && is_known_section(&self.text)).then_some(1))
    }
}

/// Reads the metadata in `docProps/core.xml`.
fn read_core_properties(xml: &str) -> Result<DocumentMetadata, ExtractError> {
    let mut meta = DocumentMetadata::default();
    for_each_text_element(xml, |name, text| {
        let place = match name {
            "title" => &mut meta.title,
            "creator" => &mut meta.authors,
            "subject" => &mut meta.subject,
            "keywords" => &mut meta.keywords,
            "created" => &mut meta.created,
            "language" => &mut meta.language,
            _ => return,
        };
        place.get_or_insert_with(|| text.to_owned());
    })?;
    Ok(meta)
}
