//! Whatever bibliography is given: no panic, faults on lines that are there, and what was read can
//! be written in every format, where it reads as the same number of works.
#![no_main]

use deliberate_citations::{
    BibRecord, BibliographyEntry, read_any, read_bibtex, read_csl_json, read_reference, read_ris,
    to_bibtex, to_csl_json, to_csv, to_endnote, to_ris,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (records, problems) = read_any(text);
    let lines = text.lines().count().max(1);
    for problem in &problems {
        assert!((1..=lines + 1).contains(&problem.line), "{problem:?}");
    }
    let entries = to_entries(&records);
    let bibtex = to_bibtex(&entries);
    for again in [
        read_bibtex(&bibtex).0,
        read_ris(&to_ris(&entries)).0,
        read_csl_json(&to_csl_json(&entries)).0,
    ] {
        assert_eq!(again.len(), records.len(), "{bibtex}");
    }
    // Reading may learn something (what is on arXiv is a preprint); after that nothing changes.
    let learnt = to_bibtex(&to_entries(&read_bibtex(&bibtex).0));
    let again = to_bibtex(&to_entries(&read_bibtex(&learnt).0));
    assert_eq!(again, learnt);
    let _ = (to_csv(&entries), to_endnote(&entries));
    let _ = text.lines().take(4).map(read_reference).count();
});

fn to_entries(records: &[BibRecord]) -> Vec<BibliographyEntry<'_>> {
    let mut entries = Vec::new();
    for BibRecord { key, article } in records {
        entries.push(BibliographyEntry {
            key: Some(key),
            article,
        });
    }
    entries
}
