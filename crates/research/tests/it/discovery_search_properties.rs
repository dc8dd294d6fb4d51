//! Properties of every search, whatever the sources return.

use std::collections::BTreeSet;

use deliberate_citations::merge_all;
use deliberate_core::{Article, ArxivId, Author, Doi, PartialDate, WorkKind};
use deliberate_research::discovery::search::{RankedPaper, dedup_keys, fuse};
use proptest::prelude::*;

/// Records with so few names and titles that many are the same paper.
fn arbitrary_article() -> impl Strategy<Value = Article> {
    let names = (
        prop::option::of(0..4_u8),
        prop::option::of(0..4_u8),
        prop::option::of(0..3_u8),
        0..4_u8,
        prop::option::of(0..3_u8),
    );
    let rest = (
        prop::option::of(2000..2003_i32),
        0..3_u8,
        prop::option::of(0..9_u64),
        prop::option::of(any::<bool>()),
        "[a-c ]{0,6}",
    );
    (names, rest).prop_map(
        |((doi, arxiv, pmid, title, family), (year, kind, cited, retracted, text))| {
            let dois = [
                "10.1000/a",
                "10.1000/b",
                "10.48550/arxiv.2001.00001",
                "10.1101/2020.01.01.1",
            ];
            let titles = [
                "Notes",
                "A study of the many things",
                "A Study of the Many Things!",
                "On other things that are there",
            ];
            let families = ["Ant", "van Bee", "Bee"];
            Article {
                title: titles[usize::from(title)].to_owned(),
                authors: family
                    .map(|it| Author::person(families[usize::from(it)], text.trim()))
                    .into_iter()
                    .collect(),
                kind: [
                    WorkKind::Preprint,
                    WorkKind::JournalArticle,
                    WorkKind::Unknown,
                ][usize::from(kind)],
                doi: doi.and_then(|it| Doi::parse(dois[usize::from(it)])),
                arxiv_id: arxiv.and_then(|it| ArxivId::parse(&format!("2001.0000{it}"))),
                pmid: pmid.map(|it| it.to_string()),
                date: year.and_then(|it| PartialDate::new(it, None, None)),
                summary: Some(text.clone()).filter(|it| !it.trim().is_empty()),
                keywords: text
                    .split(' ')
                    .filter(|it| !it.is_empty())
                    .map(str::to_owned)
                    .collect(),
                citation_count: cited,
                retracted,
                ..Article::default()
            }
        },
    )
}

fn arbitrary_lists() -> impl Strategy<Value = Vec<(String, Vec<Article>)>> {
    let list = prop::collection::vec(arbitrary_article(), 0..8);
    prop::collection::vec(list, 0..5).prop_map(|lists| {
        let names = ["arxiv", "crossref", "openalex", "pubmed", "europe_pmc"];
        let named = lists.into_iter().zip(names).map(|(mut list, name)| {
            for it in &mut list {
                it.sources = vec![name.to_owned()];
            }
            (name.to_owned(), list)
        });
        named.collect()
    })
}

fn paper_keys(papers: &[RankedPaper]) -> Vec<BTreeSet<String>> {
    papers
        .iter()
        .map(|it| dedup_keys(&it.article).into_iter().collect())
        .collect()
}

proptest! {
    #[test]
    fn the_order_of_the_sources_does_not_matter(lists in arbitrary_lists(), turn in 0..5_usize) {
        let mut others = lists.clone();
        if !others.is_empty() {
            let turn = turn % others.len();
            others.rotate_left(turn);
        }
        prop_assert_eq!(fuse(lists.clone(), 60.0), fuse(others.clone(), 60.0));
        others.reverse();
        prop_assert_eq!(fuse(lists, 60.0), fuse(others, 60.0));
    }

    #[test]
    fn no_paper_is_lost_or_doubled(lists in arbitrary_lists()) {
        let count: usize = lists.iter().map(|(_, it)| it.len()).sum();
        let papers = fuse(lists.clone(), 60.0);
        let all: usize = papers.iter().map(|it| 1 + it.duplicates as usize).sum();
        prop_assert_eq!(all, count);
        let keys = paper_keys(&papers);
        for (at, one) in keys.iter().enumerate() {
            for other in &keys[at + 1..] {
                prop_assert!(one.is_disjoint(other), "{:?} {:?}", one, other);
            }
        }
        for (name, list) in &lists {
            for (rank, record) in (1..).zip(list) {
                let best = |it: &&RankedPaper| it.ranks.get(name).is_some_and(|it| *it <= rank);
                let title = |it: &&RankedPaper| it.article.title.len() >= record.title.len();
                prop_assert!(papers.iter().filter(best).any(|it| title(&it)), "{record:?}");
            }
        }
    }

    #[test]
    fn merging_again_changes_nothing(lists in arbitrary_lists()) {
        let papers = fuse(lists, 60.0);
        let merged: Vec<Article> = papers.iter().map(|it| it.article.clone()).collect();
        for it in &merged {
            prop_assert_eq!(&merge_all(std::slice::from_ref(it)), it);
            prop_assert_eq!(&merge_all(&[it.clone(), it.clone()]), it);
        }
        let again = fuse(vec![("again".to_owned(), merged.clone())], 60.0);
        let again: Vec<Article> = again.into_iter().map(|it| it.article).collect();
        prop_assert_eq!(again, merged);
    }

    #[test]
    fn the_order_of_records_does_not_matter(mut records in prop::collection::vec(arbitrary_article(), 1..6)) {
        let merged = merge_all(&records);
        records.reverse();
        prop_assert_eq!(&merge_all(&records), &merged);
        let most = records.iter().filter_map(|it| it.citation_count).max();
        prop_assert_eq!(merged.citation_count, most);
        let taken_back = records.iter().any(|it| it.retracted == Some(true));
        prop_assert_eq!(merged.retracted == Some(true), taken_back);
    }

    #[test]
    fn ranks_decide_the_order(lists in arbitrary_lists(), constant in 0.0..200.0_f64) {
        let papers = fuse(lists, constant);
        for pair in papers.windows(2) {
            prop_assert!(pair[0].score >= pair[1].score);
        }
        for paper in &papers {
            let score: f64 = paper.ranks.values().map(|it| 1.0 / (constant + f64::from(*it))).sum();
            prop_assert!((paper.score - score).abs() < 1e-12);
        }
    }
}
