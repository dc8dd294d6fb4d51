//! Tests of a search in several sources.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use deliberate_citations::merge_all;
use deliberate_core::{Article, ArxivId, Author, Doi, PartialDate, WorkKind};
use wiremock::ResponseTemplate;

use super::source_harness::{SourceHarness, word_query};
use deliberate_research::{
    discovery::search::{
        PaperSearchOptions, PaperSearchResult, SourceOutcome, SourceReport, search,
    },
    http::HttpClientError,
    sources::{
        PaperId, PaperOrder, PaperQuery, PaperSource, SourceFuture, SourceInfo, SourceResult,
    },
};

/// A source with a fixed result, or one that never answers.
struct ScriptedSource(&'static str, Option<Result<SourceResult, HttpClientError>>);

impl PaperSource for ScriptedSource {
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
        Box::pin(async {
            match self.1.clone() {
                Some(answer) => answer,
                None => std::future::pending().await,
            }
        })
    }

    fn look_up<'a>(&'a self, _: &'a PaperId) -> SourceFuture<'a, Option<Article>> {
        Box::pin(async { Ok(None) })
    }
}

fn source_with_articles(name: &'static str, articles: Vec<Article>) -> Arc<dyn PaperSource> {
    let found = SourceResult {
        total: Some(articles.len() as u64),
        articles,
        ..SourceResult::default()
    };
    Arc::new(ScriptedSource(name, Some(Ok(found))))
}

fn failing_source(name: &'static str, error: HttpClientError) -> Arc<dyn PaperSource> {
    Arc::new(ScriptedSource(name, Some(Err(error))))
}

fn paper(title: &str, family: &str, source: &str) -> Article {
    Article {
        title: title.to_owned(),
        authors: vec![Author::person(family, "A.")],
        sources: vec![source.to_owned()],
        ..Article::default()
    }
}

fn titles(searched: &PaperSearchResult) -> Vec<&str> {
    searched
        .papers
        .iter()
        .map(|it| it.article.title.as_str())
        .collect()
}

#[tokio::test]
async fn each_source_tells_how_it_went() {
    let limited = HttpClientError::RateLimited {
        host: "b.org".to_owned(),
        wait: Duration::from_millis(1_500),
    };
    let broken = HttpClientError::Unreadable {
        host: "c.org".to_owned(),
        reason: "a page of HTML".to_owned(),
    };
    let found = SourceResult {
        articles: vec![paper("One of them that is good", "Ant", "a")],
        total: Some(9),
        ignored: vec!["venue"],
        skipped: 2,
        from_cache: true,
    };
    let sources = [
        Arc::new(ScriptedSource("a", Some(Ok(found)))) as Arc<dyn PaperSource>,
        failing_source("b", limited),
        failing_source("c", broken),
        Arc::new(ScriptedSource("d", None)),
        source_with_articles("e", Vec::new()),
    ];
    let heard = Arc::new(Mutex::new(Vec::new()));
    let options = PaperSearchOptions {
        timeout: Duration::from_millis(50),
        on_progress: Some(Arc::new({
            let heard = Arc::clone(&heard);
            move |report| heard.lock().unwrap().push(report.source.clone())
        })),
        ..PaperSearchOptions::default()
    };
    let mut searched = search(&sources, &word_query("x", 1), &options).await;
    assert!(!searched.all_failed());
    for report in &mut searched.reports {
        report.took_ms = 0;
    }
    insta::assert_json_snapshot!(searched);
    let said: Vec<String> = searched
        .reports
        .iter()
        .map(SourceReport::describe)
        .collect();
    insta::assert_snapshot!(said.join("\n"));
    let waits: Vec<_> = searched
        .reports
        .iter()
        .map(SourceReport::wait_seconds)
        .collect();
    assert_eq!(waits, [None, Some(2), None, None, None]);
    let mut heard = heard.lock().unwrap().clone();
    assert_eq!(heard.last().map(String::as_str), Some("d"));
    heard.sort();
    assert_eq!(heard, ["a", "b", "c", "d", "e"]);
}

#[tokio::test]
async fn nothing_found_is_not_all_failed() {
    let error = HttpClientError::Timeout {
        host: "a".to_owned(),
        timeout: Duration::from_secs(1),
    };
    let options = PaperSearchOptions::with_limit(9);
    let all = [
        failing_source("a", error.clone()),
        failing_source("b", error.clone()),
    ];
    assert!(
        search(&all, &word_query("x", 1), &options)
            .await
            .all_failed()
    );
    let some = [
        failing_source("a", error),
        source_with_articles("b", Vec::new()),
    ];
    let searched = search(&some, &word_query("x", 1), &options).await;
    assert!(!searched.all_failed() && searched.papers.is_empty());
}

#[tokio::test]
async fn what_several_find_comes_first() {
    let of = |source, names: &[&str]| {
        let papers = names.iter().map(|it| paper(it, "Ant", source));
        source_with_articles(source, papers.collect())
    };
    let (one, two, three) = (
        "On the first of all things",
        "On the second of things",
        "On the third of things",
    );
    let sources = [of("a", &[one, two]), of("b", &[three, two])];
    let searched = search(
        &sources,
        &word_query("x", 9),
        &PaperSearchOptions::default(),
    )
    .await;
    assert_eq!(titles(&searched), [two, one, three]);
    let best = &searched.papers[0];
    assert!((best.score - 2.0 / 62.0).abs() < 1e-12, "{}", best.score);
    assert_eq!(best.duplicates, 1);
    assert_eq!(best.ranks.values().copied().collect::<Vec<_>>(), [2, 2]);
}

#[tokio::test]
async fn more_than_was_asked_for_is_cut() {
    let many = (0..50).map(|it| paper(&format!("The paper that has the number {it}"), "Ant", "a"));
    let options = PaperSearchOptions {
        per_source: 3,
        ..PaperSearchOptions::default()
    };
    let searched = search(
        &[source_with_articles("a", many.collect())],
        &word_query("x", 1),
        &options,
    )
    .await;
    assert_eq!(searched.papers.len(), 3);
    assert_eq!(
        searched.reports[0].outcome,
        SourceOutcome::Ok {
            count: 3,
            total: Some(50)
        }
    );
}

#[tokio::test]
async fn a_preprint_and_its_published_version_are_one() {
    let title = "Array programming with the NumPy library";
    let preprint = Article {
        kind: WorkKind::Preprint,
        arxiv_id: ArxivId::parse("2006.10256v3"),
        summary: Some("A long abstract of the preprint.".to_owned()),
        venue: Some("arXiv".to_owned()),
        ..paper(title, "Harris", "arxiv")
    };
    let registered = Article {
        kind: WorkKind::Preprint,
        doi: Doi::parse("10.48550/arXiv.2006.10256"),
        citation_count: Some(7),
        ..paper("Array programming with NumPy", "Harris", "openalex")
    };
    let published = Article {
        kind: WorkKind::JournalArticle,
        doi: Doi::parse("10.1038/s41586-020-2649-2"),
        venue: Some("Nature".to_owned()),
        volume: Some("585".to_owned()),
        citation_count: Some(5),
        summary: Some("Short.".to_owned()),
        retracted: Some(false),
        ..paper(
            "Array Programming with the NumPy Library!",
            "HARRIS",
            "crossref",
        )
    };
    let sources = [
        source_with_articles("arxiv", vec![preprint]),
        source_with_articles("openalex", vec![registered]),
        source_with_articles("crossref", vec![published]),
    ];
    let searched = search(
        &sources,
        &word_query("x", 9),
        &PaperSearchOptions::default(),
    )
    .await;
    assert_eq!(searched.papers.len(), 1, "{:?}", titles(&searched));
    insta::assert_json_snapshot!(searched.papers);
}

#[test]
fn who_says_retracted_is_believed() {
    let says = |it| Article {
        retracted: it,
        ..paper("A paper that many have read", "Ant", "a")
    };
    let merged = |all: &[Option<bool>]| {
        let records: Vec<Article> = all.iter().copied().map(says).collect();
        merge_all(&records).retracted
    };
    assert_eq!(merged(&[Some(false), Some(true), None]), Some(true));
    assert_eq!(merged(&[Some(false), None]), Some(false));
    assert_eq!(merged(&[None, None]), None);
}

#[tokio::test]
async fn real_sources_are_merged_over_the_wire() {
    let desk = SourceHarness::new().await;
    desk.mount_file("/query", "arxiv/search.xml").await;
    desk.mount_file("/paper/search", "semantic_scholar/search.json")
        .await;
    desk.mount_file("/search", "europe_pmc/search.json").await;
    desk.mount_file("/esearch.fcgi", "pubmed/esearch.json")
        .await;
    desk.mount_file("/efetch.fcgi", "pubmed/efetch.xml").await;
    desk.mount_any(ResponseTemplate::new(429)).await;
    let names = [
        "arxiv",
        "semantic_scholar",
        "europe_pmc",
        "pubmed",
        "crossref",
    ];
    let sources: Vec<_> = names.iter().map(|it| desk.source(it)).collect();
    let searched = search(
        &sources,
        &word_query("array", 9),
        &PaperSearchOptions::default(),
    )
    .await;
    let shown: Vec<String> = searched
        .papers
        .iter()
        .map(|it| format!("{} ({})", it.article.title, it.article.sources.join(", ")))
        .collect();
    insta::assert_json_snapshot!(shown);
    let last = &searched.reports[4];
    assert!(
        matches!(last.outcome, SourceOutcome::RateLimited { wait_s: 1.. }),
        "{last:?}"
    );
}

#[tokio::test]
async fn papers_of_another_time_are_held_back() {
    let of = |title: &str, date: &str| Article {
        date: PartialDate::parse(date),
        ..paper(title, "Lovelace", "a")
    };
    let papers = vec![
        of("Too old", "2022-12-31"),
        of("Some time in the year", "2023"),
        of("Within", "2023-05-17"),
        of("Too young", "2024-01"),
        of("Who knows", ""),
    ];
    let query = PaperQuery {
        from: PartialDate::parse("2023-02"),
        to: PartialDate::parse("2023"),
        ..word_query("x", 10)
    };
    let found = search(
        &[source_with_articles("a", papers)],
        &query,
        &PaperSearchOptions::default(),
    )
    .await;
    let titles: Vec<&str> = found
        .papers
        .iter()
        .map(|it| it.article.title.as_str())
        .collect();
    assert_eq!(titles, ["Some time in the year", "Within", "Who knows"]);
}

#[tokio::test]
async fn the_newest_come_first_where_that_is_asked_for() {
    let of = |title: &str, date: &str, source: &str| Article {
        date: PartialDate::parse(date),
        ..paper(title, "Lovelace", source)
    };
    let both = "On the oldest of all things";
    let sources = [
        source_with_articles(
            "a",
            vec![of(both, "2021-03", "a"), of("June", "2024-06", "a")],
        ),
        source_with_articles(
            "b",
            vec![
                of(both, "2021-03", "b"),
                of("Who knows", "", "b"),
                of("Before", "2023", "b"),
            ],
        ),
    ];
    let asked = |order| PaperQuery {
        order,
        ..word_query("x", 10)
    };
    let options = PaperSearchOptions::default();
    let newest = search(&sources, &asked(PaperOrder::Newest), &options).await;
    assert_eq!(titles(&newest), ["June", "Before", both, "Who knows"]);
    let best = search(&sources, &asked(PaperOrder::Relevance), &options).await;
    assert_eq!(titles(&best)[0], both);
}
