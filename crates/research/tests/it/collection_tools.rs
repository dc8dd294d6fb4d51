//! Tests of the collection tools (list, details, update, delete, stats) and of `research`.

use deliberate_testkit::fixtures::expect_done;
use deliberate_toolkit::{CallerContext, Principal, ToolScope};
use serde_json::json;

use super::research_harness::{ResearchHarness, paper_pdf, said_text};

#[tokio::test]
async fn an_empty_collection_says_so() {
    let kit = ResearchHarness::new();
    let listed = kit.call_ok("list_articles", json!({})).await;
    assert_eq!(listed["total"], 0);
    assert!(said_text(&listed).contains("add_article"));
    let stats = kit.call_ok("collection_stats", json!({})).await;
    assert_eq!(
        (
            stats["articles"].as_u64(),
            stats["index"]["passages"].as_u64()
        ),
        (Some(0), Some(0))
    );
    let found = kit
        .call_ok("search_articles", json!({ "query": "anything" }))
        .await;
    assert_eq!(found["results"], json!([]));
}

#[tokio::test]
async fn articles_are_listed_once_and_by_pages() {
    let kit = ResearchHarness::new();
    for name in ["whales", "bees", "ants"] {
        let title = format!("On {name} and their ways");
        kit.ingest(&format!("{name}.pdf"), paper_pdf(&title, name))
            .await;
    }
    let first = kit.call_ok("list_articles", json!({ "limit": 2 })).await;
    assert_eq!(first["total"], 3);
    assert_eq!(first["articles"].as_array().unwrap().len(), 2);
    assert_eq!(first["next_offset"], 2);
    let rest = kit
        .call_ok("list_articles", json!({ "limit": 2, "offset": 2 }))
        .await;
    assert_eq!(rest["articles"].as_array().unwrap().len(), 1);
    assert!(rest.get("next_offset").is_none());
    let bees = kit
        .call_ok("list_articles", json!({ "search_term": "Bees" }))
        .await;
    assert_eq!(bees["total"], 1);
    let none = kit
        .call_ok("list_articles", json!({ "filter_by_type": "book" }))
        .await;
    assert_eq!(none["total"], 0);
    let wrong = kit
        .call_error("list_articles", json!({ "filter_by_type": "boook" }))
        .await;
    assert!(
        wrong.contains("filter_by_type") && wrong.contains("\"book\""),
        "{wrong}"
    );
}

#[tokio::test]
async fn details_are_of_exactly_the_one_that_is_named() {
    let kit = ResearchHarness::new();
    let id = kit
        .ingest("bees.pdf", paper_pdf("On bees and their ways", "bees"))
        .await;
    for name in [id.as_str(), "on BEES and their ways"] {
        let details = kit
            .call_ok("get_article_details", json!({ "article_identifier": name }))
            .await;
        assert_eq!(details["article_id"], id, "{name}");
        assert_eq!(details["summary"]["pages"], 2);
    }
    let wrong = kit
        .call_error(
            "get_article_details",
            json!({ "article_identifier": "On bees" }),
        )
        .await;
    assert!(
        wrong.starts_with("ArticleNotFound") && wrong.contains("On bees and their ways"),
        "{wrong}"
    );
    let wrong = kit
        .call_error(
            "get_article_details",
            json!({ "article_identifier": "10.1000/not-here" }),
        )
        .await;
    assert!(wrong.starts_with("ArticleNotFound"), "{wrong}");
    let key = kit
        .call_ok("get_article_details", json!({ "article_identifier": id }))
        .await;
    let key = key["summary"]["cite_key"].as_str().unwrap().to_owned();
    let slip = key.replacen("ees", "es", 1);
    assert_ne!(slip, key);
    for slip in [slip.as_str(), "On beess and their ways"] {
        let slip = json!({ "article_identifier": slip });
        let wrong = kit.call_error("get_article_details", slip).await;
        assert!(wrong.contains("Did you mean"), "{wrong}");
    }
}

#[tokio::test]
async fn fields_and_tags_are_set_and_checked() {
    let kit = ResearchHarness::new();
    let one = kit
        .ingest("bees.pdf", paper_pdf("On bees and their ways", "bees"))
        .await;
    let two = kit
        .ingest("ants.pdf", paper_pdf("On ants and their ways", "ants"))
        .await;
    let set = |id: &str, fields: serde_json::Value| json!({ "article_identifier": id, "update_metadata": fields });
    let updated = kit
        .call_ok(
            "update_article_metadata",
            json!({
                "article_identifier": one,
                "add_tags": [" Social  Insects ", "bees", "BEES"],
                "update_metadata": {
                    "doi": "https://doi.org/10.1000/BEES",
                    "publication_date": "2019-05",
                    "authors": ["Lovelace, Ada", "Charles Babbage"],
                    "citation_count": 7
                }
            }),
        )
        .await;
    assert_eq!(
        updated["article"]["tags"],
        json!(["social insects", "bees"])
    );
    assert_eq!(updated["article"]["doi"], "10.1000/bees");
    assert_eq!(
        updated["article"]["authors"],
        json!(["Ada Lovelace", "Charles Babbage"])
    );
    let found = kit
        .call_ok(
            "get_article_details",
            json!({ "article_identifier": "10.1000/bees" }),
        )
        .await;
    assert_eq!(found["article_id"], one);
    let same = kit
        .call_ok(
            "update_article_metadata",
            set(&one, json!({ "doi": "10.1000/bees" })),
        )
        .await;
    assert_eq!(same["changes"], json!([]));

    let taken = kit
        .call_error(
            "update_article_metadata",
            set(&two, json!({ "doi": "10.1000/bees" })),
        )
        .await;
    assert!(
        taken.starts_with("AlreadyTaken") && taken.contains("On bees"),
        "{taken}"
    );
    for (fields, field) in [
        (json!({ "doi": "nonsense" }), "doi"),
        (json!({ "arxiv_id": "1" }), "arxiv_id"),
        (json!({ "publication_date": "soon" }), "publication_date"),
        (json!({ "url": "javascript:alert(1)" }), "url"),
        (json!({ "colour": "red" }), "colour"),
    ] {
        let wrong = kit
            .call_error("update_article_metadata", set(&two, fields))
            .await;
        assert!(wrong.contains(field), "{wrong}");
    }
    let cleared = kit
        .call_ok("update_article_metadata", set(&one, json!({ "doi": "" })))
        .await;
    assert!(cleared["article"].get("doi").is_none());
}

#[tokio::test]
async fn nothing_is_deleted_unless_it_is_said_twice() {
    let kit = ResearchHarness::new();
    let id = kit
        .ingest("bees.pdf", paper_pdf("On bees and their ways", "bees"))
        .await;
    let asked = kit
        .call_ok("delete_article", json!({ "article_identifier": id }))
        .await;
    assert_eq!(asked["deleted"], false);
    assert!(said_text(&asked).contains("confirm_deletion"));
    assert_eq!(kit.call_ok("list_articles", json!({})).await["total"], 1);
    let gone = json!({ "article_identifier": id, "confirm_deletion": true });
    assert_eq!(
        kit.call_ok("delete_article", gone.clone()).await["deleted"],
        true
    );
    assert_eq!(kit.call_ok("list_articles", json!({})).await["total"], 0);
    assert!(kit.store.document("text", &id).await.unwrap().is_none());
    let found = kit
        .call_ok("search_articles", json!({ "query": "bees" }))
        .await;
    assert_eq!(found["results"], json!([]));
    assert!(
        kit.call_error("delete_article", gone)
            .await
            .starts_with("ArticleNotFound")
    );
    assert!(kit.papers_folder().join("bees.pdf").exists());
}

#[tokio::test]
async fn counts_are_of_articles_and_of_passages() {
    let kit = ResearchHarness::new();
    kit.ingest("bees.pdf", paper_pdf("On bees and their ways", "bees"))
        .await;
    kit.call_ok("search_articles", json!({ "query": "bees" }))
        .await;
    let stats = kit.call_ok("collection_stats", json!({})).await;
    assert_eq!(stats["articles"], 1);
    assert_eq!(stats["with_text"], 1);
    assert_eq!(stats["by_category"], json!({ "research_paper": 1 }));
    assert_eq!(stats["index"]["articles"], 1);
    let passages = stats["index"]["passages"].as_u64().unwrap();
    assert!(passages > 1, "{stats}");
    assert_eq!(stats["index"]["vectors"], passages);
}

#[tokio::test]
async fn the_front_knows_all_tools_and_calls_them() {
    let kit = ResearchHarness::new();
    let help = kit.call_ok("research", json!({})).await;
    for name in [
        "search_articles",
        "read_full_article",
        "optimize_search",
        "process_pdf",
    ] {
        assert!(said_text(&help).contains(&format!("`{name}`")), "{name}");
    }
    let one = kit
        .call_ok(
            "research",
            json!({ "tool": "help", "arguments": { "tool": "list_articles" } }),
        )
        .await;
    assert!(said_text(&one).contains("search_term"));
    let listed = kit
        .call_ok(
            "research",
            json!({ "tool": "list_articles", "arguments": { "limit": 1 } }),
        )
        .await;
    assert_eq!(listed["total"], 0);
}

#[tokio::test]
async fn the_front_says_where_its_names_are() {
    let kit = ResearchHarness::new();
    for arguments in [
        json!({ "tool": "xyzzy" }),
        json!({ "tool": "xyzzy", "query": "bees" }),
        json!({ "tool": "help", "arguments": { "tool": "xyzzy" } }),
    ] {
        let wrong = kit.call_error("research", arguments).await;
        assert!(
            wrong.starts_with("UnknownTool") && wrong.contains("\"xyzzy\""),
            "{wrong}"
        );
        assert!(wrong.contains("with tool \"help\""), "{wrong}");
    }
    let near = kit
        .call_error("research", json!({ "tool": "serch_articles" }))
        .await;
    assert!(near.contains("Did you mean search_articles?"), "{near}");
}

#[tokio::test]
async fn arguments_beside_the_name_of_the_tool_are_not_passed_over() {
    let kit = ResearchHarness::new();
    let beside = json!({ "tool": "list_articles", "limit": 0 });
    let error = kit.call_error("research", beside).await;
    assert!(error.contains("limit"), "{error}");
    let both = json!({ "tool": "list_articles", "arguments": { "limit": 1 }, "nonsense": 2 });
    let error = kit.call_error("research", both).await;
    assert!(error.contains("nonsense"), "{error}");
}

#[tokio::test]
async fn help_tells_of_what_the_caller_may_use() {
    let kit = ResearchHarness::new();
    let caller = CallerContext {
        principal: Principal {
            name: Some("ann".into()),
            scope: ToolScope::Only(["search_*".to_owned()].into()),
        },
        ..CallerContext::default()
    };
    let help = kit.registry.call("research", json!({}), caller).await;
    let help = expect_done(help);
    assert!(said_text(&help).contains("`search_articles`"));
    assert!(!said_text(&help).contains("`delete_research_question`"));
}

#[tokio::test]
async fn the_list_that_clients_pay_for_is_small() {
    let kit = ResearchHarness::new();
    let listed: Vec<_> = kit.registry.list().collect();
    let names: Vec<&str> = listed.iter().map(|it| it.meta.name).collect();
    for name in ["search_articles", "read_article", "add_article", "research"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert!(!names.contains(&"optimize_search"));
    let own = listed
        .iter()
        .filter(|it| !matches!(it.meta.name, "research" | "reasoning_resume"));
    let sizes: Vec<usize> = own
        .map(|it| {
            it.meta.name.len() + it.meta.description.len() + it.input_schema.to_string().len()
        })
        .collect();
    // About four characters make a token.
    let mean = sizes.iter().sum::<usize>() / sizes.len() / 4;
    assert!(
        mean <= 130,
        "{mean} tokens a tool, before the list is made slim"
    );
}
