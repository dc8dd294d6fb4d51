//! Whether two files are one work, and one file is one work.

use deliberate_toolkit::{Answer, Caller};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::method};

use crate::collect_kit::{Kit, paper, pdf, said};

async fn upload(kit: &Kit, path: &str, collection: &str) -> Value {
    let arguments = json!({ "file_path": path, "collection_name": collection });
    kit.done("upload_external_knowledge", arguments).await
}

async fn process(kit: &Kit, path: &str) -> Value {
    kit.done("process_pdf", json!({ "pdf_path": path })).await
}

async fn finds(kit: &Kit, query: &str) -> bool {
    let found = kit.done("search_articles", json!({ "query": query })).await;
    found["results"].as_array().unwrap().iter().any(|it| {
        let preview = it["preview"].as_str().unwrap_or_default();
        preview.contains(query)
    })
}

#[tokio::test]
async fn two_files_of_one_title_are_two() {
    let kit = Kit::new();
    kit.put(
        "x/Introduction.md",
        "# Introduction\n\nAll about turf, week 1.",
    );
    kit.put(
        "y/Introduction.md",
        "# Introduction\n\nAll about cheese, week 9.",
    );
    let turf = upload(&kit, "x/Introduction.md", "Turf").await;
    let cheese = upload(&kit, "y/Introduction.md", "Cheese").await;
    assert_eq!(cheese["outcome"], "added", "{cheese:#}");
    assert_ne!(turf["article_id"], cheese["article_id"]);
    assert!(finds(&kit, "turf").await && finds(&kit, "cheese").await);

    kit.put(
        "x/Introduction.md",
        "# Introduction\n\nAll about peat, week 1.",
    );
    let peat = upload(&kit, "x/Introduction.md", "Turf").await;
    assert_eq!(peat["article_id"], turf["article_id"], "a changed file");
    assert!(finds(&kit, "peat").await && finds(&kit, "cheese").await);

    kit.put("a.md", "# Same Title Of Note\n\nWords on hedges.");
    kit.put("b.md", "# Same Title Of Note\n\nWords on ditches.");
    let (a, b) = (process(&kit, "a.md").await, process(&kit, "b.md").await);
    assert_ne!(a["article_id"], b["article_id"]);
    assert!(finds(&kit, "hedges").await && finds(&kit, "ditches").await);
}

#[tokio::test]
async fn a_text_that_goes_for_another_is_told() {
    let kit = Kit::new();
    let title = "On bees and their ways in the high north of Sweden";
    let words = |line: &str| pdf(Some(title), &[&[(20, title), (10, line)]]);
    kit.put(
        "a.pdf",
        words("These are the words of the first of two files."),
    );
    kit.put(
        "b.pdf",
        words("These are the words of the second of two files."),
    );
    let first = process(&kit, "a.pdf").await;
    let second = process(&kit, "b.pdf").await;
    assert_eq!(first["article_id"], second["article_id"]);
    assert!(
        said(&second).contains("a.pdf; the text of this file took its place"),
        "{}",
        said(&second)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_file_brought_by_many_at_once_is_added_once() {
    let kit = Kit::new();
    kit.put("bees.pdf", paper("On bees and their ways", "bees"));
    let calls = (0..6).map(|_| {
        let arguments = json!({ "pdf_path": "bees.pdf" });
        kit.registry
            .call("process_pdf", arguments, Caller::default())
    });
    let mut outcomes = Vec::new();
    for answer in futures::future::join_all(calls).await {
        let Answer::Done(output) = answer.unwrap() else {
            panic!("it asks nothing");
        };
        outcomes.push(output["outcome"].as_str().unwrap().to_owned());
    }
    outcomes.sort();
    let unchanged = ["unchanged"; 5].map(str::to_owned);
    assert_eq!(outcomes[0], "added", "{outcomes:?}");
    assert_eq!(outcomes[1..], unchanged, "{outcomes:?}");
}

#[tokio::test]
async fn authors_are_found_as_people_type_them() {
    let server = MockServer::start().await;
    let record = json!({ "status": "ok", "message-type": "work", "message": {
        "DOI": "10.5555/moor",
        "type": "journal-article",
        "title": ["On moors and their ways"],
        "author": [
            { "given": "J\u{f6}rg", "family": "M\u{fc}ller" },
            { "given": "Zo\u{eb}", "family": "van der Meer" }
        ],
        "issued": { "date-parts": [[2019]] }
    } });
    Mock::given(method("GET"))
        .respond_with(ResponseTemplate::new(200).set_body_json(record))
        .mount(&server)
        .await;
    let kit = Kit::with_sources(&server.uri(), &["crossref"]);
    kit.done("add_article", json!({ "identifiers": ["10.5555/moor"] }))
        .await;
    for name in [
        "Muller",
        "M\u{fc}ller",
        "Mu\u{308}ller, J.",
        "M\u{fc}ller, J\u{f6}rg",
        "van der Meer",
        "Meer",
    ] {
        let listed = kit
            .done("list_articles", json!({ "search_term": name }))
            .await;
        assert_eq!(listed["total"], 1, "{name}: {listed:#}");
        let arguments = json!({ "query": "moors", "author": name });
        let found = kit.done("search_articles", arguments).await;
        let results = found["results"].as_array().unwrap();
        assert_eq!(results.len(), 1, "{name}: {found:#}");
    }
}

#[tokio::test]
async fn one_of_a_thing_is_one() {
    let kit = Kit::new();
    kit.put("ants.md", "# On ants\n\nWords about ants.");
    let id = process(&kit, "ants.md").await["article_id"].clone();
    for tool in ["read_article", "get_article_details"] {
        let shown = kit.done(tool, json!({ "article_identifier": id })).await;
        assert!(said(&shown).contains("1 page, "), "{}", said(&shown));
    }
}
