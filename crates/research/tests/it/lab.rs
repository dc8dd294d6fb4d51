//! The lab: the index follows the store, in the background or when someone searches, and is made
//! again when it is lost.

use std::time::Duration;

use deliberate_toolkit::{Body, Caller, Choices, Desk, Principal, Scope, Typed};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::collect_kit::{Kit, files_in, paper, said};

async fn passages(kit: &Kit) -> u64 {
    let stats = kit.done("collection_stats", json!({})).await;
    stats["index"]["passages"].as_u64().unwrap()
}

/// Waits, though not for ever, until it is true.
pub(crate) async fn until(mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..600 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("it did not come true");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_follows_without_anyone_searching() {
    let kit = Kit::new();
    let stop = CancellationToken::new();
    kit.lab.start(&kit.registry, stop.clone());
    kit.ingest("bees.pdf", paper("On bees and their ways", "bees"))
        .await;
    until(async || passages(&kit).await > 0).await;
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_index_of_other_settings_goes_once_the_new_one_is_whole() {
    let kit = Kit::new();
    kit.ingest("bees.pdf", paper("On bees and their ways", "bees"))
        .await;
    kit.done("search_articles", json!({ "query": "bees" }))
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

    let other = Kit::at(folder, |options| options.retrieval.passage_tokens = 120);
    let stop = CancellationToken::new();
    other.lab.start(&other.registry, stop.clone());
    until(async || !indexes().contains(&before[0])).await;
    stop.cancel();
    assert_eq!(indexes().len(), 2, "{:?}", indexes());
    assert!(indexes().contains(&"index-of-mine".to_owned()));
    assert!(passages(&other).await > 0);
}

#[tokio::test]
async fn an_index_that_is_damaged_or_gone_is_made_again() {
    let kit = Kit::new();
    kit.ingest("bees.pdf", paper("On bees and their ways", "bees"))
        .await;
    kit.done("search_articles", json!({ "query": "bees" }))
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
    let again = Kit::on(folder.clone());
    let found = again
        .done("search_articles", json!({ "query": "bees" }))
        .await;
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found:#}");
    drop(again);
    // Its threads may still be writing there.
    until(async || std::fs::remove_dir_all(&index).is_ok()).await;
    let again = Kit::on(folder);
    let found = again
        .done("search_articles", json!({ "query": "bees" }))
        .await;
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found:#}");
}

#[tokio::test]
async fn an_index_whose_folder_goes_while_it_is_used_is_made_again() {
    let kit = Kit::new();
    let stop = CancellationToken::new();
    kit.lab.start(&kit.registry, stop.clone());
    kit.ingest("bees.pdf", paper("On bees and their ways", "bees"))
        .await;
    let search = async |query: &str| {
        let asked = json!({ "query": query, "limit": 1 });
        kit.done("search_articles", asked).await["results"][0]["title"].clone()
    };
    assert_eq!(search("bees").await, "On bees and their ways");
    let derived = kit.folder.path().join("derived");
    let index = std::fs::read_dir(&derived)
        .unwrap()
        .flatten()
        .find(|it| it.file_name().to_string_lossy().starts_with("index"));
    let index = index.unwrap().path();
    // Somebody may just be writing there.
    let remove = async || until(async || std::fs::remove_dir_all(&index).is_ok()).await;
    remove().await;
    assert_eq!(search("bees").await, "On bees and their ways");
    remove().await;
    // Nobody searches: whoever follows the store notices.
    kit.ingest("ants.pdf", paper("On ants and their ways", "ants"))
        .await;
    until(async || index.join("meta.json").exists()).await;
    assert_eq!(search("bees").await, "On bees and their ways");
    stop.cancel();
}

#[tokio::test]
async fn what_another_process_wrote_is_found() {
    let kit = Kit::new();
    let other = kit.again();
    kit.ingest("bees.pdf", paper("On bees and their ways", "bees"))
        .await;
    let found = other
        .done("search_articles", json!({ "query": "bees" }))
        .await;
    assert_eq!(found["results"].as_array().unwrap().len(), 1);
    other
        .ingest("ants.pdf", paper("On ants and their ways", "ants"))
        .await;
    let found = kit
        .done("search_articles", json!({ "query": "ants", "limit": 1 }))
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
    let kit = Kit::with(|options| options.watched = vec![options.papers.clone()]);
    kit.put("before.pdf", paper("On bees and their ways", "bees"));
    let stop = CancellationToken::new();
    kit.lab.start(&kit.registry, stop.clone());
    let total = async || {
        kit.done("list_articles", json!({})).await["total"]
            .as_u64()
            .unwrap()
    };
    until(async || total().await == 1).await;
    kit.put("broken.pdf", "%PDF-1.4 nothing");
    kit.put(".hidden.md", "# Hidden\n\nWords of a hidden file.");
    kit.put("after.md", "# On ants\n\nWords of a file that came later.");
    until(async || total().await == 2).await;
    let remembered = kit.folder.path().join("derived/watched.json");
    // Written down once the files that came with it are read.
    let said = async || std::fs::read_to_string(&remembered).unwrap_or_default();
    until(async || said().await.contains("before.pdf")).await;
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_comes_into_a_watched_one_is_read_with_all_in_it() {
    let kit = Kit::with(|options| options.watched = vec![options.papers.clone()]);
    kit.put("first.md", "# On bees\n\nWords about bees.");
    let stop = CancellationToken::new();
    kit.lab.start(&kit.registry, stop.clone());
    let total = async || kit.done("list_articles", json!({})).await["total"].clone();
    until(async || total().await == 1).await;
    // Moved there as a whole: of what is in it the system says nothing.
    let elsewhere = tempfile::tempdir_in(kit.folder.path()).unwrap();
    let deep = elsewhere.path().join("thesis/chapters");
    std::fs::create_dir_all(&deep).unwrap();
    for name in ["ants", "wasps"] {
        let text = format!("# On {name}\n\nWords about {name}.");
        std::fs::write(deep.join(format!("{name}.md")), text).unwrap();
    }
    let watched = kit.folder.path().join("papers");
    std::fs::rename(elsewhere.path().join("thesis"), watched.join("thesis")).unwrap();
    until(async || total().await == 3).await;
    stop.cancel();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watched_file_is_read_once_it_is_whole() {
    let kit = Kit::with(|options| options.watched = vec![options.papers.clone()]);
    let whole = paper("On bees and their ways", "bees");
    kit.put("slow.pdf", &whole[..whole.len() * 2 / 3]);
    let stop = CancellationToken::new();
    kit.lab.start(&kit.registry, stop.clone());
    kit.put("quick.md", "# On ants\n\nWords about ants.");
    let listed = async || kit.done("list_articles", json!({})).await;
    until(async || listed().await["total"] == 1).await;
    // It was there before the other, and has been at rest for as long.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(listed().await["articles"][0]["title"], "On ants");
    assert_eq!(listed().await["total"], 1);
    kit.put("slow.pdf", &whole);
    until(async || listed().await["total"] == 2).await;
    assert_eq!(listed().await["articles"][0]["pages"], 2);
    stop.cancel();
}

#[tokio::test]
async fn an_index_of_another_database_is_made_again() {
    let kit = Kit::new();
    for at in 0..6 {
        let title = format!("On bees and their ways, part {at}");
        kit.ingest(&format!("{at}.pdf"), paper(&title, "bees"))
            .await;
    }
    kit.done("search_articles", json!({ "query": "bees" }))
        .await;
    let folder = kit.folder.clone();
    kit.store.close().await;
    drop(kit);
    for file in ["store.db", "store.db-wal", "store.db-shm"] {
        let _ = std::fs::remove_file(folder.path().join(file));
    }
    let kit = Kit::on(folder);
    kit.ingest("ants.pdf", paper("On ants and their ways", "ants"))
        .await;
    let found = kit
        .done("search_articles", json!({ "query": "ants" }))
        .await;
    assert_eq!(found["results"][0]["title"], "On ants and their ways");
    let stats = kit.done("collection_stats", json!({})).await;
    assert_eq!(stats["index"]["articles"], 1, "{stats:#}");
}

fn text_of(contents: &[deliberate_toolkit::Contents]) -> &str {
    match &contents[0].body {
        Body::Text(text) => text,
        Body::Bytes(_) => panic!("text"),
    }
}

#[tokio::test]
async fn articles_are_read_by_their_addresses() {
    let kit = Kit::new();
    let id = kit
        .ingest("bees.pdf", paper("On bees and their ways", "bees"))
        .await;
    let caller = Caller::default();
    let desk = Desk {
        registry: &kit.registry,
        caller: &caller,
    };
    let family = kit
        .registry
        .resources()
        .find(|it| it.knows("knowledge://articles"))
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
            text_of(&contents).contains(holds),
            "{address}: {}",
            text_of(&contents)
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
        .done("get_article_details", json!({ "article_identifier": id }))
        .await;
    let key = details["summary"]["cite_key"].as_str().unwrap();
    let given = std::collections::HashMap::from([("id".to_owned(), key.to_owned())]);
    let typed = |argument, text| Typed {
        argument,
        text,
        given: &given,
    };
    let template = "knowledge://{id}";
    let choices = family
        .complete(template, typed("id", key.split_at(3).0), desk)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(choices.values, [key]);
    let template = "knowledge://{id}/section/{section}";
    let choices: Choices = family
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
    let kit = Kit::new();
    let id = kit
        .ingest("bees.pdf", paper("On bees and their ways", "bees"))
        .await;
    // As if only its record were known.
    let item = kit.store.item("article", &id).await.unwrap().unwrap();
    let mut body = item.body.clone();
    body["pages"] = json!(0);
    body["article"]["abstract"] = json!("Waggle dances are decoded with cameras.");
    let put = deliberate_core::Change::PutItem {
        item: deliberate_core::Item { body, ..item },
        parts: None,
    };
    let drop_text = deliberate_core::Change::DropItem {
        kind: "text".to_owned(),
        id: id.clone(),
        at: deliberate_core::Timestamp::from_micros(1),
    };
    kit.store.commit(vec![put, drop_text]).await.unwrap();
    let found = kit
        .done(
            "search_articles",
            json!({ "query": "waggle dances cameras" }),
        )
        .await;
    let first: &Value = &found["results"][0];
    assert_eq!(
        (first["article_id"].as_str(), &first["place"]["page"]),
        (Some(id.as_str()), &json!(0))
    );
    assert!(said(&found).contains("abstract"));
}

#[tokio::test]
async fn who_may_not_list_articles_sees_no_resources_and_no_error() {
    let kit = Kit::new();
    let id = kit
        .ingest("bees.pdf", paper("On bees and their ways", "bees"))
        .await;
    let caller = Caller {
        principal: Principal {
            name: None,
            scope: Scope::Only(vec!["read_article".to_owned()].into()),
        },
        ..Caller::default()
    };
    let desk = Desk {
        registry: &kit.registry,
        caller: &caller,
    };
    let address = format!("knowledge://{id}");
    let mut families = kit.registry.resources();
    let family = families.find(|it| it.knows(&address)).unwrap();
    let listed = family.list(None, 10, desk).await.unwrap();
    assert!(listed.resources.is_empty() && listed.next.is_none());
    let contents = family.read(&address, desk).await.unwrap().unwrap();
    assert!(text_of(&contents).contains("On bees and their ways"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_found_by_meaning_alone_is_told() {
    let kit = Kit::new();
    kit.ingest("bees.pdf", paper("On bees and their ways", "bees"))
        .await;
    let stats = kit.done("collection_stats", json!({})).await;
    assert!(
        said(&stats).contains("1 article still to come"),
        "{}",
        said(&stats)
    );
    let stop = CancellationToken::new();
    kit.lab.start(&kit.registry, stop.clone());
    until(async || {
        let found = kit.done(
            "search_articles",
            json!({ "query": "flower pollination insects" }),
        );
        let found = found.await;
        said(&found).contains("by meaning alone")
    })
    .await;
    let found = kit
        .done("search_articles", json!({ "query": "bees zzzz" }))
        .await;
    assert!(!said(&found).contains("by meaning alone"));
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
    let kit = Kit::with(|options| {
        options.retrieval.embeddings = deliberate_research::Embeddings::Endpoint {
            base_url,
            model: "some".to_owned(),
            key: None,
        };
    });
    kit.ingest("bees.pdf", paper("On bees and their ways", "bees"))
        .await;
    let found = kit
        .done("search_articles", json!({ "query": "bees" }))
        .await;
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found:#}");
    assert_eq!(found["mode"], "text");
    assert!(!found["notes"].as_array().unwrap().is_empty());
}
