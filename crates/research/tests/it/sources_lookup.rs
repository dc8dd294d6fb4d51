//! Tests of single papers by id, their PDFs, and their retractions.

use deliberate_research::sources::{PaperId, PaperNoticeKind};
use wiremock::ResponseTemplate;

use super::source_harness::{SourceHarness, file_response};

fn paper_id(text: &str) -> PaperId {
    PaperId::parse(text).unwrap()
}

/// A DOI with every character that has a meaning in a URL.
const UNUSUAL_DOI: &str =
    "10.1002/(SICI)1097-0258(19980815/30)17:15/16<1661::AID-SIM968>3.0.CO;2-2#?";

#[tokio::test]
async fn names_are_put_into_addresses_once() {
    let odd = "10.1002/(sici)1097-0258(19980815/30)17:15/16%3C1661::aid-sim968%3E3.0.co;2-2%23%3F";
    for (source, at) in [
        ("crossref", format!("/api/works/{odd}")),
        ("semantic_scholar", format!("/api/paper/DOI:{odd}?fields=")),
        ("openalex", format!("/api/works/doi:{odd}?select=")),
    ] {
        let desk = SourceHarness::new().await;
        desk.mount_any(ResponseTemplate::new(404)).await;
        assert_eq!(
            desk.source(source).look_up(&paper_id(UNUSUAL_DOI)).await,
            Ok(None),
            "{source}"
        );
        let asked = desk.requested_urls().await;
        assert!(asked[0].starts_with(&at), "{source}: {asked:?}");
    }
}

#[tokio::test]
async fn names_that_a_source_does_not_know_are_not_asked_for() {
    for (source, name) in [
        ("arxiv", "10.1038/s41586-020-2649-2"),
        ("semantic_scholar", "W2001234"),
        ("openalex", "204e3073870fae3d05bcbc2f6a8e263d9b72e776"),
        ("crossref", "arXiv:1706.03762"),
        ("pubmed", "W2001234"),
        ("biorxiv", "10.1038/s41586-020-2649-2"),
        ("europe_pmc", "W2001234"),
    ] {
        let desk = SourceHarness::new().await;
        assert_eq!(
            desk.source(source).look_up(&paper_id(name)).await,
            Ok(None),
            "{source}"
        );
        assert!(desk.requested_urls().await.is_empty(), "{source}");
    }
}

#[tokio::test]
async fn papers_are_looked_up() {
    for (source, at, file, name, title) in [
        (
            "arxiv",
            "/query",
            "arxiv/search.xml",
            "10.48550/arXiv.1706.03762",
            "Attention Is All You Need",
        ),
        (
            "semantic_scholar",
            "/paper/PMID:32939066",
            "semantic_scholar/paper.json",
            "pmid:32939066",
            "Array programming with NumPy",
        ),
        (
            "openalex",
            "/works/W2001234",
            "openalex/work.json",
            "W2001234",
            "RETRACTED: Ileal-lymphoid-nodular hyperplasia, non-specific colitis, and pervasive developmental disorder in children",
        ),
        (
            "biorxiv",
            "/details/biorxiv/10.1101/339747/na/json",
            "biorxiv/by_doi.json",
            "10.1101/339747",
            "New title of it",
        ),
        (
            "europe_pmc",
            "/search",
            "europe_pmc/search.json",
            "PMC7759461",
            "Array programming with NumPy",
        ),
    ] {
        let desk = SourceHarness::new().await;
        desk.mount_file(at, file).await;
        let paper = desk
            .source(source)
            .look_up(&paper_id(name))
            .await
            .unwrap()
            .expect(source);
        assert_eq!(paper.title, title, "{source}");
        assert_eq!(paper.sources, [source]);
    }
}

#[tokio::test]
async fn a_look_up_finds_the_paper_and_no_other() {
    let desk = SourceHarness::new().await;
    desk.mount_file("/esearch.fcgi", "pubmed/esearch.json")
        .await;
    desk.mount_file("/efetch.fcgi", "pubmed/efetch.xml").await;
    let pubmed = desk.source("pubmed");
    let paper = pubmed
        .look_up(&paper_id("10.1016/S0140-6736(97)11096-0"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(paper.pmid.as_deref(), Some("9500320"));
    assert_eq!(
        pubmed.look_up(&paper_id("10.1000/reference")).await,
        Ok(None)
    );
    assert!(
        desk.requested_urls().await[0]
            .contains("term=%2210.1016%2Fs0140-6736%2897%2911096-0%22%5BAID%5D")
    );
}

#[tokio::test]
async fn retractions_are_found_both_ways() {
    let desk = SourceHarness::new().await;
    let doi = "10.1016/S0140-6736(97)11096-0";
    desk.mount_file("/works/10.1016/s0140-6736(97)11096-0", "crossref/work.json")
        .await;
    desk.mount_file("/works", "crossref/updates.json").await;
    let notices = desk
        .source("crossref")
        .notices(&paper_id(doi))
        .await
        .unwrap()
        .unwrap();
    insta::assert_json_snapshot!(notices);
    let asked = desk.requested_urls().await;
    assert!(
        asked[1].starts_with("/api/works?filter=updates%3A10.1016%2Fs0140-6736%2897%2911096-0&"),
        "{asked:?}"
    );
}

#[tokio::test]
async fn retractions_are_told_by_indexes() {
    let desk = SourceHarness::new().await;
    desk.mount_file("/efetch.fcgi", "pubmed/efetch.xml").await;
    desk.mount_file("/works/W2001234", "openalex/work.json")
        .await;
    desk.mount_file("/search", "europe_pmc/search.json").await;
    let pubmed = desk
        .source("pubmed")
        .notices(&paper_id("pmid:9500320"))
        .await
        .unwrap()
        .unwrap();
    let kinds: Vec<PaperNoticeKind> = pubmed.iter().map(|it| it.kind).collect();
    assert_eq!(
        kinds,
        [PaperNoticeKind::Retraction, PaperNoticeKind::Correction]
    );
    assert_eq!(
        pubmed[0].doi.as_ref().unwrap().as_str(),
        "10.1016/s0140-6736(10)60175-4"
    );
    assert_eq!(pubmed[1].date.unwrap().year, 2004);
    let another = desk
        .source("pubmed")
        .notices(&paper_id("pmid:20301001"))
        .await;
    assert_eq!(another, Ok(None));
    let openalex = desk
        .source("openalex")
        .notices(&paper_id("W2001234"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(openalex[0].kind, PaperNoticeKind::Retraction);
    let europe = desk.source("europe_pmc");
    let europe = europe
        .notices(&paper_id("10.1101/2020.01.30.927871"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (europe[0].kind, europe[0].date.unwrap().year),
        (PaperNoticeKind::Retraction, 2020)
    );
}

#[tokio::test]
async fn open_pdfs_are_named() {
    let desk = SourceHarness::new().await;
    desk.mount_file("/works/W2001234", "openalex/work.json")
        .await;
    desk.mount_file(
        "/paper/DOI:10.1038/s41586-020-2649-2",
        "semantic_scholar/paper.json",
    )
    .await;
    desk.mount_file("/search", "europe_pmc/search.json").await;
    desk.mount_file(
        "/details/biorxiv/10.1101/339747/na/json",
        "biorxiv/by_doi.json",
    )
    .await;
    desk.mount_response(
        "/works/10.1038/s41586-020-2649-2",
        file_response(200, "crossref/work.json"),
    )
    .await;
    let mut places = Vec::new();
    for (source, name) in [
        ("arxiv", "1706.03762"),
        ("openalex", "W2001234"),
        ("semantic_scholar", "10.1038/s41586-020-2649-2"),
        ("europe_pmc", "10.1038/s41586-020-2649-2"),
        ("biorxiv", "10.1101/339747"),
        ("crossref", "10.1038/s41586-020-2649-2"),
        ("pubmed", "pmid:1"),
    ] {
        places.extend(
            desk.source(source)
                .open_pdfs(&paper_id(name))
                .await
                .unwrap(),
        );
    }
    insta::assert_json_snapshot!(places);
}

#[tokio::test]
async fn a_name_that_climbs_is_nobodys() {
    for source in ["crossref", "semantic_scholar", "openalex"] {
        let desk = SourceHarness::new().await;
        let climbing = paper_id("10.1234/../10.5555/other");
        let found = desk.source(source).look_up(&climbing).await;
        assert_eq!(found, Ok(None), "{source}");
        assert!(desk.requested_urls().await.is_empty(), "{source}");
    }
}

#[test]
fn names_are_read_out_of_the_addresses_of_pages() {
    for (address, name) in [
        ("https://pubmed.ncbi.nlm.nih.gov/32939066/", "pmid:32939066"),
        (
            "https://europepmc.org/article/MED/32939066",
            "pmid:32939066",
        ),
        (
            "https://pmc.ncbi.nlm.nih.gov/articles/PMC7759461/",
            "PMC7759461",
        ),
        ("https://openalex.org/W3099878876", "W3099878876"),
        (
            "https://www.semanticscholar.org/paper/A-b/204e3073870fae3d05bcbc2f6a8e263d9b72e776",
            "204e3073870fae3d05bcbc2f6a8e263d9b72e776",
        ),
    ] {
        assert_eq!(PaperId::parse(address), Some(paper_id(name)), "{address}");
    }
    for other in [
        "https://example.org/32939066",
        "https://pubmed.ncbi.nlm.nih.gov/",
        "https://openalex.org/https://openalex.org/x",
        "https://europepmc.org/article/PPR/123",
    ] {
        assert_eq!(PaperId::parse(other), None, "{other}");
    }
}
