//! Builds one page of text block by block, noting headings and captions as they come. It keeps
//! the law that a heading's words stand in the page's text at its offset.

use crate::layout::{Tidy, tidy};
use crate::structure::{caption_start, find_arxiv, find_doi, is_references, split_references};
use crate::{Caption, Document, Heading, Page};

/// The most headings of a document, and the most captions.
const MOST_NOTED: usize = 5_000;

/// A page in the making.
#[derive(Debug, Default)]
pub(super) struct Writer {
    text: String,
    characters: u32,
    number: u32,
    headings: Vec<Heading>,
    captions: Vec<Caption>,
}

impl Writer {
    pub(super) fn page(number: u32) -> Self {
        Self {
            number,
            ..Self::default()
        }
    }

    /// How many bytes have been written.
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Adds a block as it is; returns where it begins and what it became.
    fn push(&mut self, block: &str) -> Option<(u32, String)> {
        let block = cleaned(block);
        let block = block.trim_matches(['\n', ' ']);
        if block.trim().is_empty() {
            return None;
        }
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
            self.characters += 2;
        }
        let offset = self.characters;
        self.text.push_str(block);
        self.characters += u32::try_from(block.chars().count()).unwrap_or(0);
        Some((offset, block.to_owned()))
    }

    /// Adds a paragraph; a caption is noted.
    pub(super) fn paragraph(&mut self, text: &str, is_caption: bool) {
        let Some((offset, text)) = self.push(text) else {
            return;
        };
        let first = text.lines().next().unwrap_or_default();
        if let Some((kind, label)) = caption_start(first, is_caption) {
            self.captions.push(Caption {
                kind,
                label,
                text,
                page: self.number,
                offset,
            });
        }
    }

    /// Adds a heading.
    pub(super) fn heading(&mut self, level: u8, title: &str) {
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((offset, title)) = self.push(&title) {
            self.headings.push(Heading {
                level: level.clamp(1, 6),
                title,
                page: self.number,
                offset,
            });
        }
    }

    /// Puts the page into the document.
    pub(super) fn finish(self, document: &mut Document) {
        document.pages.push(Page {
            number: self.number,
            text: self.text,
            label: None,
        });
        take_in(&mut document.headings, self.headings);
        take_in(&mut document.captions, self.captions);
        if document.headings.len() == MOST_NOTED {
            document.warn(
                Some(self.number),
                format!("it has more headings than {MOST_NOTED}; the rest are text"),
            );
        }
    }
}

/// As many more as there is room for: a small file may hold a heading in every other byte.
fn take_in<T>(all: &mut Vec<T>, more: Vec<T>) {
    let room = MOST_NOTED.saturating_sub(all.len());
    all.extend(more.into_iter().take(room));
}

/// Odd letters made plain; newlines and tabs stay.
pub(super) fn cleaned(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\t' => clean.push(letter),
            _ => match tidy(letter) {
                Tidy::Nothing => {}
                Tidy::One(letter) => clean.push(letter),
                Tidy::Many(letters) => clean.push_str(letters),
            },
        }
    }
    clean
}

/// Splits the bibliography, takes the title from the first heading if nothing else gave one,
/// and looks for identifiers at the top.
pub(super) fn complete(document: &mut Document) {
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
        let mut entries = Vec::new();
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
            entries.extend(split_references(&part, page.number));
        }
        for (at, entry) in (1..).zip(&mut entries) {
            entry.number = at;
        }
        document.references = entries;
    }
    let top: String = document
        .pages
        .first()
        .map(|page| page.text.chars().take(6_000).collect())
        .unwrap_or_default();
    let meta = &mut document.meta;
    if meta.title.is_none() {
        meta.title = document
            .headings
            .first()
            .filter(|heading| heading.level == 1 && heading.page == 1)
            .map(|heading| heading.title.clone());
    }
    meta.doi = meta.doi.take().or_else(|| find_doi(&top));
    meta.arxiv_id = meta.arxiv_id.take().or_else(|| find_arxiv(&top));
}
