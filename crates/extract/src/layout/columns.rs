//! Reading order: finds the gutter that most of a region leaves white, reads what is left of it
//! before what is right of it, and lets whatever crosses it part one band of columns from the
//! next. Tables have short cells and are left in rows.

use super::rows::Segment;

/// Columns within columns, this deep.
const DEEPEST: usize = 4;
/// Each side of a gutter holds at least this share of the region's text.
const SHARE: f32 = 0.08;
/// Each side of a gutter has at least this many pieces.
const PIECES: usize = 4;
/// Pieces on each side are on average at least this long; cells of a table are shorter.
const LONG: usize = 12;
/// A short column has at least this many pieces.
const FEW: usize = 2;
/// Pieces of the column beside a short one are on average at least this long.
const PROSE: usize = 20;
/// Lines of a short column begin this close to each other, in points.
const INDENT: f32 = 20.0;
/// How finely gutters are looked for, in points.
const STEP: f32 = 2.0;
/// Wider regions than this many steps are damage.
const MOST_STEPS: usize = 5_000;

/// The blocks of a page in reading order.
pub(super) fn in_order(segments: Vec<Segment>) -> Vec<Vec<Segment>> {
    let mut blocks = Vec::new();
    divide(segments, 0, &mut blocks);
    blocks
}

fn divide(segments: Vec<Segment>, depth: usize, blocks: &mut Vec<Vec<Segment>>) {
    let gutter = if depth < DEEPEST {
        gutter(&segments)
    } else {
        None
    };
    let Some(gutter) = gutter else {
        if !segments.is_empty() {
            blocks.push(segments);
        }
        return;
    };
    let mut across: Vec<Segment> = Vec::new();
    let mut sides: (Vec<Segment>, Vec<Segment>) = Default::default();
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
            flush_sides(&mut sides, depth, blocks);
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
    flush_sides(&mut sides, depth, blocks);
}

fn flush_sides(
    sides: &mut (Vec<Segment>, Vec<Segment>),
    depth: usize,
    blocks: &mut Vec<Vec<Segment>>,
) {
    let (left, right) = std::mem::take(sides);
    divide(left, depth + 1, blocks);
    divide(right, depth + 1, blocks);
}

/// What lies to each side of a place, and across it.
#[derive(Clone, Copy, Default)]
struct Sides {
    left: usize,
    right: usize,
    left_pieces: usize,
    right_pieces: usize,
}

/// Where the region's gutter is, if it has one.
fn gutter(segments: &[Segment]) -> Option<f32> {
    let start = segments
        .iter()
        .map(|segment| segment.left)
        .fold(f32::MAX, f32::min);
    let end = segments
        .iter()
        .map(|segment| segment.right)
        .fold(f32::MIN, f32::max);
    if segments.len() < PIECES + FEW || end - start < 60.0 {
        return None;
    }
    let steps = (((end - start) / STEP) as usize).min(MOST_STEPS);
    let sides = tally(segments, start, steps);
    let total: usize = segments.iter().map(|segment| segment.weight).sum();
    let at = |(first, last): (usize, usize)| start + STEP * (first + last) as f32 / 2.0;
    // Where most of the text crosses, the white is chance.
    if let Some((crossing, place)) = whitest(&sides, total, |here| here.are_full(total)) {
        return (crossing * 10 <= total * 8).then(|| at(place));
    }
    let (crossing, place) = whitest(&sides, total, Sides::has_short_column)?;
    let gutter = at(place);
    (crossing * 10 <= total * 4 && is_aligned(segments, gutter)).then_some(gutter)
}

/// The widest place that the least text crosses, of those that fit: how much crosses it, where it
/// begins and where it ends.
fn whitest(
    sides: &[Sides],
    total: usize,
    fits: impl Fn(&Sides) -> bool,
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

impl Sides {
    /// Whether both sides are columns of text.
    fn are_full(&self, total: usize) -> bool {
        let enough = (SHARE * total as f32) as usize;
        self.left.min(self.right) >= enough
            && self.left_pieces.min(self.right_pieces) >= PIECES
            && self.left >= LONG * self.left_pieces
            && self.right >= LONG * self.right_pieces
    }

    /// Whether one side is a column of prose and the other the beginning of one, as on the last
    /// page of a paper.
    fn has_short_column(&self) -> bool {
        let mut sides = [
            (self.left_pieces, self.left),
            (self.right_pieces, self.right),
        ];
        sides.sort_unstable();
        let [(few, short), (many, long)] = sides;
        few >= FEW && short >= LONG * few && many >= PIECES && long >= PROSE * many
    }
}

/// Whether the lines of the side with fewer of them begin under each other, as a column's do.
fn is_aligned(segments: &[Segment], gutter: f32) -> bool {
    let lefts = |keep: &dyn Fn(&Segment) -> bool| -> Vec<f32> {
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
    short.iter().all(|it| it - first <= INDENT)
}

fn tally(segments: &[Segment], start: f32, steps: usize) -> Vec<Sides> {
    let mut sides = vec![Sides::default(); steps + 1];
    let place = |x: f32| (((x - start) / STEP).max(0.0) as usize).min(steps);
    for segment in segments {
        if let Some(side) = sides.get_mut((place(segment.right) + 1).min(steps)) {
            side.left += segment.weight;
            side.left_pieces += 1;
        }
        if let Some(side) = sides.get_mut(place(segment.left)) {
            side.right += segment.weight;
            side.right_pieces += 1;
        }
    }
    let (mut left, mut pieces) = (0, 0);
    for side in &mut sides {
        left += side.left;
        pieces += side.left_pieces;
        (side.left, side.left_pieces) = (left, pieces);
    }
    let (mut right, mut pieces) = (0, 0);
    for side in sides.iter_mut().rev() {
        right += side.right;
        pieces += side.right_pieces;
        (side.right, side.right_pieces) = (right, pieces);
    }
    sides
}
