//! Duplicate entries of a bibliography.

use std::collections::{BTreeMap, HashMap};

use deliberate_citations::{BibRecord, merge_keys};

/// Keys that several entries share. BibTeX ignores case and rejects a repeated key.
pub(crate) fn duplicate_keys(records: &[BibRecord]) -> Vec<String> {
    let mut entries = BTreeMap::<String, Vec<&str>>::new();
    for record in records {
        let key = record.key.to_lowercase();
        entries.entry(key).or_default().push(&record.key);
    }
    let repeated = entries.values().filter(|it| it.len() > 1);
    repeated
        .filter_map(|it| it.first().map(|key| (*key).to_owned()))
        .collect()
}

/// Groups of entries that are the same work: they share a DOI, an arXiv id, or title and author,
/// directly or through a third entry.
pub(crate) fn find_duplicates(records: &[BibRecord]) -> Vec<Vec<String>> {
    let mut groups: Vec<Vec<usize>> = (0..records.len()).map(|at| vec![at]).collect();
    let mut group_of: Vec<usize> = (0..records.len()).collect();
    let mut first = HashMap::new();
    for (at, record) in records.iter().enumerate() {
        for key in merge_keys(&record.article) {
            let other = *first.entry(format!("{key:?}")).or_insert(at);
            let (one, two) = (group_of.get(at).copied(), group_of.get(other).copied());
            let Some((one, two)) = one.zip(two).filter(|(one, two)| one != two) else {
                continue;
            };
            // The smaller group is merged into the larger one, so that many duplicates stay cheap.
            let size = |it: usize| groups.get(it).map_or(0, Vec::len);
            let (from, to) = if size(one) <= size(two) {
                (one, two)
            } else {
                (two, one)
            };
            let moved = groups.get_mut(from).map(std::mem::take).unwrap_or_default();
            for it in &moved {
                if let Some(group) = group_of.get_mut(*it) {
                    *group = to;
                }
            }
            if let Some(group) = groups.get_mut(to) {
                group.extend(moved);
            }
        }
    }
    let mut groups: Vec<Vec<usize>> = groups.into_iter().filter(|it| it.len() > 1).collect();
    for group in &mut groups {
        group.sort_unstable();
    }
    groups.sort_unstable();
    let key = |at: &usize| records.get(*at).map(|it| it.key.clone());
    groups
        .iter()
        .map(|it| it.iter().filter_map(key).collect())
        .collect()
}
