//! Packs text units into passages that are as full as allowed and preferably end with a paragraph.

use super::ChunkOptions;
use super::sentences::TextUnit;

/// Returns the start and end of each passage of one section.
pub(super) fn pack(units: &[TextUnit], options: ChunkOptions) -> Vec<(usize, usize)> {
    let mut passages: Vec<(usize, usize)> = Vec::new();
    let mut from = 0;
    let mut fresh = 0;
    while fresh < units.len() {
        let to = fill(units, from, fresh, options);
        if let Some(span) = span(units, from, to) {
            passages.push(span);
        }
        fresh = to;
        from = step_back(units, from, to, options);
    }
    passages
}

fn span(units: &[TextUnit], from: usize, to: usize) -> Option<(usize, usize)> {
    let piece = units.get(from..to)?;
    Some((piece.first()?.start, piece.last()?.end))
}

/// Returns the end unit of a passage that starts at `from`; always at least one past `fresh`, the
/// first unit that is in no passage yet.
fn fill(units: &[TextUnit], from: usize, fresh: usize, options: ChunkOptions) -> usize {
    let mut tokens = 0;
    let mut to = from;
    let mut paragraph = None;
    for (place, unit) in units.iter().enumerate().skip(from) {
        if place > fresh && tokens + unit.tokens > options.tokens {
            break;
        }
        // A passage that is two thirds full ends with the paragraph.
        if unit.starts_paragraph && place > fresh && tokens * 3 >= options.tokens * 2 {
            paragraph = Some(place);
        }
        tokens += unit.tokens;
        to = place + 1;
    }
    if to == units.len() {
        return to;
    }
    let next_opens = units.get(to).is_some_and(|unit| unit.starts_paragraph);
    match paragraph {
        Some(place) if !next_opens => place,
        _ => to,
    }
}

/// The start of the next passage: some sentences back, but after the start of the one before.
fn step_back(units: &[TextUnit], from: usize, to: usize, options: ChunkOptions) -> usize {
    let next = units.get(to).map_or(0, |unit| unit.tokens);
    let mut tokens = 0;
    let mut start = to;
    while start > from + 1 {
        let Some(unit) = units.get(start - 1) else {
            break;
        };
        tokens += unit.tokens;
        if tokens > options.overlap || tokens + next > options.tokens {
            break;
        }
        start -= 1;
    }
    start
}
