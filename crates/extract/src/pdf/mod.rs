//! PDF to document. First our own reading of the letters and their places; if that fails or
//! finds next to nothing, `pdftotext` where the machine has it; else the honest answer.

mod about;
mod assemble;
mod cmap;
mod font;
mod mend;
mod object;
mod open;
mod paint;
mod pen;
mod poppler;
mod purse;
mod scan;
mod simple;
mod stream;

use pdf_extract::{Dictionary, Document as File};

use crate::extract::guarded;
use crate::layout::{Line, lines};
use crate::limits::{Deadline, over};
use crate::{Document, ExtractError, Limits, markup};

/// Pages with fewer letters than this hold next to nothing.
const FEW: usize = 50;

/// Reads a PDF.
pub(crate) fn read(
    bytes: &[u8],
    limits: &Limits,
    deadline: &Deadline,
) -> Result<Document, ExtractError> {
    let own = ours(bytes, limits, deadline);
    if let Ok(document) = &own
        && has(document, assemble::OVERDRAWN)
    {
        // Any other reader would be kept just as busy.
        return match letters(document) {
            0 => Err(ExtractError::broken(
                "more is drawn on its pages than can be followed",
            )),
            _ => own,
        };
    }
    let own = match own {
        Ok(document) if letters(&document) == 0 => Ok(mended(bytes, limits, deadline, document)),
        other => other,
    };
    let found = match &own {
        Ok(document) if !is_thin(document) && !has(document, assemble::GAPS) => return own,
        Ok(document) => letters(document),
        Err(ExtractError::Broken { .. }) => 0,
        Err(_) => return own,
    };
    let other = poppler::pages(bytes, deadline)
        .filter(|pages| pages.len() <= limits.pages as usize)
        .map(|pages| markup::plain_pages(pages, "pdftotext"));
    match (own, other) {
        (own, Some(mut other)) if letters(&other) > found * 11 / 10 + 20 => {
            if let Ok(own) = own {
                other.meta = own.meta;
            }
            assemble::warn_of_empty_pages(&mut other);
            Ok(other)
        }
        (Ok(own), _) if found == 0 => {
            // What nobody had the time to read is no scan.
            deadline.check()?;
            let pages = u32::try_from(own.pages.len()).unwrap_or(u32::MAX);
            Err(ExtractError::NoText { pages })
        }
        (own, _) => own,
    }
}

fn letters(document: &Document) -> usize {
    document
        .pages
        .iter()
        .map(|page| letters_of(&page.text))
        .sum()
}

fn letters_of(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphabetic()).count()
}

/// Whether the document has a warning that begins so.
fn has(document: &Document, warning: &str) -> bool {
    let mut warnings = document.warnings.iter();
    warnings.any(|it| it.message.starts_with(warning))
}

/// Whether most pages hold next to nothing.
fn is_thin(document: &Document) -> bool {
    let thin = document
        .pages
        .iter()
        .filter(|page| letters_of(&page.text) < FEW)
        .count();
    thin * 2 > document.pages.len()
}

/// What one page gave.
#[derive(Default)]
struct ReadPage {
    lines: Vec<Line>,
    has_image: bool,
    /// How many of its letters the fonts could not name.
    unknown: usize,
    /// Whether a part of it could not be read.
    lost: bool,
    /// Whether more is drawn on it than was followed.
    overdrawn: bool,
}

/// Our own reading.
fn ours(bytes: &[u8], limits: &Limits, deadline: &Deadline) -> Result<Document, ExtractError> {
    read_opened(&open::open(bytes, limits)?, limits, deadline)
}

/// A table of objects that can be read may still point to the wrong places: with no letters found,
/// the objects are looked for one by one. The better of the two is kept.
fn mended(bytes: &[u8], limits: &Limits, deadline: &Deadline, first: Document) -> Document {
    let second = open::mend(bytes)
        .and_then(|opened| read_opened(&opened, limits, deadline).ok())
        .filter(|second| letters(second) > 0);
    second.unwrap_or(first)
}

fn read_opened(
    opened: &open::Opened,
    limits: &Limits,
    deadline: &Deadline,
) -> Result<Document, ExtractError> {
    deadline.check()?;
    let file = &opened.file;
    let ids = open::page_ids(file, limits.pages as usize + 1);
    over("number of pages", ids.len() as u64, u64::from(limits.pages))?;
    let mut painter = paint::Painter::new(file, *deadline, limits.unpacked());
    let mut pages = Vec::with_capacity(ids.len());
    let mut text = 0;
    for id in ids {
        deadline.check()?;
        let dict = file.objects.get(&id).and_then(|page| page.as_dict().ok());
        let page = match dict {
            // The text that is over the limit would be cut in the end: it is not read at all.
            Some(dict) if text <= limits.text_bytes => read_page(file, dict, &mut painter, limits)?,
            _ => ReadPage {
                lost: dict.is_none(),
                ..ReadPage::default()
            },
        };
        text += page
            .lines
            .iter()
            .map(|line| line.text.len() + 1)
            .sum::<usize>();
        pages.push(page);
    }
    Ok(assemble::assemble(file, pages, opened.mended))
}

fn read_page<'f>(
    file: &'f File,
    dict: &'f Dictionary,
    painter: &mut paint::Painter<'f>,
    limits: &Limits,
) -> Result<ReadPage, ExtractError> {
    if painter.is_spent() {
        return Ok(ReadPage {
            overdrawn: true,
            ..ReadPage::default()
        });
    }
    let content = open::content(file, dict, limits.unpacked());
    let cut = content.len() as u64 >= limits.unpacked();
    let bounds = open::bounds(file, dict);
    let read = guarded(|| match open::resources(file, dict) {
        Some(resources) => painter.page(&content, resources, bounds).map(Some),
        None => Ok(None),
    });
    let Some(painted) = read else {
        return Ok(ReadPage {
            lost: true,
            ..ReadPage::default()
        });
    };
    Ok(painted?.map_or_else(ReadPage::default, |painted| ReadPage {
        lines: lines(&painted.glyphs),
        has_image: painted.has_image,
        unknown: painted.unknown,
        lost: false,
        overdrawn: painted.overdrawn || cut,
    }))
}
