//! Layout: from glyphs on a page to lines in reading order, and from lines to paragraphs. Knows
//! positions and sizes, not file formats.

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

/// The rotation of a glyph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rotation {
    Upright,
    /// Reads upwards.
    Left,
    UpsideDown,
    /// Reads downwards.
    Right,
    /// Any other angle, such as a watermark.
    Skewed,
}

/// A glyph and its position: `left` to `right` along the baseline, `base` across it, growing
/// upwards.
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

/// A line of text in its column.
#[derive(Debug, Clone)]
pub(crate) struct LayoutLine {
    pub(crate) text: String,
    pub(crate) left: f32,
    pub(crate) right: f32,
    pub(crate) baseline: f32,
    pub(crate) size: f32,
    /// Whether most of it is bold.
    pub(crate) bold: bool,
    /// The block of the page; blocks are numbered in reading order.
    pub(crate) block: u32,
    /// The edges of the block.
    pub(crate) block_left: f32,
    pub(crate) block_right: f32,
    pub(crate) rotation: Rotation,
}

/// Returns the lines of a page in reading order, the most common rotation first.
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
