//! Tests of knowledge collections: create, fill, search, and delete with or without documents.

use serde_json::json;

use super::research_harness::{ResearchHarness, paper_pdf, said_text};

#[tokio::test]
async fn external_knowledge_is_searched_apart_from_papers() {
    let kit = ResearchHarness::new();
    kit.ingest(
        "bees.pdf",
        paper_pdf("On bees and their ways", "honey bees"),
    )
    .await;
    kit.write_paper(
        "notes.md",
        "# Lecture notes\n\n## Bees\n\nHoney bees dance to tell where food is.\n",
    );
    let upload =
        json!({ "file_path": "notes.md", "collection_name": "Biology", "title": "My notes" });
    let up = kit
        .call_ok("upload_external_knowledge", upload.clone())
        .await;
    assert_eq!(up["outcome"], "added");
    let again = kit.call_ok("upload_external_knowledge", upload).await;
    assert_eq!(
        (again["outcome"].as_str(), &again["article_id"]),
        (Some("unchanged"), &up["article_id"])
    );

    let found = kit
        .call_ok(
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
    let within = kit.call_ok("search_external_knowledge", within).await;
    assert_eq!(within["results"].as_array().unwrap().len(), results.len());
    let wrong = json!({ "query": "bees", "collection_name": "biologie" });
    let wrong = kit.call_error("search_external_knowledge", wrong).await;
    assert!(
        wrong.starts_with("NotFound") && wrong.contains("Biology"),
        "{wrong}"
    );
}

#[tokio::test]
async fn a_paper_is_put_into_a_project_and_nothing_moves() {
    let kit = ResearchHarness::new();
    let id = kit
        .ingest("bees.pdf", paper_pdf("On bees and their ways", "bees"))
        .await;
    let moved = json!({ "paper_id": id, "project_name": "../My  project" });
    let moved = kit.call_ok("move_paper_to_project", moved).await;
    assert_eq!(moved["project_name"], "../My project");
    assert!(kit.papers_folder().join("bees.pdf").exists());
    let listed = kit.call_ok("list_knowledge_collections", json!({})).await;
    assert_eq!(listed["collections"][0]["articles"], 1);
    let twice = kit
        .call_error(
            "create_knowledge_collection",
            json!({ "name": "../my project" }),
        )
        .await;
    assert!(twice.starts_with("AlreadyThere"), "{twice}");
}

#[tokio::test]
async fn a_paper_that_is_moved_is_no_longer_where_it_was() {
    let kit = ResearchHarness::new();
    let id = kit
        .ingest("bees.pdf", paper_pdf("On bees and their ways", "bees"))
        .await;
    let to = async |project: &str, keep: bool| {
        let moved = json!({ "paper_id": id, "project_name": project, "keep_others": keep });
        kit.call_ok("move_paper_to_project", moved).await
    };
    to("Hives", false).await;
    let moved = to("Meadows", false).await;
    assert_eq!(moved["article"]["collections"], json!(["Meadows"]));
    assert_eq!(moved["taken_from"], json!(["Hives"]));
    assert!(
        said_text(&moved).contains("no longer in Hives"),
        "{moved:#}"
    );
    let again = to("meadows", false).await;
    assert_eq!(again["taken_from"], json!([]), "{again:#}");
    let also = to("Hives", true).await;
    assert_eq!(also["article"]["collections"], json!(["Meadows", "Hives"]));
    assert_eq!(also["taken_from"], json!([]));
}

#[tokio::test]
async fn a_collection_goes_with_what_was_uploaded_if_that_is_said_twice() {
    let kit = ResearchHarness::new();
    let bees = kit
        .ingest("bees.pdf", paper_pdf("On bees and their ways", "bees"))
        .await;
    kit.write_paper("one.md", "# Notes on hives\n\nHives are warm.");
    kit.write_paper("two.md", "# Notes on wax\n\nWax is soft.");
    for (file, name) in [("one.md", "a"), ("two.md", "a"), ("two.md", "b")] {
        let upload = json!({ "file_path": file, "collection_name": name });
        kit.call_ok("upload_external_knowledge", upload).await;
    }
    let moved = json!({ "paper_id": bees, "project_name": "a" });
    kit.call_ok("move_paper_to_project", moved).await;
    let total = async || kit.call_ok("list_articles", json!({})).await["total"].clone();

    let mut gone = json!({ "collection_name": "A", "delete_documents": true });
    let asked = kit
        .call_ok("delete_knowledge_collection", gone.clone())
        .await;
    assert_eq!(asked["deleted"], false, "{asked:#}");
    assert_eq!(asked["documents"], 1);
    for part in [
        "Nothing was deleted",
        "1 uploaded document",
        "2 other articles",
        "Notes on hives",
        "confirm_deletion",
    ] {
        assert!(said_text(&asked).contains(part), "{part}: {asked:#}");
    }
    assert!(!said_text(&asked).contains("wax") && !said_text(&asked).contains("bees"));
    assert_eq!(total().await, 3);

    gone["confirm_deletion"] = json!(true);
    let gone = kit.call_ok("delete_knowledge_collection", gone).await;
    assert_eq!(
        (&gone["deleted"], &gone["documents"]),
        (&json!(true), &json!(1))
    );
    let left = kit.call_ok("list_articles", json!({})).await;
    assert_eq!(left["total"], 2, "{left:#}");
    let titles = left["articles"].to_string();
    assert!(titles.contains("On bees") && titles.contains("Notes on wax"));
    // Without the documents no confirmation is needed.
    let rest = json!({ "collection_name": "b" });
    let rest = kit.call_ok("delete_knowledge_collection", rest).await;
    assert_eq!(rest["deleted"], true);
    assert_eq!(total().await, 2);
    let left = kit.call_ok("list_knowledge_collections", json!({})).await;
    assert_eq!(left["collections"], json!([]));
}

#[tokio::test]
async fn a_paper_that_is_uploaded_is_found_in_the_collection_and_stays_a_paper() {
    let kit = ResearchHarness::new();
    let text = "# The book of heather\n\nHeather burns when it is dry.";
    let id = kit.ingest("book.md", text).await;
    let upload = json!({ "file_path": "book.md", "collection_name": "Texts" });
    let up = kit.call_ok("upload_external_knowledge", upload).await;
    assert_eq!(
        (up["outcome"].as_str(), up["article_id"].as_str()),
        (Some("unchanged"), Some(id.as_str()))
    );
    assert!(
        said_text(&up).contains("stays one")
            && said_text(&up).contains("collection_name \"Texts\""),
        "{up:#}"
    );
    let within = json!({ "query": "heather", "collection_name": "Texts" });
    let within = kit.call_ok("search_external_knowledge", within).await;
    assert_eq!(within["results"][0]["article"]["article_id"], id);
}
