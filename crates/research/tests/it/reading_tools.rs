//! Tests of the reading tools: outline, sections, pages, words, captions, and the working set.

use serde_json::json;

use super::research_harness::{ResearchHarness, paper_pdf, said_text};

const BOOK: &str = "# The book of bees\n\nIntro words.\n\n## 1 Honey\n\nHoney is sweet.\n\n### 1.1 Colour\n\n\
    Honey is golden. It is rarely green.\n\n## 2 Wax\n\nWax is soft.\n";

async fn read_article(
    harness: &ResearchHarness,
    id: &str,
    mut arguments: serde_json::Value,
) -> serde_json::Value {
    arguments["article_identifier"] = json!(id);
    harness.call_ok("read_article", arguments).await
}

#[tokio::test]
async fn alone_it_shows_the_outline() {
    let kit = ResearchHarness::new();
    let id = kit.ingest("book.md", BOOK).await;
    let shown = read_article(&kit, &id, json!({})).await;
    let titles: Vec<&str> = shown["outline"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["title"].as_str().unwrap())
        .collect();
    assert!(titles.ends_with(&["Honey", "Colour", "Wax"]), "{titles:?}");
    assert!(said_text(&shown).contains("Outline"));
}

#[tokio::test]
async fn numbers_that_are_counted_are_not_mixed_with_printed_ones() {
    let kit = ResearchHarness::new();
    let mixed = "# On ants\n\n## Abstract\n\nOf ants.\n\n## 1 Introduction\n\nWe saw ants.\n\n\
                 ## References\n\nNone.";
    let id = kit.ingest("mixed.md", mixed).await;
    let shown = read_article(&kit, &id, json!({})).await;
    let text = said_text(&shown);
    assert!(text.contains("- 1 Introduction (p. 1)"), "{text}");
    assert!(text.contains("- Abstract (p. 1)"), "{text}");
    let first = read_article(&kit, &id, json!({ "section": "1" })).await;
    assert!(
        said_text(&first).contains("We saw ants."),
        "{}",
        said_text(&first)
    );

    let plain = "# On bees\n\n## Abstract\n\nOf bees.\n\n## Methods\n\nWe saw bees.";
    let id = kit.ingest("plain.md", plain).await;
    let shown = read_article(&kit, &id, json!({})).await;
    assert!(
        said_text(&shown).contains("- 1.2 Methods"),
        "{}",
        said_text(&shown)
    );
}

/// It would take minutes if each heading were searched from the beginning.
#[tokio::test]
async fn a_long_text_with_many_headings_is_read() {
    let kit = ResearchHarness::new();
    let words = "Bees and their ways. ".repeat(30);
    let chapter = |at| format!("## Chapter of {at}\n\n{words}");
    let chapters: Vec<String> = (0..2_000).map(chapter).collect();
    let book = format!("# The book\n\n{}", chapters.join("\n\n"));
    let id = kit.ingest("book.md", book).await;
    let shown = read_article(&kit, &id, json!({})).await;
    assert!(said_text(&shown).contains("Chapter of 0"));
    let last = read_article(&kit, &id, json!({ "section": "Chapter of 1999" })).await;
    assert!(said_text(&last).contains("their ways"));
}

#[tokio::test]
async fn sections_of_one_heading_are_told_apart() {
    let kit = ResearchHarness::new();
    let text = "# Bees\n\n## 1 Methods\n\nHives.\n\n## 2 Results\n\nHoney.\n\n## Methods\n\nMore.";
    let id = kit.ingest("twice.md", text).await;
    let shown = read_article(&kit, &id, json!({ "section": "Methods" })).await;
    let said = said_text(&shown);
    assert!(said.contains("Hives."), "{said}");
    assert!(
        said.contains("Other sections with that heading: Methods (p. 1)."),
        "{said}"
    );
    let alone = read_article(&kit, &id, json!({ "section": "Results" })).await;
    assert!(!alone["said"].as_str().unwrap().contains("More of that"));
}

#[tokio::test]
async fn a_section_comes_with_what_is_below_it() {
    let kit = ResearchHarness::new();
    let id = kit.ingest("book.md", BOOK).await;
    for name in ["1", "Honey", "1 honey"] {
        let shown = read_article(&kit, &id, json!({ "section": name })).await;
        let text = shown["text"].as_str().unwrap();
        assert!(
            text.contains("sweet") && text.contains("golden") && !text.contains("soft"),
            "{name}: {text}"
        );
    }
    let shown = read_article(&kit, &id, json!({ "section": "1.1" })).await;
    assert!(!shown["text"].as_str().unwrap().contains("sweet"));
    let wrong = json!({ "article_identifier": id, "section": "Hony" });
    let wrong = kit.call_error("read_article", wrong).await;
    assert!(
        wrong.starts_with("SectionNotFound") && wrong.contains("Honey"),
        "{wrong}"
    );
}

#[tokio::test]
async fn pages_and_words_inside_have_their_places() {
    let kit = ResearchHarness::new();
    let id = kit
        .ingest("bees.pdf", paper_pdf("On bees and their ways", "bees"))
        .await;
    let shown = read_article(&kit, &id, json!({ "pages": "2" })).await;
    assert!(shown["text"].as_str().unwrap().contains("ninety days"));
    assert_eq!(shown["place"]["page"], 2);
    let all = read_article(&kit, &id, json!({ "pages": "1-" })).await;
    assert!(all["text"].as_str().unwrap().contains("Introduction"));
    for pages in ["0", "3", "two", "2-1"] {
        let wrong = json!({ "article_identifier": id, "pages": pages });
        assert!(
            kit.call_error("read_article", wrong)
                .await
                .contains("pages"),
            "{pages}"
        );
    }
    let found = read_article(&kit, &id, json!({ "find": "NINETY days" })).await;
    assert_eq!(found["found"].as_array().unwrap().len(), 1);
    assert_eq!(found["found"][0]["place"]["page"], 2);
    let none = read_article(&kit, &id, json!({ "find": "unicorns" })).await;
    assert!(said_text(&none).contains("does not occur"));
    let both = json!({ "article_identifier": id, "find": "x", "pages": "1" });
    assert!(
        kit.call_error("read_article", both)
            .await
            .contains("one of")
    );
}

#[tokio::test]
async fn long_texts_are_cut_and_say_so() {
    let kit = ResearchHarness::new();
    let id = kit
        .ingest("long.txt", "many words here. ".repeat(500))
        .await;
    let shown = read_article(&kit, &id, json!({ "pages": "1", "max_length": 1000 })).await;
    assert_eq!(shown["cut"], true);
    assert_eq!(shown["text"].as_str().unwrap().chars().count(), 1_000);
    assert!(said_text(&shown).contains("Continue with pages"));
    let whole = json!({ "article_identifier": id, "max_length": 1000 });
    let whole = kit.call_ok("read_full_article", whole).await;
    assert!(said_text(&whole).contains("Continue with read_article and pages"));
}

#[tokio::test]
async fn three_articles_fit_the_working_set() {
    let kit = ResearchHarness::new();
    let mut ids = Vec::new();
    for name in ["bees", "ants", "flies", "wasps"] {
        let title = format!("On {name} and their ways");
        ids.push(
            kit.ingest(&format!("{name}.pdf"), paper_pdf(&title, name))
                .await,
        );
    }
    let load = |id: &str| json!({ "article_identifier": id, "agent_id": "a" });
    for id in &ids[..3] {
        kit.call_ok("read_full_article", load(id)).await;
    }
    let again = kit.call_ok("read_full_article", load(&ids[0])).await;
    assert_eq!(again["loaded"].as_array().unwrap().len(), 3);
    let full = kit.call_error("read_full_article", load(&ids[3])).await;
    assert!(
        full.starts_with("WorkingSetFull") && full.contains("unload_article"),
        "{full}"
    );
    let other = kit
        .call_ok("read_full_article", json!({ "article_identifier": ids[3] }))
        .await;
    assert_eq!(other["loaded"].as_array().unwrap().len(), 1);
    let freed = json!({ "article_identifier": "ants", "agent_id": "a" });
    let freed = kit.call_ok("unload_article", freed).await;
    assert_eq!(freed["unloaded"], "On ants and their ways");
    kit.call_ok("read_full_article", load(&ids[3])).await;
    let wrong = kit.call_error("unload_article", load("nobody")).await;
    assert!(wrong.starts_with("NotLoaded"), "{wrong}");
    // A deleted article does not take a slot.
    let gone = json!({ "article_identifier": ids[0], "confirm_deletion": true });
    kit.call_ok("delete_article", gone).await;
    let loaded = kit.call_ok("read_full_article", load(&ids[1])).await;
    assert_eq!(loaded["loaded"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn parts_that_most_papers_have_are_found_by_their_kind() {
    let kit = ResearchHarness::new();
    let id = kit
        .ingest("bees.pdf", paper_pdf("On bees and their ways", "bees"))
        .await;
    let parts =
        json!({ "article_id": id, "include_sections": ["methods", "results", "discussion"] });
    let parts = kit.call_ok("get_article_full_content", parts).await;
    assert!(
        parts["sections"]["methods"]
            .as_str()
            .unwrap()
            .contains("careful")
    );
    assert!(
        parts["sections"]["results"]
            .as_str()
            .unwrap()
            .contains("ninety")
    );
    assert!(parts["sections"].get("discussion").is_none());
    assert!(parts["notes"][0].as_str().unwrap().contains("discussion"));
    let whole = kit
        .call_ok("get_article_full_content", json!({ "article_id": id }))
        .await;
    assert!(
        whole["sections"]["whole"]
            .as_str()
            .unwrap()
            .contains("ninety")
    );
}

#[tokio::test]
async fn a_part_of_several_titles_unloads_none() {
    let kit = ResearchHarness::new();
    for name in ["bees", "ants"] {
        let title = format!("On {name} and their ways");
        let id = kit
            .ingest(&format!("{name}.pdf"), paper_pdf(&title, name))
            .await;
        let load = json!({ "article_identifier": id });
        kit.call_ok("read_full_article", load).await;
    }
    let part = json!({ "article_identifier": "e" });
    let wrong = kit.call_error("unload_article", part).await;
    assert!(
        wrong.starts_with("Ambiguous") && wrong.contains("On bees") && wrong.contains("On ants"),
        "{wrong}"
    );
    let one = json!({ "article_identifier": "bees" });
    let freed = kit.call_ok("unload_article", one).await;
    assert_eq!(freed["loaded"], json!(["On ants and their ways"]));
}
