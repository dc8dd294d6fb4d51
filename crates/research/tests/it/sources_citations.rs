//! Tests of citations from sources.

use deliberate_research::sources::{CitationDirection, PaperId};

use super::source_harness::SourceHarness;

fn paper_id(text: &str) -> PaperId {
    PaperId::parse(text).unwrap()
}

#[tokio::test]
async fn semantic_scholar_knows_the_sentences() {
    let desk = SourceHarness::new().await;
    desk.mount_file(
        "/paper/ARXIV:1706.03762/citations",
        "semantic_scholar/citations.json",
    )
    .await;
    let source = desk.source("semantic_scholar");
    let links = source
        .citation_links(&paper_id("1706.03762"), CitationDirection::Citing, 10)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(links.len(), 1);
    assert_eq!(links[0].article.title, "SciPy 1.0: fundamental algorithms");
    assert_eq!(links[0].contexts.len(), 2);
    assert_eq!(links[0].influential, Some(true));
    assert!(desk.requested_urls().await[0].contains("limit=10"));
}

#[tokio::test]
async fn what_a_publisher_holds_back_is_unknown_and_not_nothing() {
    let desk = SourceHarness::new().await;
    desk.mount_file(
        "/paper/DOI:10.1016/x/references",
        "semantic_scholar/elided.json",
    )
    .await;
    let source = desk.source("semantic_scholar");
    assert_eq!(
        source
            .citation_links(&paper_id("10.1016/x"), CitationDirection::Cited, 10)
            .await,
        Ok(None)
    );
}

#[tokio::test]
async fn openalex_lists_references_in_their_order() {
    let desk = SourceHarness::new().await;
    desk.mount_file("/works/doi:10.1016/x", "openalex/work.json")
        .await;
    desk.mount_file("/works", "openalex/referenced.json").await;
    let source = desk.source("openalex");
    let links = source
        .citation_links(&paper_id("10.1016/x"), CitationDirection::Cited, 10)
        .await
        .unwrap()
        .unwrap();
    let titles: Vec<&str> = links.iter().map(|it| it.article.title.as_str()).collect();
    assert_eq!(
        titles,
        ["The first that is cited", "The second that is cited"]
    );
    let links = source
        .citation_links(&paper_id("10.1016/x"), CitationDirection::Citing, 10)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(links.len(), 2);
    let asked = desk.requested_urls().await;
    assert!(
        asked[1].contains("filter=openalex%3AW11%7CW12&"),
        "{asked:?}"
    );
    assert!(
        asked[3].contains("filter=cites%3AW2001&sort=cited_by_count%3Adesc"),
        "{asked:?}"
    );
}

#[tokio::test]
async fn europe_pmc_finds_the_paper_first() {
    let desk = SourceHarness::new().await;
    desk.mount_file("/search", "europe_pmc/search.json").await;
    desk.mount_file("/MED/32939066/citations", "europe_pmc/citations.json")
        .await;
    desk.mount_file("/MED/32939066/references", "europe_pmc/references.json")
        .await;
    let source = desk.source("europe_pmc");
    let doi = paper_id("10.1038/s41586-020-2649-2");
    let citing = source
        .citation_links(&doi, CitationDirection::Citing, 5)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(citing.len(), 1);
    assert_eq!(citing[0].article.title, "A paper that cites it");
    assert_eq!(citing[0].article.pmid.as_deref(), Some("33000001"));
    let pubmed = paper_id("pmid:32939066");
    let cited = source
        .citation_links(&pubmed, CitationDirection::Cited, 5)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(cited[0].article.authors[0].family, "van der Walt");
    assert_eq!(desk.requested_urls().await.len(), 3);
}

#[tokio::test]
async fn some_know_no_citations() {
    let desk = SourceHarness::new().await;
    for source in ["arxiv", "crossref", "pubmed", "biorxiv"] {
        let links = desk
            .source(source)
            .citation_links(&paper_id("10.1101/x"), CitationDirection::Citing, 5)
            .await;
        assert_eq!(links, Ok(None), "{source}");
    }
}
