//! Tests of texts without pages: they get pages, and every position is on one of them.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::research_harness::{ResearchHarness, said_text};
use deliberate_research::articles::{ArticleRepository, FullText, TextSpan};

/// A long text in sections, each with a unique word.
fn book_text() -> String {
    let mut text = String::from("# Notes on turf\n\n");
    for part in 1..=60 {
        let _ = write!(text, "## Part {part}\n\n");
        let line = format!("Word{part:02} \u{e9} is said of turf and bogs in week {part}. ");
        let _ = write!(text, "{}\n\n", line.repeat(30));
    }
    text
}

async fn harness_with_book() -> (ResearchHarness, String, FullText) {
    let kit = ResearchHarness::new();
    let id = kit.ingest("turf.md", book_text()).await;
    let text = ArticleRepository(kit.store.as_ref())
        .text(&id)
        .await
        .unwrap();
    (kit, id, text.unwrap())
}

fn text_span(found: &Value) -> TextSpan {
    serde_json::from_value(found["place"].clone()).unwrap()
}

#[tokio::test]
async fn a_long_text_without_pages_is_read_page_by_page() {
    let (kit, id, text) = harness_with_book().await;
    assert!(text.pages.len() > 20, "{} pages", text.pages.len());
    let outline = kit
        .call_ok("read_article", json!({ "article_identifier": id }))
        .await;
    let entries = outline["outline"].as_array().unwrap();
    let last = entries.last().unwrap();
    assert_eq!(last["page"].as_u64().unwrap(), text.pages.len() as u64);

    let section = json!({ "article_identifier": id, "section": "Part 37" });
    let section = kit.call_ok("read_article", section).await;
    let at = text_span(&section);
    assert_eq!(text.excerpt(&at).as_deref(), section["text"].as_str());
    assert!(at.page > 1 && said_text(&section).contains("Word37"));

    let found = json!({ "article_identifier": id, "find": "word59 \u{e9}" });
    let found = kit.call_ok("read_article", found).await;
    let at = text_span(&found["found"][0]);
    assert_eq!(text.excerpt(&at).unwrap(), "Word59 \u{e9}");
    let page = json!({ "article_identifier": id, "pages": at.page.to_string() });
    let page = kit.call_ok("read_article", page).await;
    let whole = text.pages[at.page as usize - 1].as_str();
    assert_eq!(page["text"].as_str(), Some(whole));
}

#[tokio::test]
async fn a_passage_is_found_where_it_stands() {
    let (kit, _, text) = harness_with_book().await;
    for word in ["Word02", "Word33", "Word60"] {
        let found = kit
            .call_ok("search_articles", json!({ "query": word }))
            .await;
        let at = text_span(&found["results"][0]);
        let there = text.excerpt(&at).unwrap();
        let preview = found["results"][0]["preview"].as_str().unwrap();
        assert!(there.contains(word), "{word}: {found:#}");
        let begin: String = preview.chars().take(100).collect();
        assert!(there.starts_with(&begin), "{word}: {there}");
    }
}

#[tokio::test]
async fn a_book_does_not_hide_the_papers_behind_it() {
    let kit = ResearchHarness::new();
    kit.ingest("turf.md", book_text()).await;
    for name in ["Peat", "Moss", "Heather"] {
        let note =
            format!("# {name}\n\nA short note on {name}, which grows where turf and bogs are.");
        kit.ingest(&format!("{name}.md"), note).await;
    }
    let found = kit
        .call_ok(
            "search_articles",
            json!({ "query": "turf and bogs", "limit": 5 }),
        )
        .await;
    let results = found["results"].as_array().unwrap();
    assert_eq!(results.len(), 4, "{found:#}");
    let scores: Vec<f64> = results
        .iter()
        .map(|it| it["score"].as_f64().unwrap())
        .collect();
    assert!(scores.is_sorted_by(|one, other| one >= other), "{scores:?}");
}
