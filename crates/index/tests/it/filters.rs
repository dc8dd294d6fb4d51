//! Filters: what a search with one finds is what a plain look at the documents says.

use std::collections::{BTreeMap, BTreeSet};

use deliberate_index::{Facets, Index, IndexFilter, IndexedDocument, Passage, Query, SearchMode};
use proptest::prelude::*;

use super::support::{hashing, in_memory};

fn facets() -> impl Strategy<Value = Facets> {
    let words = prop::collection::btree_map("[ab]", prop::collection::vec("[xyz]", 0..3), 0..3);
    let numbers = prop::collection::btree_map("[ab]", -3_i64..4, 0..3);
    (words, numbers).prop_map(|(words, numbers)| Facets { words, numbers })
}

fn filter() -> impl Strategy<Value = IndexFilter> {
    let bound = || prop::option::of(-4_i64..5);
    let leaf = prop_oneof![
        Just(IndexFilter::All),
        prop::collection::btree_set("d[0-9]", 0..4).prop_map(IndexFilter::Documents),
        ("[ab]", prop::collection::vec("[xyz]", 0..3))
            .prop_map(|(name, any_of)| IndexFilter::Word { name, any_of }),
        ("[ab]", bound(), bound()).prop_map(|(name, from, to)| IndexFilter::Number {
            name,
            from,
            to
        }),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let some = || prop::collection::vec(inner.clone(), 0..3);
        prop_oneof![
            some().prop_map(IndexFilter::And),
            some().prop_map(IndexFilter::Or),
            inner
                .clone()
                .prop_map(|filter| IndexFilter::Not(Box::new(filter))),
        ]
    })
}

/// The meaning of a filter, written down once more.
fn matches(filter: &IndexFilter, document: &IndexedDocument) -> bool {
    let facets = &document.facets;
    match filter {
        IndexFilter::All => true,
        IndexFilter::Documents(ids) => ids.contains(&document.id),
        IndexFilter::Word { name, any_of } => facets
            .words
            .get(name)
            .is_some_and(|words| words.iter().any(|word| any_of.contains(word))),
        IndexFilter::Number { name, from, to } => facets.numbers.get(name).is_some_and(|number| {
            from.is_none_or(|from| *number >= from) && to.is_none_or(|to| *number <= to)
        }),
        IndexFilter::And(filters) => filters.iter().all(|filter| matches(filter, document)),
        IndexFilter::Or(filters) => filters.iter().any(|filter| matches(filter, document)),
        IndexFilter::Not(filter) => !matches(filter, document),
    }
}

#[derive(Debug, Clone)]
enum IndexStep {
    Put(Vec<(u8, Facets, u8)>),
    Remove(u8),
    Commit,
}

fn steps() -> impl Strategy<Value = Vec<IndexStep>> {
    let put = prop::collection::vec((0_u8..10, facets(), 1_u8..4), 1..4);
    let step = prop_oneof![
        4 => put.prop_map(IndexStep::Put),
        1 => (0_u8..10).prop_map(IndexStep::Remove),
        2 => Just(IndexStep::Commit),
    ];
    prop::collection::vec(step, 1..12)
}

fn document(number: u8, facets: Facets, passages: u8) -> IndexedDocument {
    let id = format!("d{number}");
    let passages = (0..u32::from(passages)).map(|place| Passage {
        number: place,
        text: format!("common {id} passage {place}"),
        ..Passage::default()
    });
    IndexedDocument {
        passages: passages.collect(),
        title: String::new(),
        facets,
        id,
    }
}

type IndexModel = BTreeMap<String, IndexedDocument>;

async fn apply_steps(index: &Index, steps: Vec<IndexStep>) -> IndexModel {
    let mut model = IndexModel::new();
    for step in steps {
        match step {
            IndexStep::Put(documents) => {
                let documents: Vec<IndexedDocument> = documents
                    .into_iter()
                    .map(|(number, facets, passages)| document(number, facets, passages))
                    .collect();
                for document in &documents {
                    model.insert(document.id.clone(), document.clone());
                }
                index.put(documents).await.unwrap();
            }
            IndexStep::Remove(number) => {
                let id = format!("d{number}");
                model.remove(&id);
                index.remove(&[id]).await.unwrap();
            }
            IndexStep::Commit => index.commit(1).await.unwrap(),
        }
    }
    index.commit(2).await.unwrap();
    model
}

async fn check(index: &Index, model: &IndexModel, filters: &[IndexFilter]) {
    for filter in filters {
        let expected: BTreeSet<(String, u32)> = model
            .values()
            .filter(|document| matches(filter, document))
            .flat_map(|document| {
                let passages = document.passages.iter();
                passages.map(|passage| (document.id.clone(), passage.number))
            })
            .collect();
        for mode in [SearchMode::Hybrid, SearchMode::Text, SearchMode::Vector] {
            let query = Query {
                text: "common passage".to_owned(),
                k: 100,
                mode,
                filter: filter.clone(),
                ..Query::default()
            };
            let hits = index.search(&query).await.unwrap().hits;
            let found: BTreeSet<(String, u32)> = hits
                .iter()
                .map(|hit| (hit.document.clone(), hit.passage.number))
                .collect();
            assert_eq!(hits.len(), found.len(), "a passage came twice");
            assert_eq!(found, expected, "{mode:?} with {filter:?}");
        }
    }
    let passages: usize = model.values().map(|document| document.passages.len()).sum();
    let stats = index.stats();
    assert_eq!(stats.documents, model.len() as u64);
    assert_eq!(stats.passages, passages as u64);
    assert_eq!((stats.vectors, stats.missing_vectors), (passages as u64, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_search_finds_what_the_filter_lets_through(
        steps in steps(),
        filters in prop::collection::vec(filter(), 1..6),
    ) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let index = in_memory(Some(hashing()));
            let model = apply_steps(&index, steps).await;
            check(&index, &model, &filters).await;
        });
    }
}
