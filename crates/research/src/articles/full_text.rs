//! The full text of an article: its pages and outline.

use deliberate_core::{Change, StoredDocument, Timestamp};
use deliberate_extract::{Caption, DocumentReference, ExtractedDocument, Heading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ArticleRecord;

/// The document kind of a full text; its ID is that of the article.
pub const FULL_TEXT: &str = "text";

/// The full text of an article.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FullText {
    /// The pages; the first is page 1.
    pub pages: Vec<String>,
    pub outline: Outline,
    /// The stored version; 0 for a new text.
    pub version: i64,
}

/// The positions of headings, captions and references in a text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outline {
    #[serde(default)]
    pub headings: Vec<Heading>,
    /// Captions of figures and tables, in order.
    #[serde(default)]
    pub captions: Vec<Caption>,
    /// The entries of the bibliography.
    #[serde(default)]
    pub references: Vec<DocumentReference>,
}

#[cfg(test)]
impl FullText {
    /// A text of one page whose headings are the lines that begin with `#`, one `#` per level.
    pub(crate) fn from_lines(page: &str) -> Self {
        let mut headings = Vec::new();
        let mut offset = 0;
        for line in page.lines() {
            let title = line.trim_start_matches('#');
            let level = line.len() - title.len();
            if level > 0 {
                headings.push(Heading {
                    level: u8::try_from(level).unwrap(),
                    title: title.to_owned(),
                    page: 1,
                    offset,
                });
            }
            offset += u32::try_from(line.chars().count()).unwrap() + 1;
        }
        let outline = Outline {
            headings,
            ..Outline::default()
        };
        Self {
            pages: vec![page.to_owned()],
            outline,
            version: 0,
        }
    }
}

impl Outline {
    /// The numbers of headings, captions and references.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let (headings, captions) = (self.headings.len(), self.captions.len());
        (headings, captions, self.references.len())
    }
}

/// A range of a text. Positions count characters, not bytes, from the start of the page; `end` is
/// exclusive.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct TextSpan {
    /// The first page, from 1.
    pub page: u32,
    /// The first character, from 0.
    pub start: u32,
    /// The last page.
    pub end_page: u32,
    /// The end on that page, exclusive.
    pub end: u32,
}

/// The title and abstract as a text of one page, for an article without a full text.
pub fn abstract_text(kept: &ArticleRecord) -> FullText {
    let summary = kept.article.summary.as_deref().unwrap_or("");
    FullText {
        pages: vec![format!("{}\n\n{summary}", kept.article.title)],
        ..FullText::default()
    }
}

impl FullText {
    /// Converts an extracted document. Form feeds and NUL characters become spaces rather than
    /// being removed, because positions count characters.
    pub fn from_document(document: ExtractedDocument) -> Self {
        let plain = |text: String| text.replace(['\u{c}', '\0'], " ");
        Self {
            pages: document
                .pages
                .into_iter()
                .map(|page| plain(page.text))
                .collect(),
            outline: Outline {
                headings: document.headings,
                captions: document.captions,
                references: document.references,
            },
            version: 0,
        }
    }

    /// The pages as one text, separated by form feeds, which no page contains.
    pub fn join_pages(&self) -> String {
        self.pages.join("\u{c}")
    }

    /// The byte offsets of the pages in [`FullText::join_pages`].
    pub fn page_starts(&self) -> Vec<usize> {
        let mut at = 0;
        let starts = self.pages.iter().map(|page| {
            let start = at;
            at += page.len() + 1;
            start
        });
        starts.collect()
    }

    /// The byte offsets of the headings in [`FullText::join_pages`]; `None` for a heading on a
    /// missing page. It takes one pass over the text, however many headings there are.
    pub(crate) fn heading_starts(&self) -> Vec<Option<usize>> {
        let starts = self.page_starts();
        let headings = &self.outline.headings;
        let mut order: Vec<(usize, &Heading)> = headings.iter().enumerate().collect();
        order.sort_by_key(|(_, it)| (it.page, it.offset));
        let mut found = vec![None; headings.len()];
        let (mut page, mut character, mut byte) = (0, 0, 0);
        for (at, heading) in order {
            let number = usize::try_from(heading.page).ok();
            let index = number.and_then(|it| it.checked_sub(1));
            let Some((start, text)) =
                index.and_then(|it| Some((starts.get(it)?, self.pages.get(it)?)))
            else {
                continue;
            };
            if heading.page != page {
                (page, character, byte) = (heading.page, 0, 0);
            }
            let rest = text.get(byte..).unwrap_or_default();
            let ahead = (heading.offset - character) as usize;
            let step = rest.char_indices().nth(ahead);
            byte += step.map_or(rest.len(), |(step, _)| step);
            character = heading.offset;
            if let Some(slot) = found.get_mut(at) {
                *slot = Some(start + byte);
            }
        }
        found
    }

    /// The number of characters.
    pub fn char_count(&self) -> u64 {
        self.pages
            .iter()
            .map(|page| page.chars().count() as u64)
            .sum()
    }

    /// Converts a byte range of [`FullText::join_pages`] to a span.
    pub fn span(&self, start: usize, end: usize) -> Option<TextSpan> {
        let (page, first) = self.page_position(start)?;
        let (end_page, after) = self.page_position(end)?;
        Some(TextSpan {
            page,
            start: first,
            end_page,
            end: after,
        })
    }

    /// Converts a byte offset in the joined text to a page and a character.
    fn page_position(&self, byte: usize) -> Option<(u32, u32)> {
        let starts = self.page_starts();
        let at = starts
            .partition_point(|&start| start <= byte)
            .checked_sub(1)?;
        let before = self.pages.get(at)?.get(..byte - starts.get(at)?)?;
        let character = u32::try_from(before.chars().count()).ok()?;
        Some((u32::try_from(at).ok()? + 1, character))
    }

    /// The text of a span, if it exists.
    pub fn excerpt(&self, place: &TextSpan) -> Option<String> {
        let page = |number: u32| {
            self.pages
                .get(usize::try_from(number).ok()?.checked_sub(1)?)
        };
        let cut = |text: &str, from: u32, to: Option<u32>| -> Option<String> {
            let from = usize::try_from(from).ok()?;
            let most = match to {
                Some(to) => usize::try_from(to).ok()?.checked_sub(from)?,
                None => usize::MAX,
            };
            let stretch: String = text.chars().skip(from).take(most).collect();
            (to.is_none() || stretch.chars().count() == most).then_some(stretch)
        };
        if place.page == place.end_page {
            return cut(page(place.page)?, place.start, Some(place.end));
        }
        let mut all = vec![cut(page(place.page)?, place.start, None)?];
        for number in place.page.checked_add(1)?..place.end_page {
            all.push(page(number)?.clone());
        }
        all.push(cut(page(place.end_page)?, 0, Some(place.end))?);
        (place.page < place.end_page).then(|| all.join("\u{c}"))
    }

    /// The change that stores the text for the article with this ID.
    pub fn put_change(self, id: &str, now: Timestamp) -> Change {
        Change::PutDocument {
            item: StoredDocument {
                kind: FULL_TEXT.to_owned(),
                id: id.to_owned(),
                version: self.version,
                seq: 0,
                body: serde_json::to_value(&self.outline).unwrap_or_default(),
                keys: Vec::new(),
                created_at: now,
                updated_at: now,
            },
            parts: Some(self.pages),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(pages: &[&str]) -> FullText {
        FullText {
            pages: pages.iter().map(|&it| it.to_owned()).collect(),
            ..FullText::default()
        }
    }

    #[test]
    fn a_place_and_its_bytes_are_the_same_stretch() {
        let text = text(&["été is", "", "two"]);
        let whole = text.join_pages();
        let bounds: Vec<usize> = (0..=whole.len())
            .filter(|&it| whole.is_char_boundary(it))
            .collect();
        for &start in &bounds {
            for &end in bounds.iter().filter(|&&it| it >= start) {
                let place = text.span(start, end).expect("it is within the text");
                assert_eq!(
                    text.excerpt(&place).as_deref(),
                    whole.get(start..end),
                    "{start}..{end}"
                );
            }
        }
    }

    #[test]
    fn a_place_that_is_not_there_holds_nothing() {
        let text = text(&["one", "two"]);
        let at = |page, start, end_page, end| {
            text.excerpt(&TextSpan {
                page,
                start,
                end_page,
                end,
            })
        };
        assert_eq!(at(1, 0, 1, 4), None);
        assert_eq!(at(0, 0, 1, 1), None);
        assert_eq!(at(2, 0, 1, 1), None);
        assert_eq!(at(1, 2, 1, 1), None);
        assert_eq!(at(2, 0, 3, 1), None);
        assert_eq!(at(1, 0, 2, 3).as_deref(), Some("one\u{c}two"));
    }
}
