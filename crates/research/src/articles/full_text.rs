//! The text of an article: its pages, and what stands where in them.

use deliberate_core::{Change, StoredDocument, Timestamp};
use deliberate_extract::{Caption, DocumentReference, ExtractedDocument, Heading};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ArticleRecord;

/// The kind of item a text is; its id is its article's.
pub const FULL_TEXT: &str = "text";

/// The whole text of an article.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FullText {
    /// Page by page; the first is page 1.
    pub pages: Vec<String>,
    /// What stands where.
    pub outline: Outline,
    /// Which version it is; 0 for a new one.
    pub version: i64,
}

/// What stands where in a text.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outline {
    /// Headings, in order.
    #[serde(default)]
    pub headings: Vec<Heading>,
    /// Captions of figures and tables, in order.
    #[serde(default)]
    pub captions: Vec<Caption>,
    /// Its bibliography.
    #[serde(default)]
    pub references: Vec<DocumentReference>,
}

#[cfg(test)]
impl FullText {
    /// A text of one page with a heading where a line begins with `#`, as deep as it has of them.
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
    /// How many headings, captions and references there are.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let (headings, captions) = (self.headings.len(), self.captions.len());
        (headings, captions, self.references.len())
    }
}

/// A stretch of a text: `end` is after its last character. Characters, not bytes, counted from the
/// beginning of its page.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct TextSpan {
    /// The page it begins on, from 1.
    pub page: u32,
    /// The character it begins at, from 0.
    pub start: u32,
    /// The page it ends on.
    pub end_page: u32,
    /// The character after its last, on that page.
    pub end: u32,
}

/// Title and abstract of an article as a text of one page, for one that was not read yet.
pub fn abstract_text(kept: &ArticleRecord) -> FullText {
    let summary = kept.article.summary.as_deref().unwrap_or("");
    FullText {
        pages: vec![format!("{}\n\n{summary}", kept.article.title)],
        ..FullText::default()
    }
}

impl FullText {
    /// A document that was read. Characters that would set pages apart, or end a text early, become
    /// spaces: places count characters, so none may go.
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

    /// The pages as one text. They are set apart by a form feed, which no page holds.
    pub fn join_pages(&self) -> String {
        self.pages.join("\u{c}")
    }

    /// Where each page begins in [`FullText::join_pages`], in bytes.
    pub fn page_starts(&self) -> Vec<usize> {
        let mut at = 0;
        let starts = self.pages.iter().map(|page| {
            let start = at;
            at += page.len() + 1;
            start
        });
        starts.collect()
    }

    /// Where each heading begins in [`FullText::join_pages`], in bytes; nothing for one whose page is not
    /// there. One pass over the text, however many headings it has.
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

    /// How many characters it has.
    pub fn char_count(&self) -> u64 {
        self.pages
            .iter()
            .map(|page| page.chars().count() as u64)
            .sum()
    }

    /// The place of a stretch of [`FullText::join_pages`], given in bytes.
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

    /// The page of a byte of the whole, and its character there.
    fn page_position(&self, byte: usize) -> Option<(u32, u32)> {
        let starts = self.page_starts();
        let at = starts
            .partition_point(|&start| start <= byte)
            .checked_sub(1)?;
        let before = self.pages.get(at)?.get(..byte - starts.get(at)?)?;
        let character = u32::try_from(before.chars().count()).ok()?;
        Some((u32::try_from(at).ok()? + 1, character))
    }

    /// What stands at a place, if there is such a place.
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

    /// The change that keeps it as the text of the article of that id.
    pub fn put_change(self, id: &str, now: Timestamp) -> Change {
        Change::PutItem {
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
