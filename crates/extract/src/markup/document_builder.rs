//! Builds a document block by block and records headings and captions. Invariant: a heading's words
//! stand in its page's text at its offset. A text without pages is divided into pages of book length,
//! which start at a heading or a paragraph where possible.

use crate::layout::{GlyphReplacement, replace_glyph};
use crate::structure::{
    find_own_ids, is_references, parse_caption_start, parse_entries, split_entry_lines,
};
use crate::{Caption, DocumentPage, ExtractedDocument, Heading};

/// Limit of headings, and of captions.
const MAX_HEADINGS: usize = 5_000;

/// Approximate maximum of a generated page.
const PAGE_CHARS: u32 = 4_000;

/// A heading starts a page once the one before has this many characters.
const HALF_PAGE_CHARS: u32 = PAGE_CHARS / 2;

/// Builds the pages of a document.
#[derive(Debug, Default)]
pub(super) struct DocumentBuilder {
    /// The finished pages.
    pages: Vec<DocumentPage>,
    /// The bytes on the finished pages.
    finished_bytes: usize,
    /// The text of the current page.
    text: String,
    characters: u32,
    number: u32,
    /// Whether a page ends when it is long enough.
    is_paged: bool,
    /// Whether the last block was a heading, which stays with the text below it.
    under_heading: bool,
    headings: Vec<Heading>,
    captions: Vec<Caption>,
    /// Whether the limit of headings was reached.
    more_headings: bool,
}

impl DocumentBuilder {
    /// One page of any length.
    pub(super) fn single_page(number: u32) -> Self {
        Self {
            number,
            ..Self::default()
        }
    }

    /// Generated pages; the first has this number.
    pub(super) fn paged(first: u32) -> Self {
        Self {
            is_paged: true,
            ..Self::single_page(first)
        }
    }

    /// The bytes written so far.
    pub(super) fn len(&self) -> usize {
        self.finished_bytes + self.text.len()
    }

    fn start_page(&mut self) {
        let text = std::mem::take(&mut self.text);
        self.finished_bytes += text.len();
        self.pages.push(DocumentPage {
            number: self.number,
            text,
            label: None,
        });
        self.number += 1;
        self.characters = 0;
        self.under_heading = false;
    }

    /// Starts the next page if this one is long enough and may end here.
    fn start_page_if(&mut self, is_long: bool) {
        let may_be = !self.under_heading || self.characters >= PAGE_CHARS;
        if self.is_paged && is_long && may_be && self.characters > 0 {
            self.start_page();
        }
    }

    /// Adds a block; returns its offset and its cleaned text.
    fn push_block(&mut self, block: &str) -> Option<(u32, String)> {
        let block = clean_text(block);
        let block = block.trim_matches(['\n', ' ']);
        if block.trim().is_empty() {
            return None;
        }
        let length = u32::try_from(block.chars().count()).unwrap_or(0);
        self.start_page_if(self.characters.saturating_add(length) > PAGE_CHARS);
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
            self.characters += 2;
        }
        let offset = self.characters;
        self.text.push_str(block);
        self.characters += length;
        self.under_heading = false;
        Some((offset, block.to_owned()))
    }

    /// Adds a paragraph and records a caption. A paragraph longer than a page continues on the next.
    pub(super) fn add_paragraph(&mut self, text: &str, is_caption: bool) {
        let (first, mut rest) = self.split_at_page(text);
        self.add_page_paragraph(first, is_caption);
        while !rest.is_empty() {
            self.start_page();
            let (more, after) = self.split_at_page(rest);
            self.push_block(more);
            rest = after;
        }
    }

    /// Splits a paragraph at the end of the page.
    fn split_at_page<'t>(&self, text: &'t str) -> (&'t str, &'t str) {
        let most = PAGE_CHARS as usize;
        let end = text.char_indices().nth(most).map(|(end, _)| end);
        match end.filter(|_| self.is_paged) {
            Some(end) => text.split_at(find_page_break(text.get(..end).unwrap_or(text))),
            None => (text, ""),
        }
    }

    fn add_page_paragraph(&mut self, text: &str, is_caption: bool) {
        let Some((offset, text)) = self.push_block(text) else {
            return;
        };
        let first = text.lines().next().unwrap_or_default();
        if self.captions.len() < MAX_HEADINGS
            && let Some((kind, label)) = parse_caption_start(first, is_caption)
        {
            self.captions.push(Caption {
                kind,
                label,
                text,
                page: self.number,
                offset,
            });
        }
    }

    pub(super) fn add_heading(&mut self, level: u8, title: &str) {
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        self.start_page_if(self.characters >= HALF_PAGE_CHARS);
        if let Some((offset, title)) = self.push_block(&title) {
            self.under_heading = true;
            if self.headings.len() >= MAX_HEADINGS {
                self.more_headings = true;
                return;
            }
            self.headings.push(Heading {
                level: level.clamp(1, 6),
                title,
                page: self.number,
                offset,
            });
        }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Moves the pages into the document.
    pub(super) fn finish(mut self, document: &mut ExtractedDocument) {
        if self.pages.is_empty() || !self.text.is_empty() {
            self.start_page();
        }
        let last = self.pages.last().map(|page| page.number);
        document.pages.append(&mut self.pages);
        let full = document.headings.len() == MAX_HEADINGS;
        let all_taken =
            extend_bounded(&mut document.headings, self.headings) && !self.more_headings;
        extend_bounded(&mut document.captions, self.captions);
        // Reported once, on the page where it starts.
        if !all_taken && !full {
            document.add_warning(
                last,
                format!("it has more than {MAX_HEADINGS} headings; the rest is plain text"),
            );
        }
    }
}

/// The position to split a text that continues on the next page: after a line, a sentence or a word
/// in its second half, or at its end.
fn find_page_break(text: &str) -> usize {
    let second_half = text.len() / 2;
    let after = |at: usize, mark: &str| at + mark.len();
    let marks: [&[&str]; 3] = [&["\n"], &[". ", "? ", "! ", "\u{3002}"], &[" "]];
    let cuts = marks.iter().filter_map(|marks| {
        let last = |mark: &&str| text.rfind(mark).map(|at| after(at, mark));
        marks.iter().filter_map(last).max()
    });
    let mut good = cuts.filter(|cut| *cut > second_half);
    good.next().unwrap_or(text.len())
}

/// Adds items up to the limit and returns whether all fit: a small file may have a heading in every
/// other byte.
fn extend_bounded<T>(all: &mut Vec<T>, more: Vec<T>) -> bool {
    let room = MAX_HEADINGS.saturating_sub(all.len());
    let fits = more.len() <= room;
    all.extend(more.into_iter().take(room));
    fits
}

/// Normalizes characters; newlines and tabs stay.
pub(super) fn clean_text(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\t' => clean.push(letter),
            // A soft hyphen is not a hyphen unless the word is broken there.
            '\u{ad}' => {}
            _ => match replace_glyph(letter) {
                GlyphReplacement::Drop => {}
                GlyphReplacement::Char(letter) => clean.push(letter),
                GlyphReplacement::Text(letters) => clean.push_str(letters),
            },
        }
    }
    clean
}

/// Splits the bibliography, takes the title from the first heading if there is no other, and looks
/// for identifiers at the top.
pub(super) fn complete_document(document: &mut ExtractedDocument) {
    let found = document
        .headings
        .iter()
        .rev()
        .find(|heading| is_references(&heading.title))
        .cloned();
    if let Some(heading) = found {
        let after = |other: &&Heading| (other.page, other.offset) > (heading.page, heading.offset);
        let end = document
            .headings
            .iter()
            .find(after)
            .map(|next| (next.page, next.offset));
        let mut lines = Vec::new();
        for page in document
            .pages
            .iter()
            .filter(|page| page.number >= heading.page)
        {
            let skip = if page.number == heading.page {
                heading.offset as usize + heading.title.chars().count()
            } else {
                0
            };
            let stop = match end {
                Some((on, offset)) if on == page.number => offset as usize,
                Some((on, _)) if on < page.number => break,
                _ => usize::MAX,
            };
            let part: String = page.text.chars().take(stop).skip(skip).collect();
            lines.extend(split_entry_lines(&part, page.number));
        }
        document.references = parse_entries(&lines);
    }
    let (doi, arxiv_id) = find_own_ids(document, 3);
    let meta = &mut document.meta;
    if meta.title.is_none() {
        meta.title = document
            .headings
            .first()
            .filter(|heading| heading.level == 1 && heading.page == 1)
            .map(|heading| heading.title.clone());
    }
    meta.doi = meta.doi.take().or(doi);
    meta.arxiv_id = meta.arxiv_id.take().or(arxiv_id);
}
