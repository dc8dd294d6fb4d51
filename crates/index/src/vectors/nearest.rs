//! Nearest rows of a vector: a full scan, or for many rows a scan of their signs first.

use rayon::prelude::*;

use super::{
    quantization::{QuantizedVector, signs},
    segments::{VectorSegment, VectorSet},
};
use crate::{bit_set::BitSet, search::top_k::TopK};

/// Rows that are rescored after the sign scan: one in this many, with the minimum below.
/// Measured at 200,000 rows for the best 50: one in 8 finds 99.7 % if some directions matter more
/// than others, as with vectors of texts, all if rows form clusters, and 96 % in pure noise, which
/// no search is about.
const RESCORE_SHARE: u64 = 8;
const MIN_RESCORE: usize = 8_000;
/// Rows per task of a parallel scan.
const ROWS_PER_TASK: u32 = 8192;

/// How rows are scanned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScanStrategy {
    /// Every row in full.
    Exact,
    /// Signs first, then this number of rows in full.
    SignsFirst(usize),
}

impl ScanStrategy {
    /// Chooses by the number of rows: in full up to a limit, above it in two stages.
    pub(crate) fn for_rows(rows: u64, exact_up_to: u64, k: usize) -> Self {
        if rows <= exact_up_to {
            return Self::Exact;
        }
        let share = usize::try_from(rows / RESCORE_SHARE).unwrap_or(usize::MAX);
        Self::SignsFirst(share.max(MIN_RESCORE).max(k * 20))
    }
}

/// The `k` allowed rows nearest to the query by cosine, nearest first.
pub(crate) fn nearest(
    set: &VectorSet,
    query: &QuantizedVector,
    allowed: &BitSet,
    k: usize,
    scan: ScanStrategy,
) -> Vec<(f32, u32)> {
    if query.values.len() != set.dimensions || set.rows == 0 {
        return Vec::new();
    }
    let wide: Vec<i16> = query.values.iter().map(|value| i16::from(*value)).collect();
    let top = match scan {
        ScanStrategy::Exact => scan_parallel(set, k, |segment, go, top| {
            score_in_full(segment, (&wide, query.scale), go, allowed, top);
        }),
        ScanStrategy::SignsFirst(again) => {
            let chosen = nearest_by_signs(set, &signs(&query.values), allowed, again);
            scan_parallel(set, k, |segment, go, top| {
                score_in_full(segment, (&wide, query.scale), go, &chosen, top);
            })
        }
    };
    let sorted = top.into_sorted().into_iter();
    sorted
        .map(|(score, row)| (score, row_number(row)))
        .collect()
}

fn row_number(row: u64) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX)
}

/// Row ranges, one per task.
fn row_ranges(set: &VectorSet) -> Vec<(&VectorSegment, (u32, u32))> {
    let segments = set.segments.iter();
    let goes = segments.flat_map(|segment| {
        let starts = (0..segment.rows()).step_by(ROWS_PER_TASK as usize);
        starts.map(move |start| (segment, (start, segment.rows().min(start + ROWS_PER_TASK))))
    });
    goes.collect()
}

/// Scans all rows on all threads and returns the best.
fn scan_parallel(
    set: &VectorSet,
    k: usize,
    look: impl Fn(&VectorSegment, (u32, u32), &mut TopK) + Sync,
) -> TopK {
    row_ranges(set)
        .into_par_iter()
        .fold(
            || TopK::new(k),
            |mut top, (segment, go)| {
                look(segment, go, &mut top);
                top
            },
        )
        .reduce(|| TopK::new(k), TopK::merge)
}

/// At least `again` of the allowed rows, if there are so many: those with the most signs in common
/// with the query. Differences are small integers, so a histogram finds the threshold without
/// sorting.
fn nearest_by_signs(set: &VectorSet, query: &[u64], allowed: &BitSet, again: usize) -> BitSet {
    let differences: Vec<(u32, Vec<u16>)> = row_ranges(set)
        .into_par_iter()
        .map(|(segment, go)| {
            (
                segment.first + go.0,
                sign_differences(segment, query, go, allowed),
            )
        })
        .collect();
    let mut often = vec![0_usize; query.len() * 64 + 1];
    for difference in differences.iter().flat_map(|(_, go)| go) {
        if let Some(count) = often.get_mut(usize::from(*difference)) {
            *count += 1;
        }
    }
    let mut so_far = 0;
    let below = often.iter().take_while(|count| {
        let wanted = so_far < again;
        so_far += **count;
        wanted
    });
    let below = below.count();
    let mut chosen = BitSet::empty(set.rows);
    for (first, go) in &differences {
        for (row, difference) in (*first..).zip(go) {
            if usize::from(*difference) < below {
                chosen.insert(row);
            }
        }
    }
    chosen
}

/// The number of differing signs of each row; for a row that is not allowed, more than possible.
fn sign_differences(
    segment: &VectorSegment,
    query: &[u64],
    (start, end): (u32, u32),
    allowed: &BitSet,
) -> Vec<u16> {
    let mut differences = vec![u16::MAX; (end - start) as usize];
    let signs = segment.signs();
    let width = query.len() * 8;
    for row in allowed.iter_range(segment.first + start, segment.first + end) {
        let place = (row - segment.first) as usize;
        let signs = signs.get(place * width..(place + 1) * width);
        if let (Some(signs), Some(difference)) =
            (signs, differences.get_mut(place - start as usize))
        {
            *difference = hamming_distance(query, signs);
        }
    }
    differences
}

fn score_in_full(
    segment: &VectorSegment,
    (query, query_scale): (&[i16], f32),
    (start, end): (u32, u32),
    allowed: &BitSet,
    top: &mut TopK,
) {
    let (values, scales) = (segment.values(), segment.scales());
    let width = query.len();
    for row in allowed.iter_range(segment.first + start, segment.first + end) {
        let place = (row - segment.first) as usize;
        let (Some(values), Some(scale)) = (
            values.get(place * width..(place + 1) * width),
            scales.get(place),
        ) else {
            continue;
        };
        let score = dot(query, values) as f32 * (query_scale * f32::from_le_bytes(*scale));
        top.push(score, u64::from(row));
    }
}

/// The dot product, written so that the compiler vectorizes it: known lengths, no branches, sums
/// that cannot overflow.
#[inline]
fn dot(query: &[i16], row: &[u8]) -> i32 {
    let (query_chunks, query_rest) = query.as_chunks::<32>();
    let (row_chunks, row_rest) = row.as_chunks::<32>();
    let mut sum = 0;
    for (left, right) in query_chunks.iter().zip(row_chunks) {
        let mut part = 0;
        for (a, b) in left.iter().zip(right) {
            part += i32::from(*a) * i32::from(b.cast_signed());
        }
        sum += part;
    }
    for (a, b) in query_rest.iter().zip(row_rest) {
        sum += i32::from(*a) * i32::from(b.cast_signed());
    }
    sum
}

/// The number of differing signs; no vector is so long that the count overflows.
#[inline]
fn hamming_distance(query: &[u64], row: &[u8]) -> u16 {
    let (words, _) = row.as_chunks::<8>();
    let apart: u32 = query
        .iter()
        .zip(words)
        .map(|(a, b)| (a ^ u64::from_le_bytes(*b)).count_ones())
        .sum();
    u16::try_from(apart).unwrap_or(u16::MAX)
}
