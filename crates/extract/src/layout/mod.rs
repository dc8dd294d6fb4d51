//! From letters on a page to lines in reading order, and from lines to running text. It knows
//! places and sizes, not file formats.

mod bidi;
mod columns;
mod glyph_cleanup;
mod lines;
mod paragraphs;
mod running_headers;
mod words;

pub(crate) use glyph_cleanup::{GlyphReplacement, replace_glyph};
pub(crate) use paragraphs::{LayoutLineKind, LayoutParagraph, build_paragraphs, collect_compounds};
pub(crate) use running_headers::remove_running_headers;

/// Which way a letter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rotation {
    Upright,
    /// Reads upwards.
    Left,
    UpsideDown,
    /// Reads downwards.
    Right,
    /// Any other way, as a mark across the page.
    Skewed,
}

/// One letter and its place: `left` to `right` along the line of writing, `base` across it,
/// growing upwards.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Glyph {
    pub(crate) letter: char,
    pub(crate) left: f32,
    pub(crate) right: f32,
    pub(crate) baseline: f32,
    pub(crate) size: f32,
    pub(crate) bold: bool,
    pub(crate) rotation: Rotation,
}

/// One line of text in its column.
#[derive(Debug, Clone)]
pub(crate) struct LayoutLine {
    pub(crate) text: String,
    pub(crate) left: f32,
    pub(crate) right: f32,
    pub(crate) baseline: f32,
    pub(crate) size: f32,
    /// Whether most of it is bold.
    pub(crate) bold: bool,
    /// Which block of the page it stands in; blocks are numbered in reading order.
    pub(crate) block: u32,
    /// The sides of the block.
    pub(crate) block_left: f32,
    pub(crate) block_right: f32,
    pub(crate) rotation: Rotation,
}

/// The lines of a page in reading order: the way of writing that most letters share first.
pub(crate) fn build_lines(glyphs: &[Glyph]) -> Vec<LayoutLine> {
    let mut turns = [
        Rotation::Upright,
        Rotation::Left,
        Rotation::UpsideDown,
        Rotation::Right,
        Rotation::Skewed,
    ]
    .map(|turn| {
        let count = glyphs.iter().filter(|glyph| glyph.rotation == turn).count();
        (turn, count)
    });
    turns.sort_by_key(|(turn, count)| (*turn == Rotation::Skewed, std::cmp::Reverse(*count)));
    let mut lines = Vec::new();
    for (turn, count) in turns {
        if count == 0 {
            continue;
        }
        let words = words::build_words(glyphs.iter().filter(|glyph| glyph.rotation == turn));
        let segments = lines::build_segments(words);
        let first = lines.last().map_or(0, |line: &LayoutLine| line.block + 1);
        for (block, region) in (first..).zip(columns::order_blocks(segments)) {
            lines.extend(lines::build_block_lines(region, block, turn));
        }
    }
    lines
}
