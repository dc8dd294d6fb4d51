//! Knowledge collections: made, filled, searched, deleted with and without what is in them.

use serde_json::json;

use crate::collect_kit::{Kit, paper, said};

#[tokio::test]
async fn external_knowledge_is_searched_apart_from_papers() {
    let kit = Kit::new();
    kit.ingest("bees.pdf", paper("On bees and their ways", "honey bees"))
        .await;
    kit.put(
        "notes.md",
        "# Lecture notes\n\n## Bees\n\nHoney bees dance to tell where food is.\n",
    );
    let upload =
        json!({ "file_path": "notes.md", "collection_name": "Biology", "title": "My notes" });
    let up = kit.done("upload_external_knowledge", upload.clone()).await;
    assert_eq!(up["outcome"], "added");
    let again = kit.done("upload_external_knowledge", upload).await;
    assert_eq!(
        (again["outcome"].as_str(), &again["article_id"]),
        (Some("unchanged"), &up["article_id"])
    );

    let found = kit
        .done(
            "search_external_knowledge",
            json!({ "query": "honey bees" }),
        )
        .await;
    let results = found["results"].as_array().unwrap();
    assert!(!results.is_empty());
    assert!(
        results
            .iter()
            .all(|it| it["article"]["article_id"] == up["article_id"]),
        "{found:#}"
    );
    assert_eq!(results[0]["article"]["title"], "My notes");
    let within = json!({ "query": "honey bees", "collection_name": "biology" });
    let within = kit.done("search_external_knowledge", within).await;
    assert_eq!(within["results"].as_array().unwrap().len(), results.len());
    let wrong = json!({ "query": "bees", "collection_name": "biologie" });
    let wrong = kit.wrong("search_external_knowledge", wrong).await;
    assert!(
        wrong.starts_with("NotFound") && wrong.contains("Biology"),
        "{wrong}"
    );
}

#[tokio::test]
async fn a_paper_is_put_into_a_project_and_nothing_moves() {
    let kit = Kit::new();
    let id = kit
        .ingest("bees.pdf", paper("On bees and their ways", "bees"))
        .await;
    let moved = json!({ "paper_id": id, "project_name": "../My  project" });
    let moved = kit.done("move_paper_to_project", moved).await;
    assert_eq!(moved["project_name"], "../My project");
    assert!(kit.papers().join("bees.pdf").exists());
    let listed = kit.done("list_knowledge_collections", json!({})).await;
    assert_eq!(listed["collections"][0]["articles"], 1);
    let twice = kit
        .wrong(
            "create_knowledge_collection",
            json!({ "name": "../my project" }),
        )
        .await;
    assert!(twice.starts_with("AlreadyThere"), "{twice}");
}

#[tokio::test]
async fn a_collection_goes_with_or_without_its_articles() {
    let kit = Kit::new();
    let one = kit
        .ingest("bees.pdf", paper("On bees and their ways", "bees"))
        .await;
    let two = kit
        .ingest("ants.pdf", paper("On ants and their ways", "ants"))
        .await;
    for (id, project) in [(&one, "a"), (&two, "a"), (&two, "b")] {
        kit.done(
            "move_paper_to_project",
            json!({ "paper_id": id, "project_name": project }),
        )
        .await;
    }
    let gone = json!({ "collection_name": "A", "delete_documents": true });
    let gone = kit.done("delete_knowledge_collection", gone).await;
    assert!(said(&gone).contains("deleted"));
    let left = kit.done("list_articles", json!({})).await;
    assert_eq!(left["total"], 1);
    assert_eq!(left["articles"][0]["collections"], json!(["b"]));
    kit.done(
        "delete_knowledge_collection",
        json!({ "collection_name": "b" }),
    )
    .await;
    let left = kit.done("list_articles", json!({})).await;
    assert_eq!(left["total"], 1);
    assert!(left["articles"][0].get("collections").is_none());
}
