//! Assembles a document from the lines of its pages: removes running headers, classifies headings and
//! captions, builds paragraphs, splits the bibliography, and warns of pages without text.

use lopdf::Document as File;

use super::{InterpretedPage, count_text_letters, metadata};
use crate::layout::{
    LayoutLine, LayoutLineKind, LayoutParagraph, build_paragraphs, collect_compounds,
    remove_running_headers,
};
use crate::structure::{
    EntryLine, classify_lines, find_own_ids, find_title_lines, is_references, parse_caption_start,
    parse_entries,
};
use crate::{Caption, DocumentPage, DocumentReference, ExtractedDocument, Heading};

/// The start of the warning about glyphs without text.
pub(super) const UNMAPPED_GLYPHS_WARNING: &str = "the fonts do not map";
/// The start of the warning about pages that exceeded the work limit.
pub(super) const WORK_LIMIT_WARNING: &str = "the drawing limit was exceeded";

pub(super) fn assemble(file: &File, read: Vec<InterpretedPage>, mended: bool) -> ExtractedDocument {
    let mut document = ExtractedDocument {
        meta: metadata::read_metadata(file),
        extractor: if mended {
            "built-in, mended"
        } else {
            "built-in"
        }
        .to_owned(),
        ..ExtractedDocument::default()
    };
    if mended {
        document.add_warning(
            None,
            "the file was damaged and was repaired; parts of it may be missing",
        );
    }
    let mut labels = metadata::read_page_labels(file, read.len());
    warn_unmapped_glyphs(&mut document, &read);
    warn_work_limit(&mut document, &read);
    let (mut pages, states): (Vec<Vec<LayoutLine>>, Vec<(bool, bool)>) = read
        .into_iter()
        .map(|page| (page.lines, (page.has_image, page.failed)))
        .unzip();
    let title = pages
        .first()
        .map(|first| title_text(first))
        .unwrap_or_default();
    let printed = remove_running_headers(&mut pages);
    let title_at = pages
        .first()
        .map(|first| find_title_lines(first))
        .unwrap_or_default();
    let kinds = classify_lines(&pages, &metadata::read_outline(file), &title_at);
    let known = collect_compounds(pages.iter().flatten());
    for (at, (lines, kinds)) in pages.iter().zip(&kinds).enumerate() {
        let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
        let (text, paragraphs) = build_paragraphs(lines, kinds, &known);
        add_headings_and_captions(&mut document, number, paragraphs);
        let label = labels
            .remove(&at)
            .or_else(|| printed.get(at).cloned().flatten());
        document.pages.push(DocumentPage {
            number,
            text,
            label,
        });
    }
    document.references = find_references(&pages, &kinds);
    complete_metadata(&mut document, title);
    for (at, (has_image, lost)) in states.into_iter().enumerate() {
        let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
        let empty = document
            .pages
            .get(at)
            .is_none_or(|page| page.text.is_empty());
        if lost {
            document.add_warning(Some(number), format!("page {number} could not be read"));
        } else if empty && has_image {
            document.add_warning(
                Some(number),
                format!("page {number} has no text, only a picture (scanned?)"),
            );
        } else if empty {
            document.add_warning(Some(number), format!("page {number} has no text"));
        }
    }
    document
}

/// Warns if the fonts do not map a good part of the glyphs to text.
fn warn_unmapped_glyphs(document: &mut ExtractedDocument, read: &[InterpretedPage]) {
    let unknown: usize = read.iter().map(|page| page.unmapped_glyphs).sum();
    let known: usize = read
        .iter()
        .flat_map(|page| &page.lines)
        .map(|line| line.text.len())
        .sum();
    if unknown * 12 > known {
        document.add_warning(
            None,
            format!(
                "{UNMAPPED_GLYPHS_WARNING} {unknown} of the letters to text; the text has gaps"
            ),
        );
    }
}

/// Warns if a page exceeded the work limit.
fn warn_work_limit(document: &mut ExtractedDocument, read: &[InterpretedPage]) {
    let mut pages = (1_u32..).zip(read).filter(|(_, page)| page.hit_work_limit);
    let Some((first, _)) = pages.next() else {
        return;
    };
    let others = match pages.count() {
        0 => String::new(),
        more => format!(" and {more} others"),
    };
    document.add_warning(
        Some(first),
        format!("{WORK_LIMIT_WARNING} on page {first}{others}; text may be missing there"),
    );
}

pub(super) fn warn_empty_pages(document: &mut ExtractedDocument) {
    let empty: Vec<u32> = document
        .pages
        .iter()
        .filter(|page| count_text_letters(&page.text) == 0)
        .map(|page| page.number)
        .collect();
    for number in empty {
        document.add_warning(
            Some(number),
            format!("page {number} has no text (scanned?)"),
        );
    }
}

fn title_text(first: &[LayoutLine]) -> Option<String> {
    let words: Vec<&str> = find_title_lines(first)
        .into_iter()
        .filter_map(|at| first.get(at))
        .map(|line| line.text.trim())
        .collect();
    let title = words.join(" ");
    // The mark of a footnote is not part of the title.
    let title = title
        .trim_end_matches(['*', '\u{2217}', '\u{2020}', '\u{2021}', ' '])
        .to_owned();
    (title.chars().filter(|c| c.is_alphabetic()).count() >= 3 && title.chars().count() <= 400)
        .then_some(title)
}

/// Collects the headings and captions of a page.
fn add_headings_and_captions(
    document: &mut ExtractedDocument,
    page: u32,
    paragraphs: Vec<LayoutParagraph>,
) {
    for paragraph in paragraphs {
        let LayoutParagraph { kind, text, offset } = paragraph;
        match kind {
            LayoutLineKind::Heading(level) => document.headings.push(Heading {
                level,
                title: text,
                page,
                offset,
            }),
            LayoutLineKind::Caption(kind) => {
                if let Some((_, label)) =
                    parse_caption_start(text.lines().next().unwrap_or_default(), true)
                {
                    document.captions.push(Caption {
                        kind,
                        label,
                        text,
                        page,
                        offset,
                    });
                }
            }
            LayoutLineKind::Body | LayoutLineKind::EntryStart => {}
        }
    }
}

/// Fills missing metadata from the first page.
fn complete_metadata(document: &mut ExtractedDocument, title: Option<String>) {
    let (doi, arxiv_id) = find_own_ids(document, 1);
    let meta = &mut document.meta;
    meta.title = meta.title.take().or(title);
    meta.doi = meta.doi.take().or(doi);
    meta.arxiv_id = meta.arxiv_id.take().or(arxiv_id);
}

/// The entries of the last section of that name that has a bibliography. A manual may have a section
/// about references, whose sentences have no years.
fn find_references(
    pages: &[Vec<LayoutLine>],
    kinds: &[Vec<LayoutLineKind>],
) -> Vec<DocumentReference> {
    let mut sections: Vec<PdfBibliographySection> = Vec::new();
    let mut open = false;
    for (at, (lines, kinds)) in pages.iter().zip(kinds).enumerate() {
        let page = u32::try_from(at + 1).unwrap_or(u32::MAX);
        let mut last: Option<&LayoutLine> = None;
        for (line, kind) in lines.iter().zip(kinds) {
            match kind {
                LayoutLineKind::Heading(_) if is_references(&line.text) => {
                    sections.push(PdfBibliographySection::default());
                    open = true;
                }
                LayoutLineKind::Heading(_) => open = false,
                // A figure that floats into the bibliography is not part of it.
                LayoutLineKind::Caption(_) => {}
                _ if open => {
                    if let Some(section) = sections.last_mut() {
                        section.push(line, last, page);
                    }
                }
                _ => {}
            }
            last = Some(line);
        }
    }
    sections
        .into_iter()
        .rev()
        .map(|section| parse_entries(&section.finish()))
        .find(|found| is_bibliography(found))
        .unwrap_or_default()
}

fn is_bibliography(found: &[DocumentReference]) -> bool {
    let sure = found
        .iter()
        .filter(|entry| entry.year.is_some() || entry.doi.is_some() || entry.arxiv_id.is_some())
        .count();
    !found.is_empty() && sure * 2 >= found.len()
}

/// The lines of a bibliography and the spacing above each, as a share of its size.
#[derive(Default)]
struct PdfBibliographySection {
    lines: Vec<EntryLine>,
    steps: Vec<Option<f32>>,
}

impl PdfBibliographySection {
    fn push(&mut self, line: &LayoutLine, last: Option<&LayoutLine>, page: u32) {
        let size = line.size.max(1.0);
        let step = last
            .filter(|last| last.block == line.block)
            .map(|last| (last.baseline - line.baseline) / size);
        self.steps.push(step);
        self.lines.push(EntryLine {
            text: line.text.trim().to_owned(),
            page,
            indent: (line.left - line.block_left) / size,
            is_set_apart: false,
        });
    }

    /// The lines, with those after more than the usual spacing marked.
    fn finish(mut self) -> Vec<EntryLine> {
        let mut usual: Vec<f32> = self.steps.iter().flatten().copied().collect();
        usual.sort_by(f32::total_cmp);
        let usual = usual.get(usual.len() / 4).copied().unwrap_or(1.2);
        for (line, step) in self.lines.iter_mut().zip(&self.steps) {
            line.is_set_apart = step.is_some_and(|step| step > 1.15 * usual);
        }
        if let Some(first) = self.lines.first_mut() {
            first.is_set_apart = true;
        }
        self.lines
    }
}
