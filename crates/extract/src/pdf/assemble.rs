//! Lines of pages to a document: furniture out, headings and captions told, text run together,
//! the bibliography split, and warnings where a page gave nothing.

use pdf_extract::Document as File;

use super::{ReadPage, about, letters_of};
use crate::layout::{Kind, Line, Paragraph, compounds, flow, take_out};
use crate::structure::{
    EntryLine, caption_start, entries, is_references, kinds, own_ids, title_lines,
};
use crate::{Caption, Document, Heading, Page, Reference};

/// How the warning of unnamed letters begins.
pub(super) const GAPS: &str = "the fonts do not say what";
/// How the warning of pages that could not be followed to their end begins.
pub(super) const OVERDRAWN: &str = "more is drawn than can be followed";

/// Makes the document.
pub(super) fn assemble(file: &File, read: Vec<ReadPage>, mended: bool) -> Document {
    let mut document = Document {
        meta: about::meta(file),
        extractor: if mended {
            "built-in, mended"
        } else {
            "built-in"
        }
        .to_owned(),
        ..Document::default()
    };
    if mended {
        document.warn(
            None,
            "the file was damaged and was mended; parts of it may be missing",
        );
    }
    let mut labels = about::labels(file, read.len());
    warn_of_gaps(&mut document, &read);
    warn_of_overdrawn(&mut document, &read);
    let (mut pages, states): (Vec<Vec<Line>>, Vec<(bool, bool)>) = read
        .into_iter()
        .map(|page| (page.lines, (page.has_image, page.lost)))
        .unzip();
    let title = pages
        .first()
        .map(|first| title_text(first))
        .unwrap_or_default();
    let printed = take_out(&mut pages);
    let title_at = pages
        .first()
        .map(|first| title_lines(first))
        .unwrap_or_default();
    let kinds = kinds(&pages, &about::outline(file), &title_at);
    let known = compounds(pages.iter().flatten());
    for (at, (lines, kinds)) in pages.iter().zip(&kinds).enumerate() {
        let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
        let (text, paragraphs) = flow(lines, kinds, &known);
        take_parts(&mut document, number, paragraphs);
        let label = labels
            .remove(&at)
            .or_else(|| printed.get(at).cloned().flatten());
        document.pages.push(Page {
            number,
            text,
            label,
        });
    }
    document.references = references(&pages, &kinds);
    complete_meta(&mut document, title);
    for (at, (has_image, lost)) in states.into_iter().enumerate() {
        let number = u32::try_from(at + 1).unwrap_or(u32::MAX);
        let empty = document
            .pages
            .get(at)
            .is_none_or(|page| page.text.is_empty());
        if lost {
            document.warn(Some(number), format!("page {number} could not be read"));
        } else if empty && has_image {
            document.warn(
                Some(number),
                format!("page {number} has no text, only a picture (scanned?)"),
            );
        } else if empty {
            document.warn(Some(number), format!("page {number} has no text"));
        }
    }
    document
}

/// Warns if a good part of the letters are not named by their fonts.
fn warn_of_gaps(document: &mut Document, read: &[ReadPage]) {
    let unknown: usize = read.iter().map(|page| page.unknown).sum();
    let known: usize = read
        .iter()
        .flat_map(|page| &page.lines)
        .map(|line| line.text.len())
        .sum();
    if unknown * 12 > known {
        document.warn(
            None,
            format!("{GAPS} {unknown} of the letters are; the text has gaps"),
        );
    }
}

/// Warns if a page was left before its end.
fn warn_of_overdrawn(document: &mut Document, read: &[ReadPage]) {
    let mut pages = (1_u32..).zip(read).filter(|(_, page)| page.overdrawn);
    let Some((first, _)) = pages.next() else {
        return;
    };
    let others = match pages.count() {
        0 => String::new(),
        more => format!(" and {more} others"),
    };
    document.warn(
        Some(first),
        format!("{OVERDRAWN} on page {first}{others}; text may be missing there"),
    );
}

/// Warns of each page without text.
pub(super) fn warn_of_empty_pages(document: &mut Document) {
    let empty: Vec<u32> = document
        .pages
        .iter()
        .filter(|page| letters_of(&page.text) == 0)
        .map(|page| page.number)
        .collect();
    for number in empty {
        document.warn(
            Some(number),
            format!("page {number} has no text (scanned?)"),
        );
    }
}

fn title_text(first: &[Line]) -> Option<String> {
    let words: Vec<&str> = title_lines(first)
        .into_iter()
        .filter_map(|at| first.get(at))
        .map(|line| line.text.trim())
        .collect();
    let title = words.join(" ");
    // The mark of a footnote is no part of a title.
    let title = title
        .trim_end_matches(['*', '\u{2217}', '\u{2020}', '\u{2021}', ' '])
        .to_owned();
    (title.chars().filter(|c| c.is_alphabetic()).count() >= 3 && title.chars().count() <= 400)
        .then_some(title)
}

/// The headings and captions among a page's paragraphs.
fn take_parts(document: &mut Document, page: u32, paragraphs: Vec<Paragraph>) {
    for paragraph in paragraphs {
        let Paragraph { kind, text, offset } = paragraph;
        match kind {
            Kind::Heading(level) => document.headings.push(Heading {
                level,
                title: text,
                page,
                offset,
            }),
            Kind::Caption(kind) => {
                if let Some((_, label)) =
                    caption_start(text.lines().next().unwrap_or_default(), true)
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
            Kind::Body | Kind::Opens => {}
        }
    }
}

/// What the first page says where the file's own record is silent.
fn complete_meta(document: &mut Document, title: Option<String>) {
    let (doi, arxiv_id) = own_ids(document, 1);
    let meta = &mut document.meta;
    meta.title = meta.title.take().or(title);
    meta.doi = meta.doi.take().or(doi);
    meta.arxiv_id = meta.arxiv_id.take().or(arxiv_id);
}

/// The entries of the last section of that name that holds a bibliography. A manual may have a
/// section about references; its sentences have no years.
fn references(pages: &[Vec<Line>], kinds: &[Vec<Kind>]) -> Vec<Reference> {
    let mut sections: Vec<Section> = Vec::new();
    let mut open = false;
    for (at, (lines, kinds)) in pages.iter().zip(kinds).enumerate() {
        let page = u32::try_from(at + 1).unwrap_or(u32::MAX);
        let mut last: Option<&Line> = None;
        for (line, kind) in lines.iter().zip(kinds) {
            match kind {
                Kind::Heading(_) if is_references(&line.text) => {
                    sections.push(Section::default());
                    open = true;
                }
                Kind::Heading(_) => open = false,
                // A figure that floated into the bibliography is no part of it.
                Kind::Caption(_) => {}
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
        .map(|section| entries(&section.finished()))
        .find(|found| is_bibliography(found))
        .unwrap_or_default()
}

fn is_bibliography(found: &[Reference]) -> bool {
    let sure = found
        .iter()
        .filter(|entry| entry.year.is_some() || entry.doi.is_some() || entry.arxiv_id.is_some())
        .count();
    !found.is_empty() && sure * 2 >= found.len()
}

/// The lines of a bibliography and the step above each, as a share of its size.
#[derive(Default)]
struct Section {
    lines: Vec<EntryLine>,
    steps: Vec<Option<f32>>,
}

impl Section {
    fn push(&mut self, line: &Line, last: Option<&Line>, page: u32) {
        let size = line.size.max(1.0);
        let step = last
            .filter(|last| last.block == line.block)
            .map(|last| (last.base - line.base) / size);
        self.steps.push(step);
        self.lines.push(EntryLine {
            text: line.text.trim().to_owned(),
            page,
            indent: (line.left - line.block_left) / size,
            apart: false,
        });
    }

    /// The lines, with those set off by more than the usual step marked as such.
    fn finished(mut self) -> Vec<EntryLine> {
        let mut usual: Vec<f32> = self.steps.iter().flatten().copied().collect();
        usual.sort_by(f32::total_cmp);
        let usual = usual.get(usual.len() / 4).copied().unwrap_or(1.2);
        for (line, step) in self.lines.iter_mut().zip(&self.steps) {
            line.apart = step.is_some_and(|step| step > 1.15 * usual);
        }
        if let Some(first) = self.lines.first_mut() {
            first.apart = true;
        }
        self.lines
    }
}
