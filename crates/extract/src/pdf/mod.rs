//! Reads PDF. First with our own interpreter; if that fails or finds almost no text, with
//! `pdftotext` if it is installed; else an error.

mod assemble;
mod fonts;
mod interpreter;
mod load;
mod metadata;
mod object_access;
mod pdftotext;
mod stream_decoder;
mod xref_repair;

use lopdf::{Dictionary, Document as File};

use crate::extract::catch_panic;
use crate::layout::{LayoutLine, build_lines};
use crate::limits::{Deadline, check_limit};
use crate::{ExtractError, ExtractLimits, ExtractedDocument, markup};

/// Pages with fewer letters are almost empty.
const MIN_PAGE_LETTERS: usize = 50;

pub(crate) fn read_pdf(
    bytes: &[u8],
    limits: &ExtractLimits,
    deadline: &Deadline,
) -> Result<ExtractedDocument, ExtractError> {
    let own = read_with_interpreter(bytes, limits, deadline);
    if let Ok(document) = &own
        && has_warning(document, assemble::WORK_LIMIT_WARNING)
    {
        // Another reader would take just as long.
        return match count_letters(document) {
            0 => Err(ExtractError::broken("its pages exceed the drawing limit")),
            _ => own,
        };
    }
    let own = match own {
        Ok(document) if count_letters(&document) == 0 => {
            Ok(read_repaired(bytes, limits, deadline, document))
        }
        other => other,
    };
    let found = match &own {
        Ok(document)
            if !is_nearly_empty(document)
                && !has_warning(document, assemble::UNMAPPED_GLYPHS_WARNING) =>
        {
            return own;
        }
        Ok(document) => count_letters(document),
        Err(ExtractError::Broken { .. }) => 0,
        Err(_) => return own,
    };
    let other = pdftotext::run_pdftotext(bytes, deadline)
        .filter(|pages| pages.len() <= limits.pages as usize)
        .map(|pages| markup::document_from_pages(pages, "pdftotext"));
    match (own, other) {
        (own, Some(mut other)) if count_letters(&other) > found * 11 / 10 + 20 => {
            if let Ok(own) = own {
                other.meta = own.meta;
            }
            assemble::warn_empty_pages(&mut other);
            Ok(other)
        }
        (Ok(own), _) if found == 0 => {
            // A page that was not read for lack of time is not a scan.
            deadline.check()?;
            let pages = u32::try_from(own.pages.len()).unwrap_or(u32::MAX);
            Err(ExtractError::NoText { pages })
        }
        (own, _) => own,
    }
}

fn count_letters(document: &ExtractedDocument) -> usize {
    document
        .pages
        .iter()
        .map(|page| count_text_letters(&page.text))
        .sum()
}

fn count_text_letters(text: &str) -> usize {
    text.chars().filter(|c| c.is_alphabetic()).count()
}

/// Whether the document has a warning with this start.
fn has_warning(document: &ExtractedDocument, warning: &str) -> bool {
    let mut warnings = document.warnings.iter();
    warnings.any(|it| it.message.starts_with(warning))
}

/// Whether most pages are almost empty.
fn is_nearly_empty(document: &ExtractedDocument) -> bool {
    let thin = document
        .pages
        .iter()
        .filter(|page| count_text_letters(&page.text) < MIN_PAGE_LETTERS)
        .count();
    thin * 2 > document.pages.len()
}

/// The result of one page.
#[derive(Default)]
struct InterpretedPage {
    lines: Vec<LayoutLine>,
    has_image: bool,
    /// The number of glyphs that the fonts do not map to text.
    unmapped_glyphs: usize,
    /// Whether a part of it could not be read.
    failed: bool,
    /// Whether the page exceeded the work limit.
    hit_work_limit: bool,
}

/// Reads the pages with our own interpreter.
fn read_with_interpreter(
    bytes: &[u8],
    limits: &ExtractLimits,
    deadline: &Deadline,
) -> Result<ExtractedDocument, ExtractError> {
    read_loaded(&load::load_or_repair(bytes, limits)?, limits, deadline)
}

/// A readable cross-reference table may point to wrong offsets: if no letters are found, it is
/// rebuilt. The better result is kept.
fn read_repaired(
    bytes: &[u8],
    limits: &ExtractLimits,
    deadline: &Deadline,
    first: ExtractedDocument,
) -> ExtractedDocument {
    let second = load::load_repaired(bytes)
        .and_then(|opened| read_loaded(&opened, limits, deadline).ok())
        .filter(|second| count_letters(second) > 0);
    second.unwrap_or(first)
}

fn read_loaded(
    opened: &load::LoadedPdf,
    limits: &ExtractLimits,
    deadline: &Deadline,
) -> Result<ExtractedDocument, ExtractError> {
    deadline.check()?;
    let file = &opened.file;
    let ids = load::page_ids(file, limits.pages as usize + 1);
    check_limit("number of pages", ids.len() as u64, u64::from(limits.pages))?;
    let mut painter =
        interpreter::ContentInterpreter::new(file, *deadline, limits.max_unpacked_bytes());
    let mut pages = Vec::with_capacity(ids.len());
    let mut text = 0;
    for id in ids {
        deadline.check()?;
        let dict = file.objects.get(&id).and_then(|page| page.as_dict().ok());
        let page = match dict {
            // Text over the limit would be truncated in the end, so it is not read.
            Some(dict) if text <= limits.text_bytes => {
                interpret_page(file, dict, &mut painter, limits)?
            }
            _ => InterpretedPage {
                failed: dict.is_none(),
                ..InterpretedPage::default()
            },
        };
        text += page
            .lines
            .iter()
            .map(|line| line.text.len() + 1)
            .sum::<usize>();
        pages.push(page);
    }
    Ok(assemble::assemble(file, pages, opened.repaired))
}

fn interpret_page<'f>(
    file: &'f File,
    dict: &'f Dictionary,
    painter: &mut interpreter::ContentInterpreter<'f>,
    limits: &ExtractLimits,
) -> Result<InterpretedPage, ExtractError> {
    if painter.is_budget_spent() {
        return Ok(InterpretedPage {
            hit_work_limit: true,
            ..InterpretedPage::default()
        });
    }
    let content = load::page_content(file, dict, limits.max_unpacked_bytes());
    let cut = content.len() as u64 >= limits.max_unpacked_bytes();
    let bounds = load::page_bounds(file, dict);
    let read = catch_panic(|| match load::page_resources(file, dict) {
        Some(resources) => painter
            .interpret_page(&content, resources, bounds)
            .map(Some),
        None => Ok(None),
    });
    let Some(painted) = read else {
        return Ok(InterpretedPage {
            failed: true,
            ..InterpretedPage::default()
        });
    };
    Ok(
        painted?.map_or_else(InterpretedPage::default, |painted| InterpretedPage {
            lines: build_lines(&painted.glyphs),
            has_image: painted.has_image,
            unmapped_glyphs: painted.unmapped_glyphs,
            failed: false,
            hit_work_limit: painted.hit_work_limit || cut,
        }),
    )
}
