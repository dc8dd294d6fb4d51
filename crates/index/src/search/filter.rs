//! Evaluates a filter to a bit set of passages.

use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, Searcher, SegmentReader, TERMINATED, Term};

use crate::{
    IndexError, IndexFilter,
    bit_set::BitSet,
    text::schema::{NUMBERS, PassageSchema},
};

/// The live passages that pass the filter, by segment; `None` if all do.
pub(crate) fn allowed_passages(
    filter: &IndexFilter,
    searcher: &Searcher,
    layout: &PassageSchema,
) -> Result<Option<Vec<BitSet>>, IndexError> {
    if matches!(filter, IndexFilter::All) {
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

fn evaluate(
    filter: &IndexFilter,
    segment: &SegmentReader,
    layout: &PassageSchema,
) -> Result<BitSet, IndexError> {
    let len = segment.max_doc();
    let mut bits = BitSet::empty(len);
    match filter {
        IndexFilter::All => bits = BitSet::all(len),
        IndexFilter::Documents(ids) => {
            for id in ids {
                add_term(&mut bits, segment, &layout.document_term(id))?;
            }
        }
        IndexFilter::Word { name, any_of } => {
            for word in any_of {
                add_term(&mut bits, segment, &layout.facet_term(name, word))?;
            }
        }
        IndexFilter::Number { name, from, to } => {
            add_range(&mut bits, segment, name, (*from, *to))?;
        }
        IndexFilter::And(filters) => {
            bits = BitSet::all(len);
            for filter in filters {
                bits.and(&evaluate(filter, segment, layout)?);
            }
        }
        IndexFilter::Or(filters) => {
            for filter in filters {
                bits.or(&evaluate(filter, segment, layout)?);
            }
        }
        IndexFilter::Not(filter) => {
            bits = evaluate(filter, segment, layout)?;
            bits.invert();
        }
    }
    Ok(bits)
}

fn add_term(bits: &mut BitSet, segment: &SegmentReader, term: &Term) -> Result<(), IndexError> {
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
    bits: &mut BitSet,
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
