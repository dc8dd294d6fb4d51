//! Converts a byte range of a passage into a position in its article.

use std::ops::Range;

use super::{EvidencePassage, EvidenceSpan};
use crate::articles::TextSpan;

/// Evidence for a byte range of a passage. If the position of the passage does not match its text,
/// the whole passage is the evidence.
pub(super) fn evidence_span(source: &EvidencePassage, bytes: Range<usize>) -> EvidenceSpan {
    let stretch = source
        .text
        .get(bytes.clone())
        .zip(locate_span(source, bytes));
    let (quote, place) = match stretch {
        Some((text, place)) => (text.to_owned(), place),
        None => (source.text.clone(), source.place),
    };
    EvidenceSpan {
        passage: source.id.clone(),
        work: source.work.clone(),
        place,
        quote,
    }
}

fn locate_span(source: &EvidencePassage, bytes: Range<usize>) -> Option<TextSpan> {
    let at = |end: usize| {
        let before = source.text.get(..end)?;
        let mut page = source.place.page;
        let mut character = source.place.start;
        for letter in before.chars() {
            if letter == '\u{c}' {
                page = page.checked_add(1)?;
                character = 0;
            } else {
                character = character.checked_add(1)?;
            }
        }
        Some((page, character))
    };
    if at(source.text.len())? != (source.place.end_page, source.place.end) {
        return None;
    }
    let (page, start) = at(bytes.start)?;
    let (end_page, end) = at(bytes.end)?;
    Some(TextSpan {
        page,
        start,
        end_page,
        end,
    })
}
