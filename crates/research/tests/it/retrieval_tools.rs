//! Tests of reindexing, search measurements, and custom indexes.

use serde_json::json;

use super::research_harness::{ResearchHarness, paper_pdf, said_text};

#[tokio::test]
async fn the_index_is_made_again_from_the_store() {
    let kit = ResearchHarness::new();
    for name in ["bees", "ants", "flies"] {
        let title = format!("On {name} and their ways");
        kit.ingest(&format!("{name}.pdf"), paper_pdf(&title, name))
            .await;
    }
    let made = kit
        .call_ok("reindex_collection", json!({ "batch_size": 10 }))
        .await;
    assert_eq!(
        (made["finished"].as_bool(), made["articles"].as_u64()),
        (Some(true), Some(3)),
        "{made:#}"
    );
    let again = kit
        .call_ok("reindex_collection", json!({ "clear_existing": false }))
        .await;
    assert_eq!(again["passages"], made["passages"]);
    assert_eq!(again["passages_before"], made["passages"]);
    let wrong = kit
        .call_error("reindex_collection", json!({ "include_articles": false }))
        .await;
    assert!(wrong.contains("include_articles"), "{wrong}");
}

#[tokio::test]
async fn search_is_measured_in_every_way() {
    let kit = ResearchHarness::new();
    kit.ingest("bees.pdf", paper_pdf("On bees and their ways", "bees"))
        .await;
    kit.ingest("rocks.pdf", paper_pdf("On rocks and minerals", "granite"))
        .await;
    kit.call_ok("search_articles", json!({ "query": "bees" }))
        .await;
    let measured = kit.call_ok("optimize_search", json!({})).await;
    let all = measured["measured"].as_array().unwrap();
    assert_eq!(all.len(), 6, "{measured:#}");
    assert!(all.iter().all(|it| it["own_rank"] == 1), "{measured:#}");
    assert!(
        all.iter()
            .all(|it| it["milliseconds"].as_f64().unwrap() > 0.0)
    );
    assert!(said_text(&measured).contains("Nothing was changed"));
    let told = kit
        .call_ok("optimize_search", json!({ "analyze_performance": false }))
        .await;
    assert_eq!(told["measured"], json!([]));
    assert_eq!(told["settings"]["rank_constant"], 60.0);
}

#[tokio::test]
async fn a_custom_index_is_alive() {
    let kit = ResearchHarness::new();
    kit.ingest(
        "bees.pdf",
        paper_pdf("On bees and their ways", "honey bees"),
    )
    .await;
    kit.ingest("rocks.pdf", paper_pdf("On rocks and minerals", "granite"))
        .await;
    let create = json!({ "index_name": "Insects", "topic_filter": "honey bees" });
    let made = kit.call_ok("create_custom_index", create.clone()).await;
    assert_eq!(made["articles"], 1, "{made:#}");
    assert!(
        kit.call_error("create_custom_index", create)
            .await
            .starts_with("AlreadyThere")
    );
    let late = kit
        .ingest(
            "late.pdf",
            paper_pdf("Later words on hives", "honey bees in hives"),
        )
        .await;
    let search = json!({ "index_name": "insects", "query": "measurements over ninety days" });
    let found = kit.call_ok("search_custom_index", search.clone()).await;
    let titles: Vec<&str> = found["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["article"]["title"].as_str().unwrap())
        .collect();
    assert_eq!(titles.len(), 2, "{titles:?}");
    assert!(!titles.iter().any(|it| it.contains("rocks")));
    assert!(
        found["results"]
            .as_array()
            .unwrap()
            .iter()
            .any(|it| it["article"]["article_id"] == late)
    );
    let listed = kit.call_ok("list_custom_indexes", json!({})).await;
    assert_eq!(listed["indexes"][0]["articles"], 2);
    kit.call_ok("delete_custom_index", json!({ "index_name": "insects" }))
        .await;
    assert!(
        kit.call_error("search_custom_index", search)
            .await
            .starts_with("NotFound")
    );
    assert_eq!(kit.call_ok("list_articles", json!({})).await["total"], 3);
}
