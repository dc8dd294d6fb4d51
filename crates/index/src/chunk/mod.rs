//! Splits a document's text into passages: each within one section, split between sentences, with
//! the exact byte range. Knows nothing of the index.

mod pack;
mod sentences;

use crate::Passage;
use pack::pack;
use sentences::units;

/// Upper limit of the passage size, so that sums of tokens cannot overflow.
const MAX_TOKENS: usize = 1_000_000;

/// The size of passages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkOptions {
    /// The maximum of a passage in model tokens (estimated from the words). 350 is about 260 words:
    /// small enough that its vector has one topic and a citation is precise, large enough to answer
    /// from. Clamped to 1 to 1,000,000.
    pub tokens: usize,
    /// The maximum overlap with the passage before, in tokens, in whole sentences.
    pub overlap: usize,
}

impl Default for ChunkOptions {
    fn default() -> Self {
        Self {
            tokens: 350,
            overlap: 60,
        }
    }
}

/// A heading in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionHeading {
    /// The depth; 1 is the outermost.
    pub level: u8,
    pub title: String,
    /// The byte offset in the text.
    pub start: usize,
}

/// Splits a text into passages. No passage crosses a heading; each is exactly `text[start..end]`.
/// The heading line itself is in no passage but in their section path. `page_starts` holds the
/// byte offset of each page in order; without any, everything is page 1.
pub fn chunk(
    text: &str,
    headings: &[SectionHeading],
    page_starts: &[usize],
    options: ChunkOptions,
) -> Vec<Passage> {
    let tokens = options.tokens.clamp(1, MAX_TOKENS);
    let options = ChunkOptions {
        tokens,
        overlap: options.overlap.min(tokens / 2),
    };
    let page_of = |byte: usize| {
        let pages = page_starts.partition_point(|start| *start <= byte);
        u32::try_from(pages.max(1)).unwrap_or(u32::MAX)
    };
    let mut passages = Vec::new();
    for region in regions(text, headings) {
        let units = units(text, region.start, region.end, options.tokens);
        for (start, end) in pack(&units, options) {
            let Some(piece) = text.get(start..end) else {
                continue;
            };
            passages.push(Passage {
                number: u32::try_from(passages.len()).unwrap_or(u32::MAX),
                text: piece.to_owned(),
                section: region.path.clone(),
                page: page_of(start),
                end_page: page_of(end.saturating_sub(1)),
                start: start as u64,
                end: end as u64,
            });
        }
    }
    passages
}

/// The text under one heading.
struct SectionRegion {
    path: Vec<String>,
    start: usize,
    end: usize,
}

fn regions(text: &str, headings: &[SectionHeading]) -> Vec<SectionRegion> {
    let mut headings: Vec<(usize, &SectionHeading)> = headings
        .iter()
        .filter(|heading| heading.start < text.len())
        .map(|heading| (text.floor_char_boundary(heading.start), heading))
        .collect();
    headings.sort_by_key(|(start, _)| *start);
    let mut above: Vec<&SectionHeading> = Vec::new();
    let mut regions = vec![SectionRegion {
        path: Vec::new(),
        start: 0,
        end: text.len(),
    }];
    for (start, heading) in headings {
        if let Some(last) = regions.last_mut() {
            last.end = start.max(last.start);
        }
        above.retain(|other| other.level < heading.level);
        above.push(heading);
        regions.push(SectionRegion {
            path: above.iter().map(|heading| heading.title.clone()).collect(),
            start: skip_heading(text, start, &heading.title),
            end: text.len(),
        });
    }
    regions.retain(|region| region.start < region.end);
    regions
}

/// The offset where the text under a heading starts: after its line, if that line is the heading.
fn skip_heading(text: &str, start: usize, title: &str) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    let line = rest.split_inclusive('\n').next().unwrap_or_default();
    let title = title.trim();
    if !title.is_empty() && line.trim().ends_with(title) {
        start + line.len()
    } else {
        start
    }
}

#[cfg(test)]
mod tests {
    use super::{ChunkOptions, chunk};

    #[test]
    fn absurd_sizes_are_taken_for_the_nearest() {
        let text = "One here. Two.\n\nIt ends.";
        for (tokens, overlap, expected) in [
            (usize::MAX, usize::MAX, 1),
            (usize::MAX, 0, 1),
            (0, usize::MAX, 5),
        ] {
            let passages = chunk(text, &[], &[], ChunkOptions { tokens, overlap });
            assert_eq!(passages.len(), expected, "{tokens} {overlap}");
        }
    }
}
