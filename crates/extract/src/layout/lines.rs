//! Builds rows from words, segments from rows split at wide gaps, and lines from segments.

use super::{LayoutLine, Rotation, bidi::order_words, words::LayoutWord};

/// Adjacent words of a row without a wide gap between them.
#[derive(Debug)]
pub(super) struct RowSegment {
    pub(super) words: Vec<LayoutWord>,
    pub(super) left: f32,
    pub(super) right: f32,
    pub(super) baseline: f32,
    /// The row of the page, from the top.
    pub(super) row: usize,
    /// The number of characters.
    pub(super) weight: usize,
}

/// A wider gap, as a share of the size, may be the space between columns.
const WIDE_GAP: f32 = 0.8;
/// A wider gap, as a share of the size, is a space.
const MIN_SPACE: f32 = 0.15;
/// Rows back to which a word may belong: columns whose rows do not align run side by side.
const MAX_ROWS_BACK: usize = 8;

struct LayoutRow {
    low: f32,
    high: f32,
    size: f32,
    baseline: f32,
    words: Vec<LayoutWord>,
}

/// Returns the segments of a page, row by row from the top.
pub(super) fn build_segments(mut words: Vec<LayoutWord>) -> Vec<RowSegment> {
    words.sort_by(|a, b| b.baseline.total_cmp(&a.baseline));
    let mut rows: Vec<LayoutRow> = Vec::new();
    for word in words {
        let (low, high) = (
            word.baseline - 0.2 * word.size,
            word.baseline + 0.7 * word.size,
        );
        let near = rows.iter_mut().rev().take(MAX_ROWS_BACK).find(|row| {
            // A letter as tall as several lines belongs to the line of its baseline.
            let (small, large) = (word.size.min(row.size), word.size.max(row.size));
            if large > 1.8 * small {
                return (word.baseline - row.baseline).abs() <= 0.35 * small;
            }
            // Words of one size share a row only if they share its baseline; smaller ones may be raised or
            // lowered.
            if large < 1.1 * small {
                return (word.baseline - row.baseline).abs() <= 0.3 * large;
            }
            let shared = high.min(row.high) - low.max(row.low);
            shared >= 0.5 * (high - low).min(row.high - row.low)
        });
        match near {
            Some(row) => {
                if word.size > row.size {
                    (row.low, row.high, row.size, row.baseline) =
                        (low, high, word.size, word.baseline);
                }
                row.words.push(word);
            }
            None => rows.push(LayoutRow {
                low,
                high,
                size: word.size,
                baseline: word.baseline,
                words: vec![word],
            }),
        }
    }
    rows.sort_by(|a, b| b.baseline.total_cmp(&a.baseline));
    let mut segments = Vec::new();
    for (at, row) in rows.into_iter().enumerate() {
        split_row(row, at, &mut segments);
    }
    segments
}

fn split_row(mut row: LayoutRow, at: usize, segments: &mut Vec<RowSegment>) {
    row.words.sort_by(|a, b| a.left.total_cmp(&b.left));
    let mut current: Option<RowSegment> = None;
    for word in row.words {
        if let Some(segment) = &mut current {
            let last = segment.words.last();
            if last.is_some_and(|last| is_overprinted(last, &word)) {
                continue;
            }
            let size = last.map_or(word.size, |last| last.size.max(word.size));
            if word.left - segment.right <= WIDE_GAP * size {
                segment.right = segment.right.max(word.right);
                segment.weight += word.text.chars().count();
                segment.words.push(word);
                continue;
            }
        }
        segments.extend(current.take());
        current = Some(RowSegment {
            left: word.left,
            right: word.right,
            baseline: row.baseline,
            row: at,
            weight: word.text.chars().count(),
            words: vec![word],
        });
    }
    segments.extend(current);
}

/// Bold print is sometimes made by printing a word twice with a tiny offset.
fn is_overprinted(first: &LayoutWord, second: &LayoutWord) -> bool {
    (first.left - second.left).abs() < 0.15 * first.size
        && (first.baseline - second.baseline).abs() < 0.15 * first.size
        && first.text == second.text
}

/// Joins the segments of a block to lines.
pub(super) fn build_block_lines(
    mut segments: Vec<RowSegment>,
    block: u32,
    turn: Rotation,
) -> Vec<LayoutLine> {
    segments.sort_by(|a, b| a.row.cmp(&b.row).then(a.left.total_cmp(&b.left)));
    let block_left = segments
        .iter()
        .map(|segment| segment.left)
        .fold(f32::MAX, f32::min);
    let block_right = segments
        .iter()
        .map(|segment| segment.right)
        .fold(f32::MIN, f32::max);
    let mut lines = Vec::new();
    let mut rest = segments.into_iter().peekable();
    while let Some(first) = rest.next() {
        let (row, base) = (first.row, first.baseline);
        let mut words = first.words;
        while let Some(next) = rest.next_if(|next| next.row == row) {
            words.extend(next.words);
        }
        let mut line = build_line(&words, base);
        (line.block, line.rotation) = (block, turn);
        (line.block_left, line.block_right) = (block_left, block_right);
        lines.push(line);
    }
    lines
}

fn has_space_between(last: &LayoutWord, word: &LayoutWord) -> bool {
    let gap = word.left.max(last.left) - word.right.min(last.right);
    // Text that is printed over other text does not follow it.
    if gap > MIN_SPACE * last.size || gap < -0.4 * last.size.max(word.size) {
        return true;
    }
    let mark = last
        .text
        .chars()
        .all(|c| c.is_ascii_digit() || matches!(c, '*' | '\u{2020}' | '\u{2021}'));
    let raised = last.size < 0.85 * word.size && last.baseline > word.baseline + 0.15 * word.size;
    let word_follows = word.text.chars().next().is_some_and(char::is_alphabetic);
    (word.space_before && gap > 0.02 * last.size) || (mark && raised && word_follows)
}

fn build_line(words: &[LayoutWord], base: f32) -> LayoutLine {
    let mut text = String::new();
    let mut last: Option<&LayoutWord> = None;
    let mut right = f32::MIN;
    let (mut bold, mut total) = (0, 0);
    let mut size_of: Vec<(f32, usize)> = Vec::new();
    for word in order_words(words) {
        if last.is_some_and(|last| has_space_between(last, word)) {
            text.push(' ');
        }
        text.push_str(&word.text);
        last = Some(word);
        right = right.max(word.right);
        let count = word.text.chars().count();
        total += count;
        bold += if word.bold { count } else { 0 };
        match size_of
            .iter_mut()
            .find(|(size, _)| (size - word.size).abs() < 0.2)
        {
            Some((_, weight)) => *weight += count,
            None => size_of.push((word.size, count)),
        }
    }
    let size = size_of
        .iter()
        .max_by_key(|(_, weight)| *weight)
        .map_or(1.0, |(size, _)| *size);
    LayoutLine {
        text,
        left: words.first().map_or(0.0, |word| word.left),
        right,
        baseline: base,
        size,
        bold: bold * 2 > total,
        block: 0,
        block_left: 0.0,
        block_right: 0.0,
        rotation: Rotation::Upright,
    }
}
