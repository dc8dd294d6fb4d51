//! Tests of lists that are given as one text, as models often do.

use serde_json::{Value, json};

use super::research_harness::{ResearchHarness, paper_pdf};

#[tokio::test]
async fn authors_and_tags_of_an_article() {
    let kit = ResearchHarness::new();
    let id = kit
        .ingest("peat.pdf", paper_pdf("On peat and its fires", "peat"))
        .await;
    let arguments = json!({
        "article_identifier": id,
        "add_tags": "alpha, beta",
        "update_metadata": { "authors": "Ilse Hartmann, Pál Kovács" },
    });
    let output = kit.call_ok("update_article_metadata", arguments).await;
    let article = &output["article"];
    assert_eq!(article["authors"], json!(["Ilse Hartmann", "Pál Kovács"]));
    assert_eq!(article["tags"], json!(["alpha", "beta"]));
    let both = kit
        .call_ok(
            "search_articles",
            json!({ "query": "peat", "tags": "alpha; beta" }),
        )
        .await;
    assert_eq!(both["results"].as_array().unwrap().len(), 1);
    // In a list the end of each name is known.
    let arguments = json!({
        "article_identifier": id,
        "update_metadata": { "authors": ["García Márquez, Gabriel José"] },
    });
    let output = kit.call_ok("update_article_metadata", arguments).await;
    let authors = &output["article"]["authors"];
    assert_eq!(authors, &json!(["Gabriel José García Márquez"]));
}

#[tokio::test]
async fn people_who_are_looked_for() {
    let kit = ResearchHarness::new();
    for (at, author) in ["Aoife Brennan", "Chidi Okafor", "Jörg Müller"]
        .iter()
        .enumerate()
    {
        let title = format!("A paper of several with the number {at}");
        let id = kit
            .ingest(&format!("{at}.pdf"), paper_pdf(&title, "peat"))
            .await;
        let fields = json!({ "authors": [author] });
        let arguments = json!({ "article_identifier": id, "update_metadata": fields });
        kit.call_ok("update_article_metadata", arguments).await;
    }
    let total = async |authors: &str| -> Value {
        let arguments = json!({ "authors": authors });
        kit.call_ok("find_articles_by_authors", arguments).await["total"].clone()
    };
    assert_eq!(total("Brennan, Okafor").await, 2);
    assert_eq!(total("Brennan, A.").await, 1);
    assert_eq!(total("Brennan, K.").await, 0);
}

#[tokio::test]
async fn words_of_a_question() {
    let kit = ResearchHarness::with_sources("http://127.0.0.1:9/", &["crossref", "arxiv"]);
    let arguments = json!({
        "name": "Peat",
        "keywords": "peat, fire, radio",
        "topics": "mires\nbogs",
        "authors": "Brennan, Okafor",
        "selected_sources": "arxiv,crossref",
        "schedule_frequency": "weekly",
        "schedule_days_of_week": "1,4",
    });
    let output = kit.call_ok("create_research_question", arguments).await;
    let question = &output["question"];
    for (field, items) in [
        ("keywords", json!(["peat", "fire", "radio"])),
        ("topics", json!(["mires", "bogs"])),
        ("authors", json!(["Brennan", "Okafor"])),
        ("selected_sources", json!(["arxiv", "crossref"])),
    ] {
        assert_eq!(question[field], items, "{field}");
    }
}

#[tokio::test]
async fn articles_that_are_named() {
    let kit = ResearchHarness::new();
    let title = "Peat, fire and radio in the north";
    let peat = kit.ingest("peat.pdf", paper_pdf(title, "peat")).await;
    let ants = kit
        .ingest("ants.pdf", paper_pdf("On ants and their ways", "ants"))
        .await;
    let both = json!({ "article_ids": format!("{peat}, {ants}") });
    let compared = kit.call_ok("compare_articles", both).await;
    assert_eq!(compared["articles"].as_array().unwrap().len(), 2);
    // A title may contain commas.
    let named = json!({ "articles": title });
    let cited = kit.call_ok("format_citations", named).await;
    assert_eq!(cited["citations"].as_array().unwrap().len(), 1, "{cited:#}");
}
