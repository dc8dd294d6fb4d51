//! Tests of the research services: the index follows the store, in the background or on a search,
//! and is rebuilt when it is lost.

use std::time::Duration;

use deliberate_testkit::wait_until_async;
use deliberate_toolkit::{
    CallerContext, CompletionRequest, CompletionValues, Principal, ResourceBody, ResourceContext,
    ToolScope,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::research_harness::{ResearchHarness, files_in, paper_pdf, said_text};

async fn passage_count(harness: &ResearchHarness) -> u64 {
    let stats = harness.call_ok("collection_stats", json!({})).await;
    stats["index"]["passages"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_follows_without_anyone_searching() {
    let kit = ResearchHarness::new();
    let stop = CancellationToken::new();
    kit.services.start(&kit.registry, stop.clone());
    kit.ingest("bees.pdf", paper_pdf("On bees and their ways", "bees"))
        .await;
    wait_until_async(async || passage_count(&kit).await > 0).await;
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_of_other_settings_goes_once_the_new_one_is_whole() {
    let kit = ResearchHarness::new();
    kit.ingest("bees.pdf", paper_pdf("On bees and their ways", "bees"))
        .await;
    kit.call_ok("search_articles", json!({ "query": "bees" }))
        .await;
    let derived = kit.folder.path().join("derived");
    let indexes = || {
        let mut names = files_in(&derived);
        names.retain(|it| it.starts_with("index"));
        names
    };
    let before = indexes();
    assert_eq!(before.len(), 1, "{before:?}");
    std::fs::create_dir(derived.join("index-of-mine")).unwrap();
    let folder = kit.folder.clone();
    drop(kit);

    let other = ResearchHarness::in_folder_with_options(folder, |options| {
        options.retrieval.passage_tokens = 120;
    });
    let stop = CancellationToken::new();
    other.services.start(&other.registry, stop.clone());
    wait_until_async(async || !indexes().contains(&before[0])).await;
    stop.cancel();
    assert_eq!(indexes().len(), 2, "{:?}", indexes());
    assert!(indexes().contains(&"index-of-mine".to_owned()));
    assert!(passage_count(&other).await > 0);
}

#[tokio::test]
async fn an_index_that_is_damaged_or_gone_is_made_again() {
    let kit = ResearchHarness::new();
    kit.ingest("bees.pdf", paper_pdf("On bees and their ways", "bees"))
        .await;
    kit.call_ok("search_articles", json!({ "query": "bees" }))
        .await;
    let derived = kit.folder.path().join("derived");
    let index = std::fs::read_dir(&derived)
        .unwrap()
        .flatten()
        .find(|it| it.file_name().to_string_lossy().starts_with("index"));
    let index = index.unwrap().path();
    let folder = kit.folder.clone();
    drop(kit);
    std::fs::write(index.join("meta.json"), "{ broken").unwrap();
    let again = ResearchHarness::in_folder(folder.clone());
    let found = again
        .call_ok("search_articles", json!({ "query": "bees" }))
        .await;
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found:#}");
    drop(again);
    // Index threads may still be writing there.
    wait_until_async(async || std::fs::remove_dir_all(&index).is_ok()).await;
    let again = ResearchHarness::in_folder(folder);
    let found = again
        .call_ok("search_articles", json!({ "query": "bees" }))
        .await;
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found:#}");
}

#[tokio::test]
async fn an_index_whose_folder_goes_while_it_is_used_is_made_again() {
    let kit = ResearchHarness::new();
    let stop = CancellationToken::new();
    kit.services.start(&kit.registry, stop.clone());
    kit.ingest("bees.pdf", paper_pdf("On bees and their ways", "bees"))
        .await;
    let search = async |query: &str| {
        let asked = json!({ "query": query, "limit": 1 });
        kit.call_ok("search_articles", asked).await["results"][0]["title"].clone()
    };
    assert_eq!(search("bees").await, "On bees and their ways");
    let derived = kit.folder.path().join("derived");
    let index = std::fs::read_dir(&derived)
        .unwrap()
        .flatten()
        .find(|it| it.file_name().to_string_lossy().starts_with("index"));
    let index = index.unwrap().path();
    // An index thread may be writing there.
    let remove = async || wait_until_async(async || std::fs::remove_dir_all(&index).is_ok()).await;
    remove().await;
    assert_eq!(search("bees").await, "On bees and their ways");
    remove().await;
    // Without a search, the background sync notices.
    kit.ingest("ants.pdf", paper_pdf("On ants and their ways", "ants"))
        .await;
    wait_until_async(async || index.join("meta.json").exists()).await;
    assert_eq!(search("bees").await, "On bees and their ways");
    stop.cancel();
}

#[tokio::test]
async fn what_another_process_wrote_is_found() {
    let kit = ResearchHarness::new();
    let other = kit.reopen();
    kit.ingest("bees.pdf", paper_pdf("On bees and their ways", "bees"))
        .await;
    let found = other
        .call_ok("search_articles", json!({ "query": "bees" }))
        .await;
    assert_eq!(found["results"].as_array().unwrap().len(), 1);
    other
        .ingest("ants.pdf", paper_pdf("On ants and their ways", "ants"))
        .await;
    let found = kit
        .call_ok("search_articles", json!({ "query": "ants", "limit": 1 }))
        .await;
    assert!(
        found["results"][0]["title"]
            .as_str()
            .unwrap()
            .contains("ants"),
        "{found:#}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_come_into_a_watched_folder_are_read_once() {
    let kit = ResearchHarness::with_options(|options| {
        options.watched_folders = vec![options.papers_folder.clone()];
    });
    kit.write_paper("before.pdf", paper_pdf("On bees and their ways", "bees"));
    let stop = CancellationToken::new();
    kit.services.start(&kit.registry, stop.clone());
    let total = async || {
        kit.call_ok("list_articles", json!({})).await["total"]
            .as_u64()
            .unwrap()
    };
    wait_until_async(async || total().await == 1).await;
    kit.write_paper("broken.pdf", "%PDF-1.4 nothing");
    kit.write_paper(".hidden.md", "# Hidden\n\nWords of a hidden file.");
    kit.write_paper("after.md", "# On ants\n\nWords of a file that came later.");
    wait_until_async(async || total().await == 2).await;
    let remembered = kit.folder.path().join("derived/watched.json");
    // The file is written once the files that arrived with it are read.
    let said = async || std::fs::read_to_string(&remembered).unwrap_or_default();
    wait_until_async(async || said().await.contains("before.pdf")).await;
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_comes_into_a_watched_one_is_read_with_all_in_it() {
    let kit = ResearchHarness::with_options(|options| {
        options.watched_folders = vec![options.papers_folder.clone()];
    });
    kit.write_paper("first.md", "# On bees\n\nWords about bees.");
    let stop = CancellationToken::new();
    kit.services.start(&kit.registry, stop.clone());
    let total = async || kit.call_ok("list_articles", json!({})).await["total"].clone();
    wait_until_async(async || total().await == 1).await;
    // A folder that is moved as a whole: the system reports no events for its files.
    let elsewhere = tempfile::tempdir_in(kit.folder.path()).unwrap();
    let deep = elsewhere.path().join("thesis/chapters");
    std::fs::create_dir_all(&deep).unwrap();
    for name in ["ants", "wasps"] {
        let text = format!("# On {name}\n\nWords about {name}.");
        std::fs::write(deep.join(format!("{name}.md")), text).unwrap();
    }
    let watched = kit.folder.path().join("papers");
    std::fs::rename(elsewhere.path().join("thesis"), watched.join("thesis")).unwrap();
    wait_until_async(async || total().await == 3).await;
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watched_file_is_read_once_it_is_whole() {
    let kit = ResearchHarness::with_options(|options| {
        options.watched_folders = vec![options.papers_folder.clone()];
    });
    let whole = paper_pdf("On bees and their ways", "bees");
    kit.write_paper("slow.pdf", &whole[..whole.len() * 2 / 3]);
    let stop = CancellationToken::new();
    kit.services.start(&kit.registry, stop.clone());
    kit.write_paper("quick.md", "# On ants\n\nWords about ants.");
    let listed = async || kit.call_ok("list_articles", json!({})).await;
    wait_until_async(async || listed().await["total"] == 1).await;
    // It existed before the other file and has been unchanged for as long.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(listed().await["articles"][0]["title"], "On ants");
    assert_eq!(listed().await["total"], 1);
    kit.write_paper("slow.pdf", &whole);
    wait_until_async(async || listed().await["total"] == 2).await;
    assert_eq!(listed().await["articles"][0]["pages"], 2);
    stop.cancel();
}

#[tokio::test]
async fn an_index_of_another_database_is_made_again() {
    let kit = ResearchHarness::new();
    for at in 0..6 {
        let title = format!("On bees and their ways, part {at}");
        kit.ingest(&format!("{at}.pdf"), paper_pdf(&title, "bees"))
            .await;
    }
    kit.call_ok("search_articles", json!({ "query": "bees" }))
        .await;
    let folder = kit.folder.clone();
    kit.store.close().await;
    drop(kit);
    for file in ["store.db", "store.db-wal", "store.db-shm"] {
        let _ = std::fs::remove_file(folder.path().join(file));
    }
    let kit = ResearchHarness::in_folder(folder);
    kit.ingest("ants.pdf", paper_pdf("On ants and their ways", "ants"))
        .await;
    let found = kit
        .call_ok("search_articles", json!({ "query": "ants" }))
        .await;
    assert_eq!(found["results"][0]["title"], "On ants and their ways");
    let stats = kit.call_ok("collection_stats", json!({})).await;
    assert_eq!(stats["index"]["articles"], 1, "{stats:#}");
}

fn contents_text(contents: &[deliberate_toolkit::ResourceData]) -> &str {
    match &contents[0].body {
        ResourceBody::Text(text) => text,
        ResourceBody::Bytes(_) => panic!("text"),
    }
}

#[tokio::test]
async fn articles_are_read_by_their_addresses() {
    let kit = ResearchHarness::new();
    let id = kit
        .ingest("bees.pdf", paper_pdf("On bees and their ways", "bees"))
        .await;
    let caller = CallerContext::default();
    let desk = ResourceContext {
        registry: &kit.registry,
        caller: &caller,
    };
    let family = kit
        .registry
        .resources()
        .find(|it| it.matches("knowledge://articles"))
        .unwrap();
    let listed = family.list(None, 10, desk).await.unwrap();
    let addresses: Vec<&str> = listed.resources.iter().map(|it| it.uri.as_str()).collect();
    assert_eq!(
        addresses,
        ["knowledge://articles", &format!("knowledge://{id}")]
    );
    for (address, holds) in [
        ("knowledge://articles".to_owned(), "On bees"),
        (format!("knowledge://{id}"), "Outline"),
        (format!("knowledge://{id}/page/2"), "ninety days"),
        (
            format!("knowledge://{id}/section/2%20Method"),
            "careful set of rules",
        ),
    ] {
        let contents = family.read(&address, desk).await.unwrap().unwrap();
        assert!(
            contents_text(&contents).contains(holds),
            "{address}: {}",
            contents_text(&contents)
        );
    }
    for address in [
        "knowledge://nobody".to_owned(),
        format!("knowledge://{id}/page/9"),
        format!("knowledge://{id}/page/x"),
        format!("knowledge://{id}/section/none"),
    ] {
        let error = family.read(&address, desk).await.unwrap().unwrap_err();
        assert_eq!(error.code(), "ResourceNotFound", "{address}");
    }
    assert!(family.read("knowledge://a/b/c/d", desk).await.is_none());

    let details = kit
        .call_ok("get_article_details", json!({ "article_identifier": id }))
        .await;
    let key = details["summary"]["cite_key"].as_str().unwrap();
    let given = std::collections::HashMap::from([("id".to_owned(), key.to_owned())]);
    let typed = |argument, text| CompletionRequest {
        argument,
        text,
        arguments: &given,
    };
    let template = "knowledge://{id}";
    let choices = family
        .complete(template, typed("id", key.split_at(3).0), desk)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(choices.values, [key]);
    let template = "knowledge://{id}/section/{section}";
    let choices: CompletionValues = family
        .complete(template, typed("section", "me"), desk)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(choices.values, ["Method"]);
    assert!(
        family
            .complete("other://{id}", typed("id", ""), desk)
            .await
            .is_none()
    );
}

#[tokio::test]
async fn an_article_without_a_text_is_found_by_its_abstract() {
    let kit = ResearchHarness::new();
    let id = kit
        .ingest("bees.pdf", paper_pdf("On bees and their ways", "bees"))
        .await;
    // As if only its record were known.
    let item = kit.store.document("article", &id).await.unwrap().unwrap();
    let mut body = item.body.clone();
    body["pages"] = json!(0);
    body["article"]["abstract"] = json!("Waggle dances are decoded with cameras.");
    let put = deliberate_core::Change::PutDocument {
        item: deliberate_core::StoredDocument { body, ..item },
        parts: None,
    };
    let drop_text = deliberate_core::Change::DeleteDocument {
        kind: "text".to_owned(),
        id: id.clone(),
        at: deliberate_core::Timestamp::from_micros(1),
    };
    kit.store.commit(vec![put, drop_text]).await.unwrap();
    let found = kit
        .call_ok(
            "search_articles",
            json!({ "query": "waggle dances cameras" }),
        )
        .await;
    let first: &Value = &found["results"][0];
    assert_eq!(
        (first["article_id"].as_str(), &first["place"]["page"]),
        (Some(id.as_str()), &json!(0))
    );
    assert!(said_text(&found).contains("abstract"));
}

#[tokio::test]
async fn who_may_not_list_articles_sees_no_resources_and_no_error() {
    let kit = ResearchHarness::new();
    let id = kit
        .ingest("bees.pdf", paper_pdf("On bees and their ways", "bees"))
        .await;
    let caller = CallerContext {
        principal: Principal {
            name: None,
            scope: ToolScope::Only(vec!["read_article".to_owned()].into()),
        },
        ..CallerContext::default()
    };
    let desk = ResourceContext {
        registry: &kit.registry,
        caller: &caller,
    };
    let address = format!("knowledge://{id}");
    let mut families = kit.registry.resources();
    let family = families.find(|it| it.matches(&address)).unwrap();
    let listed = family.list(None, 10, desk).await.unwrap();
    assert!(listed.resources.is_empty() && listed.next.is_none());
    let contents = family.read(&address, desk).await.unwrap().unwrap();
    assert!(contents_text(&contents).contains("On bees and their ways"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_found_by_meaning_alone_is_told() {
    let kit = ResearchHarness::new();
    kit.ingest("bees.pdf", paper_pdf("On bees and their ways", "bees"))
        .await;
    let stats = kit.call_ok("collection_stats", json!({})).await;
    assert!(
        said_text(&stats).contains("1 article not indexed yet"),
        "{}",
        said_text(&stats)
    );
    let stop = CancellationToken::new();
    kit.services.start(&kit.registry, stop.clone());
    wait_until_async(async || {
        let found = kit.call_ok(
            "search_articles",
            json!({ "query": "flower pollination insects" }),
        );
        let found = found.await;
        said_text(&found).contains("by meaning alone")
    })
    .await;
    let found = kit
        .call_ok("search_articles", json!({ "query": "bees zzzz" }))
        .await;
    assert!(!said_text(&found).contains("by meaning alone"));
    stop.cancel();
}

#[tokio::test]
async fn without_its_embedder_search_goes_by_words_and_says_so() {
    let server = wiremock::MockServer::start().await;
    let refused = wiremock::ResponseTemplate::new(401);
    wiremock::Mock::given(wiremock::matchers::any())
        .respond_with(refused)
        .mount(&server)
        .await;
    let base_url = url::Url::parse(&format!("{}/v1", server.uri())).unwrap();
    let kit = ResearchHarness::with_options(|options| {
        options.retrieval.embeddings = deliberate_research::EmbeddingOptions::Endpoint {
            base_url,
            model: "some".to_owned(),
            key: None,
        };
    });
    kit.ingest("bees.pdf", paper_pdf("On bees and their ways", "bees"))
        .await;
    let found = kit
        .call_ok("search_articles", json!({ "query": "bees" }))
        .await;
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found:#}");
    assert_eq!(found["mode"], "text");
    assert!(!found["notes"].as_array().unwrap().is_empty());
}
