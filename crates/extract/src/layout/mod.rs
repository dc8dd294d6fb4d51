//! From letters on a page to lines in reading order, and from lines to running text. It knows
//! places and sizes, not file formats.

mod columns;
mod direction;
mod flow;
mod furniture;
mod letters;
mod rows;
mod words;

pub(crate) use flow::{Kind, Paragraph, compounds, flow};
pub(crate) use furniture::take_out;
pub(crate) use letters::{Tidy, tidy};

/// Which way a letter stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    Upright,
    /// Reads upwards.
    Left,
    Over,
    /// Reads downwards.
    Right,
    /// Any other way, as a mark across the page.
    Aslant,
}

/// One letter and its place: `left` to `right` along the line of writing, `base` across it,
/// growing upwards.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Glyph {
    pub(crate) letter: char,
    pub(crate) left: f32,
    pub(crate) right: f32,
    pub(crate) base: f32,
    pub(crate) size: f32,
    pub(crate) bold: bool,
    pub(crate) turn: Turn,
}

/// One line of text in its column.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) text: String,
    pub(crate) left: f32,
    pub(crate) right: f32,
    pub(crate) base: f32,
    pub(crate) size: f32,
    /// Whether most of it is bold.
    pub(crate) bold: bool,
    /// Which block of the page it stands in; blocks are numbered in reading order.
    pub(crate) block: u32,
    /// The sides of the block.
    pub(crate) block_left: f32,
    pub(crate) block_right: f32,
    pub(crate) turn: Turn,
}

/// The lines of a page in reading order: the way of writing that most letters share first.
pub(crate) fn lines(glyphs: &[Glyph]) -> Vec<Line> {
    let mut turns = [
        Turn::Upright,
        Turn::Left,
        Turn::Over,
        Turn::Right,
        Turn::Aslant,
    ]
    .map(|turn| {
        let count = glyphs.iter().filter(|glyph| glyph.turn == turn).count();
        (turn, count)
    });
    turns.sort_by_key(|(turn, count)| (*turn == Turn::Aslant, std::cmp::Reverse(*count)));
    let mut lines = Vec::new();
    for (turn, count) in turns {
        if count == 0 {
            continue;
        }
        let words = words::words(glyphs.iter().filter(|glyph| glyph.turn == turn));
        let segments = rows::segments(words);
        let first = lines.last().map_or(0, |line: &Line| line.block + 1);
        for (block, region) in (first..).zip(columns::in_order(segments)) {
            lines.extend(rows::lines(region, block, turn));
        }
    }
    lines
}
