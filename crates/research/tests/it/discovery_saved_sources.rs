//! Tests of saved sources: one search of one source.

use serde_json::{Value, json};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::any};

use super::{
    mock_crossref::{crossref_work, mock_crossref, mount_response, search_response},
    research_harness::{ResearchHarness, said_text},
};

const ALL_SOURCES: &[&str] = &[
    "arxiv",
    "pubmed",
    "crossref",
    "openalex",
    "semantic_scholar",
    "europe_pmc",
    "biorxiv",
];

#[tokio::test]
async fn every_source_can_be_saved_looked_at_and_deleted() {
    let kit = ResearchHarness::with_sources("http://127.0.0.1:9/", ALL_SOURCES);
    for source in ALL_SOURCES {
        let tool = format!("create_{source}_source");
        let mut arguments = json!({ "name": format!("My {source}"), "schedule_hours": 6 });
        if *source == "biorxiv" {
            arguments["start_date"] = json!("2024-01-01");
            arguments["end_date"] = json!("2024-01-31");
        } else {
            let told = kit.call_error(&tool, arguments.clone()).await;
            assert!(told.contains("keywords"), "{source}: {told}");
            arguments["keywords"] = json!(["bees"]);
        }
        let made = kit.call_ok(&tool, arguments.clone()).await;
        let made = &made["sources"][0];
        assert_eq!(made["source"], *source);
        assert_eq!(made["schedule"], "every 6 hours");
        assert_eq!(made["max_articles"], 50);
        let told = kit.call_error(&tool, arguments).await;
        assert!(told.contains("name of another question"), "{told}");
    }
    let arxiv = kit
        .call_ok("get_discovery_source", json!({ "source_name": "MY ARXIV" }))
        .await;
    assert_eq!(arxiv["sources"][0]["categories"], json!([]));
    assert!(
        said_text(&arxiv).contains("categories: all"),
        "{}",
        said_text(&arxiv)
    );
    let listed = kit.call_ok("list_discovery_sources", json!({})).await;
    assert_eq!(
        listed["sources"].as_array().unwrap().len(),
        ALL_SOURCES.len()
    );
    // They are not questions.
    let questions = kit
        .call_ok(
            "list_research_questions",
            json!({ "user_id": "*", "active_only": false }),
        )
        .await;
    assert_eq!(questions["questions"], json!([]));
    let named = json!({ "source_name": "My arxiv" });
    kit.call_ok("delete_discovery_source", named.clone()).await;
    for tool in [
        "get_discovery_source",
        "delete_discovery_source",
        "run_discovery",
    ] {
        let told = kit.call_error(tool, named.clone()).await;
        assert!(told.starts_with("SourceNotFound"), "{tool}: {told}");
    }
}

#[tokio::test]
async fn what_a_source_can_not_take_is_refused() {
    let kit = ResearchHarness::with_sources("http://127.0.0.1:9/", &["crossref", "pubmed"]);
    let wrong = |more: Value| {
        let mut arguments = json!({ "name": "Bees", "keywords": ["bees"] });
        for (name, value) in more.as_object().unwrap() {
            arguments[name] = value.clone();
        }
        arguments
    };
    for (more, field) in [
        (json!({ "categories": ["cs.LG"] }), "categories"),
        (json!({ "schedule_hours": 0 }), "schedule_hours"),
        (json!({ "schedule_hours": 169 }), "schedule_hours"),
        (json!({ "max_articles": 501 }), "max_articles"),
        (json!({ "date_filter": "2024/01/01" }), "date_filter"),
        (json!({ "start_date": "2023-02-29" }), "start_date"),
        (json!({ "end_date": "2024-13" }), "end_date"),
        (
            json!({ "date_filter": "2024/05/01:2024/04/01" }),
            "end_date",
        ),
        (
            json!({ "date_filter": "2024/01/01:2024/12/31", "start_date": "2020" }),
            "date_filter",
        ),
        (json!({ "name": "a\nb" }), "name"),
    ] {
        let told = kit
            .call_error("create_pubmed_source", wrong(more.clone()))
            .await;
        assert!(told.contains(field), "{more}: {told}");
    }
    // A source that the settings disable could never run.
    let told = kit
        .call_error("create_arxiv_source", wrong(json!({})))
        .await;
    assert!(told.starts_with("SourceNotFound"), "{told}");
    let fine = wrong(json!({ "date_filter": "2024/01/01:2024/12/31" }));
    let made = kit.call_ok("create_pubmed_source", fine).await;
    assert_eq!(made["sources"][0]["published_from"], "2024-01-01");
    assert_eq!(made["sources"][0]["published_to"], "2024-12-31");
}

#[tokio::test]
async fn all_are_run_although_one_fails_and_everything_found_fits() {
    let found = [
        crossref_work("10.5555/one", "Honey bees and their dances", 2024),
        crossref_work("10.5555/two", "Concrete bridges under load", 2024),
    ];
    let server = mock_crossref(&found).await;
    mount_response(&server, "/query", ResponseTemplate::new(400), 9).await;
    let kit = ResearchHarness::with_sources(&server.uri(), &["crossref", "arxiv"]);
    let told = kit.call_ok("run_discovery", json!({})).await;
    assert!(
        said_text(&told).contains("no active saved source"),
        "{}",
        said_text(&told)
    );
    for (tool, name) in [
        ("create_arxiv_source", "broken"),
        ("create_crossref_source", "good"),
    ] {
        kit.call_ok(tool, json!({ "name": name, "keywords": ["bees"] }))
            .await;
    }
    let ran = kit
        .call_ok("run_discovery", json!({ "max_articles": 7 }))
        .await;
    let runs = ran["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2, "{ran:#}");
    let of = |name: &str| runs.iter().find(|it| it["name"] == name).unwrap();
    assert!(of("broken")["run"].is_null() && of("broken")["problem"].is_string());
    assert_eq!(
        of("good")["run"]["matched"],
        2,
        "a saved source judges nothing"
    );
    let told = kit
        .call_error("run_discovery", json!({ "source_name": "broken" }))
        .await;
    assert!(told.starts_with("SourcesFailed"), "{told}");
    mount_response(&server, "/works", search_response(&found), 1).await;
    let again = kit
        .call_ok("run_discovery", json!({ "source_name": "good" }))
        .await;
    assert_eq!(again["runs"][0]["run"]["new"], 0);
    let asked = server.received_requests().await.unwrap();
    assert!(
        asked
            .iter()
            .any(|it| it.url.query().unwrap_or("").contains("sort=published"))
    );
}

#[tokio::test]
async fn a_query_without_a_word_is_not_asked() {
    let kit = ResearchHarness::with_sources("http://127.0.0.1:9/", ALL_SOURCES);
    let told = kit
        .call_error("search_papers", json!({ "query": "?!" }))
        .await;
    assert!(told.contains("query: must contain a word"), "{told}");
    let question = json!({ "name": "Nothing", "keywords": ["?", " - "] });
    let told = kit.call_error("create_research_question", question).await;
    assert!(told.contains("keywords"), "{told}");
}

#[tokio::test]
async fn what_a_key_would_change_is_told_where_there_is_none() {
    let kit = ResearchHarness::with_sources("http://127.0.0.1:9/", ALL_SOURCES);
    let listed = kit.call_ok("list_available_sources", json!({})).await;
    let told = said_text(&listed);
    assert!(
        told.contains("the citing sentences. No key is set: a free key"),
        "{told}"
    );
    assert!(told.contains("quantitative biology\n"), "{told}");
}

#[tokio::test]
async fn all_of_arxiv_is_asked_unless_classes_are_named() {
    let server = MockServer::start().await;
    let empty = "<feed xmlns='http://www.w3.org/2005/Atom'></feed>";
    let empty = ResponseTemplate::new(200).set_body_raw(empty, "application/atom+xml");
    mount_response(&server, "/query", empty, 9).await;
    let kit = ResearchHarness::with_sources(&server.uri(), &["arxiv"]);
    for (categories, told) in [(json!([]), "all"), (json!(["q-bio.PE"]), "q-bio.PE")] {
        let source = json!({ "name": told, "keywords": ["bees"], "categories": categories });
        let made = kit.call_ok("create_arxiv_source", source).await;
        let line = format!("- categories: {told}\n");
        assert!(said_text(&made).contains(&line), "{}", said_text(&made));
        let ran = json!({ "source_name": told });
        kit.call_ok("run_discovery", ran).await;
        let asked = server.received_requests().await.unwrap();
        let query = asked.last().unwrap().url.query().unwrap();
        let narrowed = categories != json!([]);
        assert_eq!(query.contains("cat%3A"), narrowed, "{query}");
    }
}

#[tokio::test]
async fn a_saved_source_is_told_in_full_with_what_it_found() {
    let title = |number: u32| format!("Honey bees of hive {number}");
    let hives = (1..=23).map(|it| crossref_work(&format!("10.5555/{it}"), &title(it), 2024));
    let mut hives: Vec<Value> = hives.collect();
    let server = mock_crossref(&hives).await;
    let kit = ResearchHarness::with_sources(&server.uri(), &["crossref"]);
    let source = json!({
        "name": "Bees", "keywords": ["bees"], "max_articles": 30,
        "start_date": "2020", "end_date": "2024-12",
    });
    kit.call_ok("create_crossref_source", source).await;
    let named = json!({ "source_name": "bees", "force_run": true });
    let ran = kit.call_ok("run_discovery", named.clone()).await;
    assert_eq!(ran["runs"][0]["run"]["matched"], 23, "{ran:#}");
    assert_eq!(ran["runs"][0]["matches"].as_array().unwrap().len(), 20);
    for word in ["**Honey bees of hive ", "and 3 more"] {
        assert!(
            said_text(&ran).contains(word),
            "{word}: {}",
            said_text(&ran)
        );
    }
    // New papers come first, wherever the source lists them.
    hives.push(crossref_work(
        "10.5555/new",
        "Honey bees of another year",
        2023,
    ));
    mount_response(&server, "/works", search_response(&hives), 1).await;
    let again = kit.call_ok("run_discovery", named).await;
    let new = &again["runs"][0]["matches"][0];
    assert_eq!(new["title"], "Honey bees of another year", "{again:#}");
    let got = json!({ "source_name": "bees", "max_matches": 2 });
    let got = kit.call_ok("get_discovery_source", got).await;
    assert_eq!(got["total_matches"], 24);
    assert_eq!(got["matches"].as_array().unwrap().len(), 2);
    assert_eq!(&got["matches"][0], new);
    for word in [
        "keywords: bees",
        "published from: 2020",
        "published to: 2024-12",
        "asked: every 24 hours",
        "papers a run: 30",
        "next run: ",
        "last run: ",
        "**Honey bees of another year**",
        "and 22 more",
    ] {
        assert!(
            said_text(&got).contains(word),
            "{word}: {}",
            said_text(&got)
        );
    }
}

#[tokio::test]
async fn sources_are_known_however_their_names_are_written() {
    let server = mock_crossref(&[crossref_work("10.5555/one", "Honey bees", 2024)]).await;
    let kit = ResearchHarness::with_sources(&server.uri(), ALL_SOURCES);
    let names = [
        "arXiv",
        "Semantic Scholar",
        "europe-pmc",
        " OpenAlex ",
        "PUBMED",
        "bioRxiv",
    ];
    let question = json!({ "name": "All", "keywords": ["bees"], "selected_sources": names });
    kit.call_ok("create_research_question", question).await;
    let search = json!({ "query": "bees", "sources": ["CrossRef"] });
    let found = kit.call_ok("search_papers", search).await;
    assert_eq!(found["sources"][0]["source"], "crossref");
    let other = json!({ "query": "bees", "sources": ["arxiv.org"] });
    let told = kit.call_error("search_papers", other).await;
    assert!(told.starts_with("SourceNotFound"), "{told}");
}

#[tokio::test]
async fn a_source_that_was_asked_too_often_is_listed_with_its_wait() {
    let server = MockServer::start().await;
    let slower = ResponseTemplate::new(429).insert_header("retry-after", "300");
    Mock::given(any()).respond_with(slower).mount(&server).await;
    let kit = ResearchHarness::with_sources(&server.uri(), &[ALL_SOURCES, &["medrxiv"]].concat());
    let listed = async || kit.call_ok("list_available_sources", json!({})).await;
    let before = listed().await;
    assert!(!said_text(&before).contains("asked too often"));
    let told = kit
        .call_error("search_papers", json!({ "query": "bees" }))
        .await;
    assert!(told.starts_with("SourcesFailed"), "{told}");
    let after = listed().await;
    let sources = after["sources"].as_array().unwrap();
    assert_eq!(sources.len(), ALL_SOURCES.len() + 1);
    for source in sources {
        let wait = source["wait_s"].as_u64().unwrap_or_default();
        assert!((200..=300).contains(&wait), "{source}");
    }
    assert!(said_text(&after).contains("It is rate limited; retry in "));
}
