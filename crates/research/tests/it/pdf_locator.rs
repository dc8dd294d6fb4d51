//! Tests of the PDF locator: places, their order, and reports of sources without any.

use std::{sync::Arc, time::Duration};

use deliberate_core::{Article, ArxivId, Doi};
use serde_json::{Value, json};

use super::raw_http_server::{
    RawHttpServer, client_options, http_client, http_response, json_response as answer,
};
use deliberate_research::{
    http::HttpClientError,
    pdf_locator::{PdfLocations, PdfLocator, SourceLookupOutcome, UnpaywallSettings},
    sources::{
        PaperId, PaperQuery, PaperSource, PdfLocation, SourceFuture, SourceInfo, SourceResult,
    },
};

/// A source with fixed places, or a failure.
pub(crate) struct FixedSource(
    pub(crate) &'static str,
    pub(crate) Result<Vec<&'static str>, HttpClientError>,
);

impl PaperSource for FixedSource {
    fn info(&self) -> SourceInfo {
        SourceInfo {
            name: self.0.to_owned(),
            title: self.0.to_owned(),
            description: String::new(),
            by_words: true,
            has_key: false,
            key_hint: None,
        }
    }

    fn search<'a>(&'a self, _: &'a PaperQuery) -> SourceFuture<'a, SourceResult> {
        Box::pin(async { Ok(SourceResult::default()) })
    }

    fn look_up<'a>(&'a self, _: &'a PaperId) -> SourceFuture<'a, Option<Article>> {
        Box::pin(async { Ok(None) })
    }

    fn open_pdfs<'a>(&'a self, _: &'a PaperId) -> SourceFuture<'a, Vec<PdfLocation>> {
        let places = self.1.clone().map(|urls| {
            let place = |url: &str| PdfLocation {
                url: url.to_owned(),
                source: self.0.to_owned(),
                version: None,
                licence: None,
            };
            urls.into_iter().map(place).collect()
        });
        Box::pin(async { places })
    }

    fn pdf_rank(&self) -> Option<u8> {
        match self.0 {
            "arxiv" => None,
            "crossref" => Some(0),
            "semantic_scholar" => Some(1),
            "openalex" => Some(2),
            _ => Some(3),
        }
    }
}

pub(crate) fn article_with_doi(doi: &str) -> Article {
    Article {
        doi: Doi::parse(doi),
        ..Article::default()
    }
}

fn article_with_url(url: &str) -> Article {
    Article {
        url: Some(url.to_owned()),
        ..Article::default()
    }
}

fn urls(located: &PdfLocations) -> Vec<&str> {
    located.places.iter().map(|it| it.url.as_str()).collect()
}

fn outcome<'a>(located: &'a PdfLocations, source: &str) -> Option<&'a SourceLookupOutcome> {
    let asked = located.asked.iter().find(|it| it.source == source);
    asked.map(|it| &it.outcome)
}

pub(crate) fn locator(unpaywall: &RawHttpServer) -> PdfLocator {
    let mut locator = PdfLocator::new(http_client(client_options(&[unpaywall])));
    locator.unpaywall = Some(UnpaywallSettings {
        base_url: Some(unpaywall.url("/v2/")),
        email: "me@example.org".to_owned(),
    });
    locator
}

async fn mock_unpaywall(work: &Value) -> RawHttpServer {
    RawHttpServer::responding_with(answer(&work.to_string())).await
}

#[tokio::test]
async fn everyone_is_asked_and_believed_in_order() {
    let oa = mock_unpaywall(&json!({
        "is_oa": true,
        "best_oa_location": {"url_for_pdf": "https://repo.example/best.pdf",
            "version": "acceptedVersion", "license": "cc-by"},
        "oa_locations": [
            {"url_for_pdf": "https://repo.example/best.pdf"},
            {"url_for_pdf": null, "url": "https://repo.example/page"},
            {"url_for_pdf": "https://other.example/b.pdf", "version": "odd"},
        ],
    }))
    .await;
    let mut locator = locator(&oa);
    let limited = HttpClientError::RateLimited {
        host: "s2".to_owned(),
        wait: Duration::from_millis(29_500),
    };
    let sources: [Arc<dyn PaperSource>; 5] = [
        Arc::new(FixedSource(
            "europe_pmc",
            Ok(vec!["https://pmc.example/e.pdf"]),
        )),
        Arc::new(FixedSource("semantic_scholar", Err(limited))),
        Arc::new(FixedSource("openalex", Ok(vec![]))),
        Arc::new(FixedSource("arxiv", Ok(vec!["https://never.example/"]))),
        Arc::new(FixedSource(
            "crossref",
            Ok(vec![
                "https://www.repo.example/best.pdf",
                "javascript:alert(1)",
                "https://publisher.example/c.pdf",
            ]),
        )),
    ];
    locator.sources = sources.to_vec();
    let article = Article {
        arxiv_id: ArxivId::parse("2301.00001"),
        pdf_url: Some("https://arxiv.org/pdf/2301.00001.pdf".to_owned()),
        pmcid: Some("PMC77".to_owned()),
        ..article_with_doi("10.1234/a?b")
    };
    let located = locator.locate(&article).await;
    assert_eq!(
        urls(&located),
        [
            "https://arxiv.org/pdf/2301.00001",
            "https://europepmc.org/articles/PMC77?pdf=render",
            "https://pmc.ncbi.nlm.nih.gov/articles/PMC77/pdf/",
            "https://repo.example/best.pdf",
            "https://other.example/b.pdf",
            "https://pmc.example/e.pdf",
        ]
    );
    // Crossref lists the publisher's file whether it is open or not.
    let doubtful: Vec<&str> = located.doubtful.iter().map(|it| it.url.as_str()).collect();
    assert_eq!(doubtful, ["https://publisher.example/c.pdf"]);
    let best = &located.places[3];
    assert_eq!(best.version.as_deref(), Some("accepted"));
    assert_eq!(best.licence.as_deref(), Some("cc-by"));
    assert_eq!(
        outcome(&located, "unpaywall"),
        Some(&SourceLookupOutcome::Found { places: 2 })
    );
    assert_eq!(
        outcome(&located, "openalex"),
        Some(&SourceLookupOutcome::Nothing)
    );
    let wait = SourceLookupOutcome::RateLimited { wait_seconds: 29 };
    assert_eq!(outcome(&located, "semantic_scholar"), Some(&wait));
    let head = oa.request_heads().remove(0);
    assert!(
        head.starts_with("GET /v2/10.1234/a%3Fb?email=me%40example.org "),
        "{head}"
    );
    let told = serde_json::to_value(&located.asked).unwrap();
    assert_eq!(
        told[0],
        json!({"source": "arxiv", "outcome": "found", "places": 1})
    );
}

#[tokio::test]
async fn nothing_and_not_to_be_known_are_told_apart() {
    let closed = mock_unpaywall(&json!({
        "is_oa": false,
        "best_oa_location": {"url_for_pdf": "https://paywalled.example/x.pdf"},
    }))
    .await;
    let located = locator(&closed)
        .locate(&article_with_doi("10.1234/x"))
        .await;
    assert_eq!(located.places, []);
    assert_eq!(
        outcome(&located, "unpaywall"),
        Some(&SourceLookupOutcome::Nothing)
    );
    for (answer, code) in [
        (http_response("404 Not Found", "", ""), "nothing"),
        (http_response("422 Unprocessable Entity", "", ""), "failed"),
        (
            http_response("429 Too Many Requests", "retry-after: 60\r\n", ""),
            "rate_limited",
        ),
        (
            http_response("200 OK", "content-type: text/html\r\n", "<html>"),
            "failed",
        ),
        (http_response("200 OK", "", "{\"is_oa\": tr"), "failed"),
        (
            http_response("200 OK", "", "{\"message\": \"later\"}"),
            "failed",
        ),
    ] {
        let server = RawHttpServer::responding_with(answer).await;
        let located = locator(&server)
            .locate(&article_with_doi("10.1234/x"))
            .await;
        let told = serde_json::to_value(&located.asked).unwrap();
        assert_eq!(told[0]["outcome"], code);
        assert_eq!(located.places, []);
    }
    let never = RawHttpServer::responding_with(answer("{}")).await;
    let located = locator(&never)
        .locate(&article_with_doi("10.1234/../../x"))
        .await;
    assert_eq!(
        outcome(&located, "unpaywall"),
        Some(&SourceLookupOutcome::Nothing)
    );
    assert_eq!(never.request_count(), 0);
}

#[tokio::test]
async fn places_follow_from_pages_and_names() {
    let locator = PdfLocator::new(http_client(client_options(&[])));
    for (page, file) in [
        (
            "https://arxiv.org/abs/2301.00001v3",
            "https://arxiv.org/pdf/2301.00001",
        ),
        (
            "https://www.biorxiv.org/content/10.1101/2020.01.01.123456v2",
            "https://www.biorxiv.org/content/10.1101/2020.01.01.123456v2.full.pdf",
        ),
        (
            "http://medrxiv.org/content/10.1101/2020.01.01.123456v1.abstract?x=1",
            "https://www.medrxiv.org/content/10.1101/2020.01.01.123456v1.full.pdf",
        ),
        (
            "https://osf.io/preprints/psyarxiv/abcd1",
            "https://osf.io/abcd1/download",
        ),
        ("https://osf.io/abcd1/", "https://osf.io/abcd1/download"),
        (
            "https://openreview.net/forum?id=aB_-1",
            "https://openreview.net/pdf?id=aB_-1",
        ),
        (
            "https://aclanthology.org/P19-1001/",
            "https://aclanthology.org/P19-1001.pdf",
        ),
        (
            "https://lab.example/Paper.PDF",
            "https://lab.example/Paper.PDF",
        ),
    ] {
        assert_eq!(
            urls(&locator.locate_offline(&article_with_url(page))),
            [file]
        );
    }
    for page in [
        "https://evil.example/arxiv.org/abs/2301.00001",
        "https://biorxiv.org.evil.example/content/10.1101/1",
        "https://osf.io/../etc",
        "ftp://lab.example/paper.pdf",
        "file:///etc/x.pdf",
        "no address",
    ] {
        assert_eq!(
            locator.locate_offline(&article_with_url(page)).places,
            [],
            "{page}"
        );
    }
    let by_doi = [
        (
            "10.48550/arXiv.2301.00001",
            "https://arxiv.org/pdf/2301.00001",
        ),
        ("10.31234/osf.io/abcd1", "https://osf.io/abcd1/download"),
    ];
    for (doi, file) in by_doi {
        assert_eq!(
            urls(&locator.locate_offline(&article_with_doi(doi))),
            [file]
        );
    }
    let preprint = Article {
        venue: Some("bioRxiv".to_owned()),
        ..article_with_doi("10.1101/2020.01.01.123456")
    };
    let file = "https://www.biorxiv.org/content/10.1101/2020.01.01.123456.full.pdf";
    assert_eq!(urls(&locator.locate_offline(&preprint)), [file]);
}

#[tokio::test]
async fn a_link_that_nobody_says_is_open_is_not_called_open() {
    let locator = PdfLocator::new(http_client(client_options(&[])));
    let linked = |open_access, source: &str| Article {
        pdf_url: Some("https://publisher.example/x.pdf".to_owned()),
        open_access,
        sources: vec![source.to_owned()],
        ..Article::default()
    };
    for (open_access, source, open) in [
        (Some(true), "crossref", true),
        (Some(false), "crossref", false),
        (Some(false), "openalex", false),
        (None, "crossref", false),
        (None, "openalex", true),
    ] {
        let located = locator.locate_offline(&linked(open_access, source));
        assert_eq!(located.places.len(), usize::from(open));
        assert_eq!(located.doubtful.len(), usize::from(!open));
    }
}

#[tokio::test]
async fn addresses_within_are_not_handed_out() {
    let mut locator = PdfLocator::new(http_client(client_options(&[])));
    locator.sources = vec![
        Arc::new(FixedSource(
            "europe_pmc",
            Ok(vec![
                "http://169.254.169.254/x.pdf",
                "https://example.org/a.pdf",
            ]),
        )),
        Arc::new(FixedSource("openalex", Ok(vec!["http://localhost/x.pdf"]))),
    ];
    let article = Article {
        pdf_url: Some("http://10.0.0.1/secret.pdf".to_owned()),
        ..article_with_doi("10.1234/x")
    };
    let located = locator.locate(&article).await;
    assert_eq!(urls(&located), ["https://example.org/a.pdf"]);
    assert_eq!(located.doubtful, []);
    assert_eq!(
        outcome(&located, "europe_pmc"),
        Some(&SourceLookupOutcome::Found { places: 1 })
    );
    assert!(matches!(
        outcome(&located, "openalex"),
        Some(SourceLookupOutcome::Failed { why }) if why.contains("omitted")
    ));
    let closed = Article {
        open_access: Some(false),
        ..article
    };
    assert_eq!(locator.locate_offline(&closed).doubtful, []);
}

#[tokio::test]
async fn a_place_is_owed_to_who_told_it() {
    const FILE: &str = "https://repo.example/a.pdf";
    let mut locator = PdfLocator::new(http_client(client_options(&[])));
    let article = |sources: &[&str]| Article {
        pdf_url: Some(FILE.to_owned()),
        sources: sources.iter().map(|it| (*it).to_owned()).collect(),
        ..article_with_doi("10.1234/x")
    };
    let merged = article(&["crossref", "openalex", "semantic_scholar"]);
    assert_eq!(locator.locate_offline(&merged).places[0].source, "record");
    let one = article(&["openalex"]);
    assert_eq!(locator.locate_offline(&one).places[0].source, "openalex");
    let sources: [Arc<dyn PaperSource>; 3] = [
        Arc::new(FixedSource("crossref", Ok(vec![]))),
        Arc::new(FixedSource("semantic_scholar", Ok(vec![FILE]))),
        Arc::new(FixedSource("openalex", Ok(vec![FILE]))),
    ];
    locator.sources = sources.to_vec();
    let located = locator.locate(&merged).await;
    assert_eq!(urls(&located), [FILE]);
    assert_eq!(located.places[0].source, "semantic_scholar");
}

#[tokio::test]
async fn pages_for_a_person_are_no_pdfs_and_none_within() {
    let locator = PdfLocator::new(http_client(client_options(&[])));
    let known = Article {
        pmid: Some("77".to_owned()),
        url: Some("https://lab.example/about".to_owned()),
        ..article_with_doi("10.1234/a?b")
    };
    assert_eq!(
        locator.landing_pages(&known),
        [
            "https://doi.org/10.1234/a%3Fb",
            "https://pubmed.ncbi.nlm.nih.gov/77/",
            "https://lab.example/about",
        ]
    );
    for page in [
        "https://www.doi.org/10.1234/x/",
        "https://lab.example/x.PDF",
        "http://10.0.0.1/secret",
        "file:///etc/passwd",
    ] {
        let article = Article {
            url: Some(page.to_owned()),
            ..article_with_doi("10.1234/x")
        };
        assert_eq!(
            locator.landing_pages(&article),
            ["https://doi.org/10.1234/x"]
        );
    }
    let preprint = Article {
        arxiv_id: ArxivId::parse("2301.00001"),
        ..Article::default()
    };
    assert_eq!(
        locator.landing_pages(&preprint),
        ["https://arxiv.org/abs/2301.00001"]
    );
}
