//! Which passages a filter lets through, one bit each.

use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, Searcher, SegmentReader, TERMINATED, Term};

use crate::bits::Bits;
use crate::layout::{Layout, NUMBERS};
use crate::{Filter, IndexError};

/// Which living passages of each segment are let through, by segment; `None` when all are.
pub(crate) fn allowed(
    filter: &Filter,
    searcher: &Searcher,
    layout: &Layout,
) -> Result<Option<Vec<Bits>>, IndexError> {
    if matches!(filter, Filter::All) {
        return Ok(None);
    }
    let segments = searcher.segment_readers().iter();
    let bits = segments.map(|segment| {
        let mut bits = evaluate(filter, segment, layout)?;
        if let Some(alive) = segment.alive_bitset() {
            for dead in (0..segment.max_doc()).filter(|doc| alive.is_deleted(*doc)) {
                bits.remove(dead);
            }
        }
        Ok(bits)
    });
    bits.collect::<Result<_, IndexError>>().map(Some)
}

fn evaluate(filter: &Filter, segment: &SegmentReader, layout: &Layout) -> Result<Bits, IndexError> {
    let len = segment.max_doc();
    let mut bits = Bits::none(len);
    match filter {
        Filter::All => bits = Bits::all(len),
        Filter::Documents(ids) => {
            for id in ids {
                add_term(&mut bits, segment, &layout.of_document(id))?;
            }
        }
        Filter::Word { name, any_of } => {
            for word in any_of {
                add_term(&mut bits, segment, &layout.of_word(name, word))?;
            }
        }
        Filter::Number { name, from, to } => add_range(&mut bits, segment, name, (*from, *to))?,
        Filter::And(filters) => {
            bits = Bits::all(len);
            for filter in filters {
                bits.and(&evaluate(filter, segment, layout)?);
            }
        }
        Filter::Or(filters) => {
            for filter in filters {
                bits.or(&evaluate(filter, segment, layout)?);
            }
        }
        Filter::Not(filter) => {
            bits = evaluate(filter, segment, layout)?;
            bits.invert();
        }
    }
    Ok(bits)
}

fn add_term(bits: &mut Bits, segment: &SegmentReader, term: &Term) -> Result<(), IndexError> {
    let index = segment.inverted_index(term.field())?;
    let Some(mut postings) = index.read_postings(term, IndexRecordOption::Basic)? else {
        return Ok(());
    };
    let mut doc = postings.doc();
    while doc != TERMINATED {
        bits.insert(doc);
        doc = postings.advance();
    }
    Ok(())
}

fn add_range(
    bits: &mut Bits,
    segment: &SegmentReader,
    name: &str,
    (from, to): (Option<i64>, Option<i64>),
) -> Result<(), IndexError> {
    let path = format!("{NUMBERS}.{name}");
    let Some(column) = segment.fast_fields().column_opt::<i64>(&path)? else {
        return Ok(());
    };
    let range = from.unwrap_or(i64::MIN)..=to.unwrap_or(i64::MAX);
    for doc in 0..segment.max_doc() {
        if column
            .first(doc)
            .is_some_and(|number| range.contains(&number))
        {
            bits.insert(doc);
        }
    }
    Ok(())
}
