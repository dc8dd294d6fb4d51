//! Reading order: finds the gutter that most of a region leaves empty, reads the left side before
//! the right side, and lets text that crosses the gutter separate bands of columns. Tables have
//! short cells and stay in rows.

use super::lines::RowSegment;

/// Depth of nested columns.
const MAX_DEPTH: usize = 4;
/// Minimum share of the region's text on each side of a gutter.
const MIN_COLUMN_SHARE: f32 = 0.08;
/// Minimum number of segments on each side of a gutter.
const MIN_COLUMN_SEGMENTS: usize = 4;
/// Minimum mean length of segments on each side; table cells are shorter.
const MIN_SEGMENT_CHARS: usize = 12;
/// Minimum number of segments of a short column.
const MIN_SHORT_COLUMN_SEGMENTS: usize = 2;
/// Minimum mean length of segments in the column beside a short one.
const MIN_PROSE_CHARS: usize = 20;
/// Maximum distance between the starts of lines in a short column, in points.
const ALIGNMENT_TOLERANCE: f32 = 20.0;
/// The resolution of the gutter search, in points.
const GUTTER_STEP: f32 = 2.0;
/// Wider regions are damage.
const MAX_GUTTER_STEPS: usize = 5_000;

/// Returns the blocks of a page in reading order.
pub(super) fn order_blocks(segments: Vec<RowSegment>) -> Vec<Vec<RowSegment>> {
    let mut blocks = Vec::new();
    split_region(segments, 0, &mut blocks);
    blocks
}

fn split_region(segments: Vec<RowSegment>, depth: usize, blocks: &mut Vec<Vec<RowSegment>>) {
    let gutter = if depth < MAX_DEPTH {
        find_gutter(&segments)
    } else {
        None
    };
    let Some(gutter) = gutter else {
        if !segments.is_empty() {
            blocks.push(segments);
        }
        return;
    };
    let mut across: Vec<RowSegment> = Vec::new();
    let mut sides: (Vec<RowSegment>, Vec<RowSegment>) = Default::default();
    let mut rest = segments.into_iter().peekable();
    while let Some(first) = rest.next() {
        let mut row = vec![first];
        while let Some(next) =
            rest.next_if(|next| row.first().is_some_and(|first| first.row == next.row))
        {
            row.push(next);
        }
        if row
            .iter()
            .any(|segment| segment.left < gutter && segment.right > gutter)
        {
            push_sides(&mut sides, depth, blocks);
            across.extend(row);
        } else {
            if !across.is_empty() {
                blocks.push(std::mem::take(&mut across));
            }
            for segment in row {
                if segment.right <= gutter {
                    sides.0.push(segment);
                } else {
                    sides.1.push(segment);
                }
            }
        }
    }
    if !across.is_empty() {
        blocks.push(across);
    }
    push_sides(&mut sides, depth, blocks);
}

fn push_sides(
    sides: &mut (Vec<RowSegment>, Vec<RowSegment>),
    depth: usize,
    blocks: &mut Vec<Vec<RowSegment>>,
) {
    let (left, right) = std::mem::take(sides);
    split_region(left, depth + 1, blocks);
    split_region(right, depth + 1, blocks);
}

/// The segments on each side of a gutter, and across it.
#[derive(Clone, Copy, Default)]
struct GutterSides {
    left: usize,
    right: usize,
    left_segments: usize,
    right_segments: usize,
}

/// Finds the gutter of a region.
fn find_gutter(segments: &[RowSegment]) -> Option<f32> {
    let start = segments
        .iter()
        .map(|segment| segment.left)
        .fold(f32::MAX, f32::min);
    let end = segments
        .iter()
        .map(|segment| segment.right)
        .fold(f32::MIN, f32::max);
    if segments.len() < MIN_COLUMN_SEGMENTS + MIN_SHORT_COLUMN_SEGMENTS || end - start < 60.0 {
        return None;
    }
    let steps = (((end - start) / GUTTER_STEP) as usize).min(MAX_GUTTER_STEPS);
    let sides = count_sides(segments, start, steps);
    let total: usize = segments.iter().map(|segment| segment.weight).sum();
    let at = |(first, last): (usize, usize)| start + GUTTER_STEP * (first + last) as f32 / 2.0;
    // If most of the text crosses it, the gap is accidental.
    if let Some((crossing, place)) =
        find_emptiest_gap(&sides, total, |here| here.are_columns(total))
    {
        return (crossing * 10 <= total * 8).then(|| at(place));
    }
    let (crossing, place) = find_emptiest_gap(&sides, total, GutterSides::has_short_column)?;
    let gutter = at(place);
    (crossing * 10 <= total * 4 && is_aligned(segments, gutter)).then_some(gutter)
}

/// The widest gap that the least text crosses: how much crosses it, its start and its end.
fn find_emptiest_gap(
    sides: &[GutterSides],
    total: usize,
    fits: impl Fn(&GutterSides) -> bool,
) -> Option<(usize, (usize, usize))> {
    let steps = sides.len().saturating_sub(1);
    let mut best: Option<(usize, (usize, usize))> = None;
    for (at, here) in sides
        .iter()
        .enumerate()
        .skip(steps / 8)
        .take(steps - steps / 4)
    {
        if !fits(here) {
            continue;
        }
        let crossing = total - here.left - here.right;
        best = match best {
            Some((least, (first, last))) if crossing == least && last + 1 == at => {
                Some((least, (first, at)))
            }
            Some((least, _)) if crossing >= least => best,
            _ => Some((crossing, (at, at))),
        };
    }
    best
}

impl GutterSides {
    fn are_columns(&self, total: usize) -> bool {
        let enough = (MIN_COLUMN_SHARE * total as f32) as usize;
        self.left.min(self.right) >= enough
            && self.left_segments.min(self.right_segments) >= MIN_COLUMN_SEGMENTS
            && self.left >= MIN_SEGMENT_CHARS * self.left_segments
            && self.right >= MIN_SEGMENT_CHARS * self.right_segments
    }

    /// Whether one side is a column of prose and the other the start of one, as on the last page of a
    /// paper.
    fn has_short_column(&self) -> bool {
        let mut sides = [
            (self.left_segments, self.left),
            (self.right_segments, self.right),
        ];
        sides.sort_unstable();
        let [(few, short), (many, long)] = sides;
        few >= MIN_SHORT_COLUMN_SEGMENTS
            && short >= MIN_SEGMENT_CHARS * few
            && many >= MIN_COLUMN_SEGMENTS
            && long >= MIN_PROSE_CHARS * many
    }
}

/// Whether the lines of the smaller side are left-aligned like a column.
fn is_aligned(segments: &[RowSegment], gutter: f32) -> bool {
    let lefts = |keep: &dyn Fn(&RowSegment) -> bool| -> Vec<f32> {
        let kept = segments.iter().filter(|it| keep(it));
        kept.map(|it| it.left).collect()
    };
    let (left, right) = (
        lefts(&|it| it.right <= gutter),
        lefts(&|it| it.left >= gutter),
    );
    let short = if left.len() < right.len() {
        left
    } else {
        right
    };
    let first = short.iter().copied().fold(f32::MAX, f32::min);
    short.iter().all(|it| it - first <= ALIGNMENT_TOLERANCE)
}

fn count_sides(segments: &[RowSegment], start: f32, steps: usize) -> Vec<GutterSides> {
    let mut sides = vec![GutterSides::default(); steps + 1];
    let place = |x: f32| (((x - start) / GUTTER_STEP).max(0.0) as usize).min(steps);
    for segment in segments {
        if let Some(side) = sides.get_mut((place(segment.right) + 1).min(steps)) {
            side.left += segment.weight;
            side.left_segments += 1;
        }
        if let Some(side) = sides.get_mut(place(segment.left)) {
            side.right += segment.weight;
            side.right_segments += 1;
        }
    }
    let (mut left, mut pieces) = (0, 0);
    for side in &mut sides {
        left += side.left;
        pieces += side.left_segments;
        (side.left, side.left_segments) = (left, pieces);
    }
    let (mut right, mut pieces) = (0, 0);
    for side in sides.iter_mut().rev() {
        right += side.right;
        pieces += side.right_segments;
        (side.right, side.right_segments) = (right, pieces);
    }
    sides
}
